'use strict';

// The caller's AbortSignal: one listener for all that follow it, gone with the last of them.

/**
 * @template {object} T
 * @typedef {(follower: T, reason: unknown) => void} Abort
 */

/** @type {WeakMap<AbortSignal, CallerSignal>} */
const known = new WeakMap();

/** What a signal aborts: the contexts of executions, and who reads what came of them. */
class CallerSignal {
  /** @type {Map<object, Abort<any>>} */
  #followers = new Map();
  #signal;
  #listener;

  /** @param {AbortSignal} signal */
  constructor(signal) {
    this.#signal = signal;
    this.#listener = () => {
      const followers = [...this.#followers];
      for (const [follower] of followers) this.remove(follower);
      for (const [follower, abort] of followers) abort(follower, reasonOf(signal));
    };
  }

  /**
   * @template {object} T
   * @param {T} follower
   * @param {Abort<T>} abort
   */
  add(follower, abort) {
    if (this.#followers.size === 0) this.#signal.addEventListener('abort', this.#listener);
    this.#followers.set(follower, abort);
  }

  /** @param {object} follower */
  remove(follower) {
    const removed = this.#followers.delete(follower);
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
 * Lets `signal` abort `follower` until that is removed from what this returns.
 *
 * @template {object} T
 * @param {AbortSignal} signal
 * @param {T} follower
 * @param {Abort<T>} abort
 */
function follow(signal, follower, abort) {
  let caller = known.get(signal);
  if (caller === undefined) {
    caller = new CallerSignal(signal);
    known.set(signal, caller);
  }
  caller.add(follower, abort);
  return caller;
}

module.exports = { follow, reasonOf };
