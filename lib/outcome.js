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

class OutcomeFailure {
  /** @param {unknown} error */
  constructor(error) {
    this.ok = /** @type {const} */ (false);
    this.error = error;
  }

  /** @param {Cases} cases */
  match(cases) {
    const { error } = this;
    if (isExecutionRejected(error)) {
      const { code } = /** @type {{ code: string }} */ (error);
      if (Object.hasOwn(cases, code) && typeof cases[code] === 'function') return cases[code](error);
    }
    return cases.error(error);
  }
}

/** @typedef {OutcomeSuccess | OutcomeFailure} AnyOutcome */

const Outcome = Object.freeze({
  /** @param {unknown} result */
  success: (result) => new OutcomeSuccess(result),
  /** @param {unknown} error */
  failure: (error) => new OutcomeFailure(error),
});

module.exports = { Outcome, OutcomeFailure, OutcomeSuccess };
