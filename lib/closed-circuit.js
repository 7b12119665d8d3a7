'use strict';

// Executions of a circuit breaker alone, while it is closed, that nothing but their callback can end. A closed
// circuit lets everything pass: the core is told of the end only.

const { storage } = require('./current-context.js');
const { afterCall, departed, hasUntold } = require('./dispatch.js');
const { hot, leave, report } = require('./native.js');
const nesting = require('./nesting.js');
const { outcomeOf } = require('./outcome.js');
const { Rejection, plain } = require('./promises.js');
const { OUTCOME, VALUE } = require('./role.js');
const { setClock } = require('./timer.js');

/** @typedef {import('./context.js').ResilienceContext} ResilienceContext */

/** No ticket is as small. */
const MOST_NAMES = 2 ** 26;
/** Names executions in place of a ticket. */
let lastName = 0;

/** A time in which the circuit is closed. */
class Epoch {
  #segment;

  /**
   * @param {import('./segment.js').Segment} segment
   * @param {number} number The core's.
   */
  constructor(segment, number) {
    this.#segment = segment;
    this.number = number;
    /** By form, what follows a callback's promise, to be bound to the context of the execution. */
    this.forms = [this.#handlers(VALUE), this.#handlers(OUTCOME)];
  }

  /** @param {0 | 1} form */
  #handlers(form) {
    const epoch = this;
    return {
      /** @this {ResilienceContext} @param {unknown} value */
      succeeded(value) {
        return epoch.end(true, value, this, form);
      },
      /** @this {ResilienceContext} @param {unknown} error */
      failed(error) {
        return epoch.end(false, error, this, form);
      },
    };
  }

  /**
   * Ends an execution, and gives what its promise has to be resolved with.
   *
   * @param {boolean} ok
   * @param {unknown} value
   * @param {ResilienceContext} context
   * @param {0 | 1} form
   */
  end(ok, value, context, form) {
    const segment = this.#segment;
    lastName = lastName + 1 < MOST_NAMES ? lastName + 1 : 1;
    const name = lastName;
    const judged = !ok || segment.judgesSuccess;
    const outcomes = judged ? segment.outcomes(outcomeOf(ok, value), context) : 0;
    const untold = hasUntold();
    setClock();
    const moved = leave(segment.key, this.number, outcomes, name);
    if (report(moved) || moved === 1) segment.epoch = undefined;
    if (moved === 1 || untold) departed.set(name, { outcome: outcomeOf(ok, value), context });
    afterCall();
    if (form === OUTCOME) return outcomeOf(ok, value);
    return ok ? value : new Rejection(value);
  }
}

class ClosedCircuit {
  #segment;
  #ambient;
  #epoch;

  /**
   * @param {import('./segment.js').Segment} segment
   * @param {boolean} ambient
   */
  constructor(segment, ambient) {
    this.#segment = segment;
    this.#ambient = ambient;
    this.#epoch = new Epoch(segment, -1);
  }

  /** Whether an execution is let in, and kept from nesting too deep. */
  get isOpen() {
    const segment = this.#segment;
    if (segment.disposed || (nesting.depth >= nesting.MAX_DEPTH && nesting.isTooDeep())) return false;
    if (segment.epoch === undefined) {
      setClock();
      const epoch = hot.closedEpoch(segment.key);
      segment.epoch = report(epoch) ? -1 : epoch;
      afterCall();
    }
    // What follows the call may have moved it.
    const epoch = /** @type {number | undefined} */ (segment.epoch);
    if (epoch === undefined || epoch < 0) return false;
    if (epoch !== this.#epoch.number) this.#epoch = new Epoch(segment, epoch);
    return true;
  }

  /**
   * @param {ResilienceContext} context
   * @param {(context: ResilienceContext) => unknown} callback
   * @param {0 | 1} form
   * @returns {Promise<any>}
   */
  run(context, callback, form) {
    const epoch = this.#epoch;
    const { depth } = nesting;
    nesting.depth = depth + 1;
    /** @type {any} */
    let result;
    try {
      result = this.#ambient ? storage.run(context, callback, context) : callback(context);
      if (result !== null && (typeof result === 'object' || typeof result === 'function')) {
        if (typeof result.then === 'function') {
          const { succeeded, failed } = epoch.forms[form];
          return plain(result).then(succeeded.bind(context), failed.bind(context));
        }
      }
    } catch (error) {
      return Promise.resolve(epoch.end(false, error, context, form));
    } finally {
      nesting.depth = depth;
    }
    return Promise.resolve(epoch.end(true, result, context, form));
  }
}

module.exports = { ClosedCircuit };
