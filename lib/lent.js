'use strict';

// Executions that hold a lent permit and that nothing but their callback can end: no deadline, nobody above who
// could abort them. All that is left to do at their end is to give the permit back, by the same functions for all.

const { storage } = require('./context.js');
const { afterCall } = require('./dispatch.js');
const { lost, recoverSoon } = require('./lost.js');
const nesting = require('./nesting.js');
const { OutcomeFailure, OutcomeSuccess } = require('./outcome.js');
const { plain, rejectSoon } = require('./promises.js');
const { OUTCOME } = require('./role.js');

/** @typedef {import('./context.js').ResilienceContext} ResilienceContext */

class Lender {
  #segment;
  #ambient;
  #forms;

  /**
   * @param {import('./segment.js').Segment} segment
   * @param {boolean} ambient
   */
  constructor(segment, ambient) {
    this.#segment = segment;
    this.#ambient = ambient;
    const succeeded = (/** @type {unknown} */ value) => {
      this.#giveBack();
      return value;
    };
    const failed = (/** @type {unknown} */ error) => {
      this.#giveBack();
      throw error;
    };
    const succeededAsOutcome = (/** @type {unknown} */ value) => {
      this.#giveBack();
      return new OutcomeSuccess(value);
    };
    const failedAsOutcome = (/** @type {unknown} */ error) => {
      this.#giveBack();
      return new OutcomeFailure(error);
    };
    /** By what an execution's promise settles with: its value, or an outcome. */
    this.#forms = [
      { succeeded, failed },
      { succeeded: succeededAsOutcome, failed: failedAsOutcome },
    ];
  }

  /** Whether an execution can have a permit, and be kept from nesting too deep. */
  get isOpen() {
    const { disposed, permits } = this.#segment;
    return permits > 0 && !disposed && !nesting.isTooDeep();
  }

  /**
   * @param {ResilienceContext} context
   * @param {(context: ResilienceContext) => unknown} callback
   * @param {0 | 1} form
   * @returns {Promise<any>}
   */
  run(context, callback, form) {
    const { succeeded, failed } = this.#forms[form];
    const segment = this.#segment;
    segment.permits -= 1;
    const { depth } = nesting;
    nesting.depth = depth + 1;
    let isHeld = true;
    try {
      let ok = true;
      /** @type {any} */
      let result;
      try {
        result = this.#ambient ? storage.run(context, callback, context) : callback(context);
        if (result !== null && (typeof result === 'object' || typeof result === 'function')) {
          if (typeof result.then === 'function') return plain(result).then(succeeded, failed);
        }
      } catch (error) {
        ok = false;
        result = error;
      }
      const called = segment.giveBack();
      isHeld = false;
      if (called) afterCall();
      if (form === OUTCOME) return Promise.resolve(ok ? new OutcomeSuccess(result) : new OutcomeFailure(result));
      return ok ? Promise.resolve(result) : rejectSoon(result);
    } catch (error) {
      // The stack is full: the permit is given back when there is room.
      if (isHeld) lost[lost.length] = this;
      recoverSoon();
      throw error;
    } finally {
      nesting.depth = depth;
    }
  }

  recover() {
    this.#giveBack();
  }

  #giveBack() {
    if (this.#segment.giveBack()) afterCall();
  }
}

module.exports = { Lender };
