'use strict';

// The caller's AbortSignal: one listener for all executions that use it, gone with the last of them.

/** @typedef {import('./context.js').ResilienceContext} ResilienceContext */
/** @typedef {(context: ResilienceContext, reason: unknown) => void} Abort */

/** @type {WeakMap<AbortSignal, CallerSignal>} */
const known = new WeakMap();

/** The contexts that a signal aborts. */
class CallerSignal {
  /** @type {Set<ResilienceContext>} */
  #followers = new Set();
  #signal;
  #listener;

  /**
   * @param {AbortSignal} signal
   * @param {Abort} abort
   */
  constructor(signal, abort) {
    this.#signal = signal;
    this.#listener = () => {
      const followers = [...this.#followers];
      for (const context of followers) this.remove(context);
      for (const context of followers) abort(context, reasonOf(signal));
    };
  }

  /** @param {ResilienceContext} context */
  add(context) {
    if (this.#followers.size === 0) this.#signal.addEventListener('abort', this.#listener);
    this.#followers.add(context);
  }

  /** @param {ResilienceContext} context */
  remove(context) {
    const removed = this.#followers.delete(context);
    if (!removed || this.#followers.size > 0) return;
    try {
      this.#signal.removeEventListener('abort', this.#listener);
    } catch {
      // Not one of Node's own signals. A listener that stays has nobody left to abort.
    }
  }
}

/**
 * The reason of an aborted signal; a signal that is not Node's own may have none.
 *
 * @param {AbortSignal} signal
 */
function reasonOf(signal) {
  return signal.reason ?? new DOMException('This operation was aborted', 'AbortError');
}

/**
 * Lets `signal` abort `context` until the context is removed from what this returns.
 *
 * @param {AbortSignal} signal
 * @param {ResilienceContext} context
 * @param {Abort} abort
 */
function follow(signal, context, abort) {
  let caller = known.get(signal);
  if (caller === undefined) {
    caller = new CallerSignal(signal, abort);
    known.set(signal, caller);
  }
  caller.add(context);
  return caller;
}

module.exports = { follow, reasonOf };
