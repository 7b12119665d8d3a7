'use strict';

// Executions of a circuit breaker alone, while it is closed, that nothing but their callback can end. A closed
// circuit lets everything pass: the core is told of the end only.

const { storage } = require('./context.js');
const { afterCall, departed, hasUntold } = require('./dispatch.js');
const { hot, leave, report } = require('./native.js');
const nesting = require('./nesting.js');
const { OutcomeFailure, OutcomeSuccess } = require('./outcome.js');
const { plain, rejectSoon } = require('./promises.js');
const { setClock } = require('./timer.js');

/** @typedef {import('./context.js').ResilienceContext} ResilienceContext */

/** No ticket is as small. */
const MOST_NAMES = 2 ** 26;
/** Names executions in place of a ticket. */
let lastName = 0;

class ClosedCircuit {
  #segment;
  #ambient;

  /**
   * @param {import('./segment.js').Segment} segment
   * @param {boolean} ambient
   */
  constructor(segment, ambient) {
    this.#segment = segment;
    this.#ambient = ambient;
  }

  /** Whether an execution is let in, and kept from nesting too deep. */
  get isOpen() {
    const segment = this.#segment;
    if (segment.disposed || nesting.depth >= nesting.MAX_DEPTH) return false;
    if (segment.epoch === undefined) {
      setClock();
      const epoch = hot.closedEpoch(segment.key);
      segment.epoch = report(epoch) ? -1 : epoch;
      afterCall();
    }
    return /** @type {number | undefined} */ (segment.epoch) !== undefined && segment.epoch >= 0;
  }

  /**
   * @param {ResilienceContext} context
   * @param {(context: ResilienceContext) => unknown} callback
   * @param {0 | 1} form
   * @returns {Promise<any>}
   */
  run(context, callback, form) {
    const epoch = /** @type {number} */ (this.#segment.epoch);
    nesting.depth += 1;
    /** @type {any} */
    let result;
    try {
      result = this.#ambient ? storage.run(context, callback, context) : callback(context);
      if (result !== null && (typeof result === 'object' || typeof result === 'function')) {
        if (typeof result.then === 'function') {
          return plain(result).then(
            (value) => {
              this.#leave(true, value, context, epoch);
              return form === 0 ? value : new OutcomeSuccess(value);
            },
            (error) => {
              this.#leave(false, error, context, epoch);
              if (form === 0) throw error;
              return new OutcomeFailure(error);
            },
          );
        }
      }
    } catch (error) {
      this.#leave(false, error, context, epoch);
      return form === 0 ? rejectSoon(error) : Promise.resolve(new OutcomeFailure(error));
    } finally {
      nesting.depth -= 1;
    }
    this.#leave(true, result, context, epoch);
    return Promise.resolve(form === 0 ? result : new OutcomeSuccess(result));
  }

  /**
   * @param {boolean} ok
   * @param {unknown} value
   * @param {ResilienceContext} context
   * @param {number} epoch
   */
  #leave(ok, value, context, epoch) {
    const segment = this.#segment;
    lastName = lastName + 1 < MOST_NAMES ? lastName + 1 : 1;
    const name = lastName;
    const judged = !ok || segment.judgesSuccess;
    const outcomes = judged ? segment.outcomes(outcomeOf(ok, value), context) : 0;
    const untold = hasUntold();
    setClock();
    const moved = leave(segment.key, epoch, outcomes, name);
    if (report(moved) || moved === 1) segment.epoch = undefined;
    if (moved === 1 || untold) departed.set(name, { outcome: outcomeOf(ok, value), context });
    afterCall();
  }
}

/**
 * @param {boolean} ok
 * @param {unknown} value
 */
const outcomeOf = (ok, value) => (ok ? new OutcomeSuccess(value) : new OutcomeFailure(value));

module.exports = { ClosedCircuit };
