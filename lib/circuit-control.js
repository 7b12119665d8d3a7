'use strict';

// What users hold to move circuit breakers by hand, and to read one from outside of its pipeline.

const { typeError } = require('./options.js');

/** @typedef {'closed' | 'open' | 'half-open' | 'isolated'} CircuitState */
/** @typedef {{ isolate(): void, close(): void }} Handle */

/** @type {(control: CircuitBreakerManualControl, owner: object, handle: Handle) => void} */
let controlBy;
/** @type {(provider: CircuitBreakerStateProvider, read: () => CircuitState) => boolean} */
let provideTo;

class CircuitBreakerManualControl {
  static {
    controlBy = (control, owner, handle) => {
      control.#forget();
      control.#breakers.push({ owner: new WeakRef(owner), handle });
      if (control.#isIsolated) handle.isolate();
    };
  }

  /** A breaker lives as long as its pipeline. @type {{ owner: WeakRef<object>, handle: Handle }[]} */
  #breakers = [];
  #isIsolated;

  /** @param {unknown} [isIsolated] */
  constructor(isIsolated = false) {
    if (typeof isIsolated !== 'boolean') throw typeError('isIsolated', 'a boolean', isIsolated);
    this.#isIsolated = isIsolated;
  }

  get isIsolated() {
    return this.#isIsolated;
  }

  isolate() {
    this.#isIsolated = true;
    this.#forget();
    for (const { handle } of this.#breakers) handle.isolate();
  }

  close() {
    this.#isIsolated = false;
    this.#forget();
    for (const { handle } of this.#breakers) handle.close();
  }

  #forget() {
    this.#breakers = this.#breakers.filter(({ owner }) => owner.deref() !== undefined);
  }
}

class CircuitBreakerStateProvider {
  static {
    provideTo = (provider, read) => {
      if (provider.#read !== undefined) return false;
      provider.#read = read;
      return true;
    };
  }

  /** @type {(() => CircuitState) | undefined} */
  #read;

  /** @returns {CircuitState} */
  get state() {
    return this.#read === undefined ? 'closed' : this.#read();
  }
}

module.exports = {
  CircuitBreakerManualControl,
  CircuitBreakerStateProvider,
  controlBy: /** @type {typeof controlBy} */ (controlBy),
  provideTo: /** @type {typeof provideTo} */ (provideTo),
};
