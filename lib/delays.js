'use strict';

// The pauses that combinators make, on the native timer wheel.

const { ResilienceContext } = require('./context.js');
const { afterCall, sleepers } = require('./dispatch.js');
const { InternalError } = require('./errors.js');
const { hot, report } = require('./native.js');
const { setClock } = require('./timer.js');

/** One pause; as a part of the context's tree it ends with an abort. */
class Delay {
  #delays;
  #key = 0;
  /** Where it hangs in the tree. @type {ResilienceContext | undefined} */
  #place;
  /** @type {(() => void) | undefined} */
  #wake;

  /**
   * @param {Delays} delays
   * @param {number} ms
   * @param {ResilienceContext} context
   * @param {() => void} wake
   */
  constructor(delays, ms, context, wake) {
    this.#delays = delays;
    this.#wake = wake;
    if (delays.disposed || ResilienceContext.isAborted(context)) {
      Promise.resolve().then(() => this.end());
      return;
    }
    setClock();
    this.#key = hot.sleep(ms);
    if (Number.isNaN(this.#key)) {
      const error = new InternalError(hot.fault());
      afterCall();
      throw error;
    }
    this.#place = new ResilienceContext(context, undefined, undefined);
    ResilienceContext.attach(this.#place, this);
    sleepers.set(this.#key, this);
    delays.add(this);
    afterCall();
  }

  /** The time has come. */
  woken() {
    this.#leave();
    this.end();
  }

  /** The context was aborted, or the pipeline disposed. */
  cancel() {
    if (this.#wake === undefined) return;
    this.#disarm();
    this.end();
  }

  /** Ends it without a wake. */
  drop() {
    if (this.#wake === undefined) return;
    this.#wake = undefined;
    this.#disarm();
  }

  /** A pause has no first byte, */
  mark() {}

  /** and is no deadline. */
  remaining() {
    return Infinity;
  }

  end() {
    const wake = this.#wake;
    this.#wake = undefined;
    if (wake !== undefined) wake();
  }

  #disarm() {
    if (this.#key === 0) return;
    const key = this.#key;
    this.#leave();
    setClock();
    report(hot.wake(key));
    afterCall();
  }

  #leave() {
    sleepers.delete(this.#key);
    this.#key = 0;
    this.#delays.delete(this);
    if (this.#place !== undefined) ResilienceContext.detach(this.#place);
  }
}

/** The pauses of one pipeline. */
class Delays {
  disposed = false;
  /** @type {Set<Delay>} */
  #pending = new Set();

  /**
   * Calls `wake` once: when `ms` have passed, the context is aborted or the pipeline disposed.
   *
   * @param {number} ms
   * @param {ResilienceContext} context
   * @param {() => void} wake
   * @returns {{ cancel(): void }} Cancelled, it never wakes.
   */
  start(ms, context, wake) {
    const delay = new Delay(this, ms, context, wake);
    return { cancel: () => delay.drop() };
  }

  /**
   * @param {number} ms
   * @param {ResilienceContext} context
   * @returns {Promise<void>}
   */
  wait(ms, context) {
    return new Promise((resolve) => {
      new Delay(this, ms, context, resolve);
    });
  }

  /** @param {Delay} delay */
  add(delay) {
    this.#pending.add(delay);
  }

  /** @param {Delay} delay */
  delete(delay) {
    this.#pending.delete(delay);
  }

  /** Ends all pauses, and every one that is to begin. */
  dispose() {
    this.disposed = true;
    for (const delay of [...this.#pending]) delay.cancel();
  }
}

module.exports = { Delays };
