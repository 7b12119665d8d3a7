'use strict';

// The AsyncLocalStorage stores of a caller who has to wait: a promise callback runs in those of whoever added it.

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

module.exports = { CallerStores };
