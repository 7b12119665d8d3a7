'use strict';

// What users hold to move circuit breakers by hand, and to read one from outside of its pipeline.

const { mark } = require('./copies.js');
const { typeError } = require('./options.js');
const { refuseAssignment } = require('./read-only.js');

/** @typedef {'closed' | 'open' | 'half-open' | 'isolated'} CircuitState */
/** @typedef {{ isolate(): void, close(): void }} Handle */

/** @type {(control: CircuitBreakerManualControl, owner: object, handle: Handle) => void} */
let controlBy;
/** @type {(provider: CircuitBreakerStateProvider, read: () => CircuitState) => boolean} */
let provideTo;
/**
 * Also false for what only looks like one, such as a proxy.
 *
 * @type {(value: any) => value is CircuitBreakerManualControl}
 */
let isControl;
/** The same of a provider. @type {(value: any) => value is CircuitBreakerStateProvider} */
let isProvider;

class CircuitBreakerManualControl {
  static {
    controlBy = (control, owner, handle) => {
      control.#forget();
      control.#breakers.push({ owner: new WeakRef(owner), handle });
      if (control.#isIsolated) handle.isolate();
    };
    isControl = (value) => typeof value === 'object' && value !== null && #breakers in value;
  }

  /** A breaker lives as long as its pipeline. @type {{ owner: WeakRef<object>, handle: Handle }[]} */
  #breakers = [];
  #isIsolated;

  /** @param {unknown} [isIsolated] */
  constructor(isIsolated = false) {
    if (typeof isIsolated !== 'boolean') throw typeError('isIsolated', 'a boolean', isIsolated);
    this.#isIsolated = isIsolated;
    if (new.target === CircuitBreakerManualControl) Object.freeze(this);
  }

  get isIsolated() {
    return this.#isIsolated;
  }

  set isIsolated(_) {
    refuseAssignment('isIsolated', 'a manual control');
  }

  isolate() {
    this.#isIsolated = true;
    this.#forget();
    for (const { handle } of this.#breakers) {
      // A breaker's callback may have closed them all meanwhile.
      if (!this.#isIsolated) return;
      handle.isolate();
    }
  }

  close() {
    this.#isIsolated = false;
    this.#forget();
    for (const { handle } of this.#breakers) {
      if (this.#isIsolated) return;
      handle.close();
    }
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
    isProvider = (value) => typeof value === 'object' && value !== null && #read in value;
  }

  /** @type {(() => CircuitState) | undefined} */
  #read;

  constructor() {
    if (new.target === CircuitBreakerStateProvider) Object.freeze(this);
  }

  /** @returns {CircuitState} */
  get state() {
    return this.#read === undefined ? 'closed' : this.#read();
  }

  set state(_) {
    refuseAssignment('state', 'a state provider');
  }
}

mark('CircuitBreakerManualControl', {
  is: /** @type {typeof isControl} */ (isControl),
  controlBy: /** @type {typeof controlBy} */ (controlBy),
});
mark('CircuitBreakerStateProvider', {
  is: /** @type {typeof isProvider} */ (isProvider),
  provideTo: /** @type {typeof provideTo} */ (provideTo),
});

module.exports = { CircuitBreakerManualControl, CircuitBreakerStateProvider };
