'use strict';

// The AsyncLocalStorage stores of a caller who has to wait: a promise callback runs in those of whoever added it. And
// those of one whose execution others may end, where somebody hears of that at once.

const { Outside } = require('./outside.js');

class CallerStores {
  /** What happens there in place of going on. @type {(() => void) | undefined} */
  #notice;
  /** Brings it about. */
  resume = () => {};

  /** @param {{ goOn(): void }} execution Called by the caller. */
  constructor(execution) {
    new Promise((resolve) => {
      this.resume = /** @type {() => void} */ (resolve);
    }).then(() => (this.#notice === undefined ? execution.goOn() : this.#notice()));
  }

  /**
   * Leaves a notification to the caller's stores, ahead of what the execution's promise brings about. The
   * execution does not go on.
   *
   * @param {() => void} notice
   */
  defer(notice) {
    const earlier = this.#notice;
    this.#notice =
      earlier === undefined
        ? notice
        : () => {
            earlier();
            notice();
          };
    this.resume();
  }
}

class CallerScope extends Outside {
  constructor() {
    super('ResilienceExecution');
  }
}

/**
 * Runs `work` in the stores of a caller, if those were kept. What makes an error takes its arguments here: the error
 * would keep what a closure in its stack knows, and that the contexts of executions long over.
 *
 * @template {any[]} A
 * @param {CallerScope | undefined} caller
 * @param {(...args: A) => void} work
 * @param {A} args
 */
function runFor(caller, work, ...args) {
  if (caller === undefined) work(...args);
  else caller.runInAsyncScope(work, undefined, ...args);
}

module.exports = { CallerScope, CallerStores, runFor };
