'use strict';

// When a refused client may come back: as soon as the queue in front of it will have drained. By Little's law that
// takes as long as its requests hold their permits, shared among the permits. Time without a request is no part of it.

/** Weight of each request that has ended. */
const WEIGHT = 0.1;
/** Nobody knows what will be in more than a minute. */
const MAX_S = 60;
/** The least range over which those refused together are spread. */
const MIN_SPREAD_S = 3;

class DrainTime {
  /** How long a request holds its permit. */
  #meanMs = 0;
  #hasEnded = false;
  #running = 0;
  /** When the last request has begun, or ended. */
  #changed = 0;

  /** A request begins to hold its permit. @returns {number} What is to be given to `ended`. */
  started() {
    this.#running += 1;
    return (this.#changed = performance.now());
  }

  /**
   * A request has given its permit back.
   *
   * @param {number} startedAt
   */
  ended(startedAt) {
    const now = (this.#changed = performance.now());
    this.#running -= 1;
    // An endless stream is no measure for all others.
    const heldMs = Math.min(now - startedAt, MAX_S * 1000);
    this.#meanMs += (heldMs - this.#meanMs) * (this.#hasEnded ? WEIGHT : 1);
    this.#hasEnded = true;
  }

  /**
   * Seconds until a queue has drained. Before a request has ended, nobody knows.
   *
   * @param {number} queued
   * @param {number} active Those that hold a permit.
   */
  seconds(queued, active) {
    if (!this.#hasEnded) return 0;
    // While some run and none ends, the mean is no longer true.
    const silence = this.#running === 0 ? 0 : performance.now() - this.#changed;
    return (Math.max(this.#meanMs, silence) * (queued + 1)) / Math.max(active, 1) / 1000;
  }
}

/**
 * A `Retry-After` of at least `seconds`, spread upwards at random: those refused together shall not return
 * together.
 *
 * @param {number} seconds
 */
function spread(seconds) {
  const least = Math.min(Math.max(Math.ceil(seconds), 1), MAX_S);
  return least + Math.floor(Math.random() * Math.max(least, MIN_SPREAD_S));
}

module.exports = { DrainTime, spread };
