'use strict';

// Executions that hold a lent permit and that nothing but their callback can end: no deadline, nobody above who
// could abort them. All that is left to do at their end is to give the permit back, by the same functions for all.

const { ResilienceContext } = require('./context.js');
const { storage } = require('./current-context.js');
const { afterCall } = require('./dispatch.js');
const { lost, recoverSoon } = require('./lost.js');
const nesting = require('./nesting.js');
const { OutcomeFailure, OutcomeSuccess } = require('./outcome.js');
const { plain, rejectSoon } = require('./promises.js');
const { OUTCOME } = require('./role.js');

/**
 * A permit, lent to one execution after the other: by it is known which of them are under way. Where nothing can be
 * begun inside of them, that is of no use, and one stands for all.
 */
class LentPermit {
  /** @type {ResilienceContext | undefined} */
  holder;
  /** Of the free ones. @type {LentPermit | undefined} */
  next;

  /**
   * @param {Lender} lender
   * @param {import('./segment.js').Segment} segment
   */
  constructor(lender, segment) {
    this.segment = segment;
    const succeeded = (/** @type {unknown} */ value) => {
      lender.giveBack(this);
      return value;
    };
    const failed = (/** @type {unknown} */ error) => {
      lender.giveBack(this);
      throw error;
    };
    const succeededAsOutcome = (/** @type {unknown} */ value) => {
      lender.giveBack(this);
      return new OutcomeSuccess(value);
    };
    const failedAsOutcome = (/** @type {unknown} */ error) => {
      lender.giveBack(this);
      return new OutcomeFailure(error);
    };
    /** By what an execution's promise settles with: its value, or an outcome. */
    this.forms = [
      { succeeded, failed },
      { succeeded: succeededAsOutcome, failed: failedAsOutcome },
    ];
    this.lender = lender;
  }

  /** There was no room to give it back in. */
  recover() {
    this.lender.giveBack(this);
  }
}

class Lender {
  #segment;
  #ambient;
  /** As many as were needed at once. @type {LentPermit | undefined} */
  #free;
  /** For executions inside of which nothing finds its context. @type {LentPermit} */
  #shared;

  /**
   * @param {import('./segment.js').Segment} segment
   * @param {boolean} ambient
   */
  constructor(segment, ambient) {
    this.#segment = segment;
    this.#ambient = ambient;
    this.#shared = new LentPermit(this, segment);
  }

  /** Whether an execution can have a permit, and be kept from nesting too deep. */
  get isOpen() {
    const { disposed, permits } = this.#segment;
    return permits > 0 && !disposed && !(nesting.depth >= nesting.MAX_DEPTH && nesting.isTooDeep());
  }

  /**
   * @param {ResilienceContext} context
   * @param {(context: ResilienceContext) => unknown} callback
   * @param {0 | 1} form
   * @returns {Promise<any>}
   */
  run(context, callback, form) {
    const permit = this.#ambient ? this.#lendTo(context) : this.#shared;
    const { succeeded, failed } = permit.forms[form];
    this.#segment.permits -= 1;
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
      const called = this.#segment.giveBack();
      isHeld = false;
      permit.holder = undefined;
      if (permit !== this.#shared) this.#keep(permit);
      if (called) afterCall();
      if (form === OUTCOME) return Promise.resolve(ok ? new OutcomeSuccess(result) : new OutcomeFailure(result));
      return ok ? Promise.resolve(result) : rejectSoon(result);
    } catch (error) {
      // The stack is full: the permit is given back when there is room.
      if (isHeld) lost[lost.length] = permit;
      recoverSoon();
      throw error;
    } finally {
      nesting.depth = depth;
    }
  }

  /** @param {ResilienceContext} context */
  #lendTo(context) {
    const permit = this.#free ?? new LentPermit(this, this.#segment);
    this.#free = permit.next;
    permit.holder = context;
    ResilienceContext.lend(context, permit);
    return permit;
  }

  /** For the next execution. @param {LentPermit} permit */
  #keep(permit) {
    permit.next = this.#free;
    this.#free = permit;
  }

  /** @param {LentPermit} permit */
  giveBack(permit) {
    const called = this.#segment.giveBack();
    permit.holder = undefined;
    if (permit !== this.#shared) this.#keep(permit);
    if (called) afterCall();
  }
}

module.exports = { Lender };
