'use strict';

// Executions of a pipeline of retries and fallbacks around one segment at the most. A first attempt that succeeds
// needs none of them; what fails goes on with them.

const { ResilienceContext } = require('./context.js');
const { storage } = require('./current-context.js');
const { Execution } = require('./execution.js');
const { lost, recoverSoon } = require('./lost.js');
const { Outcome, OutcomeFailure } = require('./outcome.js');
const { OUTCOME, VALUE } = require('./role.js');

/** @typedef {import('./execution.js').Callback} Callback */
/** @typedef {import('./outcome.js').AnyOutcome} AnyOutcome */

/**
 * Runs a combinator whose inside has ended with `outcome` already.
 *
 * @typedef {(index: number, context: ResilienceContext, callback: Callback, outcome: AnyOutcome)
 *   => Promise<AnyOutcome>} GoOn
 */

class FirstAttempt {
  #combinators;
  #role;
  #inside;
  #ambient;
  #goOn;

  /**
   * @param {readonly import('./pipeline.js').Combinator[]} combinators Outermost first.
   * @param {import('./role.js').Role} role What an attempt is.
   * @param {import('./pipeline.js').Shortcut | undefined} inside Runs attempts that need no more.
   * @param {boolean} ambient Whether all of it is in the context's AsyncLocalStorage scope: the gates call functions of
   *   the user's as well.
   * @param {GoOn} goOn
   */
  constructor(combinators, role, inside, ambient, goOn) {
    this.#combinators = combinators;
    this.#role = role;
    this.#inside = inside;
    this.#ambient = ambient;
    this.#goOn = goOn;
  }

  /** Whether a success is the result and no combinator tells of it. */
  get isOpen() {
    for (const combinator of this.#combinators) {
      if (combinator.passesSuccess?.() !== true) return false;
    }
    return true;
  }

  /**
   * @param {ResilienceContext} context
   * @param {Callback} callback
   * @param {0 | 1} form
   * @returns {Promise<any>}
   */
  run(context, callback, form) {
    for (const combinator of this.#combinators) combinator.begin?.();
    const first = this.#ambient
      ? storage.run(context, () => this.#start(context, callback))
      : this.#start(context, callback);
    const succeeded = form === OUTCOME ? Outcome.success : undefined;
    try {
      return first.then(succeeded, (error) => this.#rescue(context, callback, form, new OutcomeFailure(error)));
    } catch (error) {
      // The stack is full: nobody follows the attempt, and nobody may miss that.
      lost[lost.length] = { recover: () => void first.catch(() => {}) };
      recoverSoon();
      throw error;
    }
  }

  /**
   * @param {ResilienceContext} context
   * @param {Callback} callback
   * @returns {Promise<unknown>}
   */
  #start(context, callback) {
    if (this.#inside?.isOpen) return this.#inside.run(context, callback, VALUE);
    return new Execution(this.#role, context, callback).start();
  }

  /**
   * @param {ResilienceContext} attempted
   * @param {Callback} callback
   * @param {0 | 1} form
   * @param {AnyOutcome} first
   */
  async #rescue(attempted, callback, form, first) {
    const context = ResilienceContext.successorOf(attempted);
    let outcome = first;
    for (let index = this.#combinators.length - 1; index >= 0 && !outcome.ok; index -= 1) {
      outcome = await this.#goOn(index, context, callback, outcome);
    }
    if (form === OUTCOME) return outcome;
    if (outcome.ok) return outcome.result;
    throw outcome.error;
  }
}

module.exports = { FirstAttempt };
