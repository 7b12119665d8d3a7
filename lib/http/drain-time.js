'use strict';

// When a refused client may come back: as soon as the queue in front of it will have drained, judged by how
// often a request has ended of late.

/** Weight of each interval between two ends. */
const WEIGHT = 0.1;
/** Nobody knows what will be in more than a minute. */
const MAX_S = 60;
/** The least range over which those refused together are spread. */
const MIN_SPREAD_S = 3;

class DrainTime {
  #meanMs = 0;
  #lastEnd = NaN;

  /** A request has ended, and given its permit back. */
  ended() {
    const now = performance.now();
    if (!Number.isNaN(this.#lastEnd)) this.#meanMs += (now - this.#lastEnd - this.#meanMs) * WEIGHT;
    this.#lastEnd = now;
  }

  /**
   * Seconds until a queue of that length has drained.
   *
   * @param {number} queued
   */
  seconds(queued) {
    // While none ends, the mean is no longer true.
    const silence = Number.isNaN(this.#lastEnd) ? 0 : performance.now() - this.#lastEnd;
    return (Math.max(this.#meanMs, silence) * (queued + 1)) / 1000;
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
