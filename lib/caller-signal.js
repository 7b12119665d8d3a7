'use strict';

// The caller's AbortSignal: one listener for all that follow it, gone with the last of them.

/**
 * @template {object} T
 * @typedef {(follower: T, reason: unknown) => void} Abort
 */

/** @type {WeakMap<AbortSignal, CallerSignal>} */
const known = new WeakMap();

/** What a signal aborts, in the order in which they came: contexts of executions, and who reads what came of them. */
class CallerSignal {
  /** @type {Follower<any> | undefined} */
  first;
  /** @type {Follower<any> | undefined} */
  last;
  #signal;
  #listener;

  /** @param {AbortSignal} signal */
  constructor(signal) {
    this.#signal = signal;
    this.#listener = () => {
      const followers = [];
      for (let next = this.first; next !== undefined; next = this.first) {
        next.remove();
        followers.push(next);
      }
      for (const { follower, abort } of followers) abort(follower, reasonOf(signal));
    };
  }

  listen() {
    this.#signal.addEventListener('abort', this.#listener);
  }

  ignore() {
    try {
      this.#signal.removeEventListener('abort', this.#listener);
    } catch {
      // Not one of Node's own signals. A listener that stays has nobody left to abort.
    }
  }
}

/** @template {object} T */
class Follower {
  /** Until it is removed. @type {CallerSignal | undefined} */
  #caller;
  /** @type {Follower<any> | undefined} */
  #previous;
  /** @type {Follower<any> | undefined} */
  #next;

  /**
   * @param {CallerSignal} caller
   * @param {T} follower
   * @param {Abort<T>} abort
   */
  constructor(caller, follower, abort) {
    this.follower = follower;
    this.abort = abort;
    const { last } = caller;
    if (last === undefined) {
      caller.listen();
      caller.first = this;
    } else {
      last.#next = this;
    }
    this.#previous = last;
    this.#caller = caller;
    caller.last = this;
  }

  remove() {
    const caller = this.#caller;
    if (caller === undefined) return;
    if (this.#previous === undefined) caller.first = this.#next;
    else this.#previous.#next = this.#next;
    if (this.#next === undefined) caller.last = this.#previous;
    else this.#next.#previous = this.#previous;
    this.#caller = this.#previous = this.#next = undefined;
    if (caller.first === undefined) caller.ignore();
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
 * Lets `signal` abort `follower` until what this returns is removed.
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
  return new Follower(caller, follower, abort);
}

module.exports = { follow, reasonOf };
