'use strict';

const { isExecutionRejected } = require('./errors.js');

/** @typedef {Record<string, (value: any) => unknown>} Cases */

class OutcomeSuccess {
  /** @param {unknown} result */
  constructor(result) {
    this.ok = /** @type {const} */ (true);
    this.result = result;
  }

  /** @param {Cases} cases */
  match(cases) {
    return cases.ok(this.result);
  }
}

/** What all failures are, however they come by their error. */
class Failure {
  constructor() {
    this.ok = /** @type {const} */ (false);
  }

  /** @param {Cases} cases */
  match(cases) {
    const { error } = /** @type {{ error: unknown }} */ (/** @type {unknown} */ (this));
    if (isExecutionRejected(error)) {
      const { code } = /** @type {{ code: string }} */ (error);
      if (Object.hasOwn(cases, code) && typeof cases[code] === 'function') return cases[code](error);
    }
    return cases.error(error);
  }
}

class OutcomeFailure extends Failure {
  /** @param {unknown} error */
  constructor(error) {
    super();
    this.error = error;
  }
}

/** @typedef {OutcomeSuccess | OutcomeFailure} AnyOutcome */

/**
 * @param {boolean} ok
 * @param {unknown} value
 */
const outcomeOf = (ok, value) => (ok ? new OutcomeSuccess(value) : new OutcomeFailure(value));

const Outcome = Object.freeze({
  /** @param {unknown} result */
  success: (result) => new OutcomeSuccess(result),
  /** @param {unknown} error */
  failure: (error) => new OutcomeFailure(error),
});

module.exports = { Failure, Outcome, OutcomeFailure, OutcomeSuccess, outcomeOf };
