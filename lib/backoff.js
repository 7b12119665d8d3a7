'use strict';

// How long to wait before a retry, as a function of the attempt's number.

/**
 * @typedef {object} BackoffRule
 * @property {'constant' | 'linear' | 'exponential'} type
 * @property {number} delayMs The base.
 * @property {number} maxDelayMs No delay is longer. Finite.
 * @property {boolean} useJitter
 */

/** What constant and linear delays are varied by, up and down. */
const JITTER_RATIO = 0.25;
/** Brings the medians of the jittered exponential delays near 1, 1, 2, 4, … times the base. */
const MEDIAN_SCALE = 1 / 1.4;

/** The delays of one execution. */
class Backoff {
  #rule;
  /** Where on the jitter's curve the last delay ended. */
  #position = 0;

  /** @param {BackoffRule} rule */
  constructor(rule) {
    this.#rule = rule;
  }

  /**
   * The delay in milliseconds after an attempt: finite, at least 0 and at most the rule's maximum, whatever
   * the attempt's number.
   *
   * @param {number} attemptNumber From 0 on.
   */
  after(attemptNumber) {
    const { type, delayMs, maxDelayMs, useJitter } = this.#rule;
    // Its product with a factor that has overflowed would be NaN.
    if (delayMs === 0) return 0;
    let factor = 1;
    if (type === 'exponential') {
      factor = useJitter ? this.#decorrelated(attemptNumber) : 2 ** attemptNumber;
    } else {
      if (type === 'linear') factor = attemptNumber + 1;
      if (useJitter) factor *= 1 + JITTER_RATIO * (2 * Math.random() - 1);
    }
    return Math.min(delayMs * factor, maxDelayMs);
  }

  /**
   * Decorrelated jitter, of which the delays of many callers spread smoothly and have no peaks:
   * https://github.com/Polly-Contrib/Polly.Contrib.WaitAndRetry#wait-and-retry-with-jittered-back-off
   *
   * @param {number} attemptNumber
   */
  #decorrelated(attemptNumber) {
    const t = attemptNumber + Math.random();
    const position = 2 ** t * Math.tanh(Math.sqrt(4 * t));
    // Two overflowed positions have no difference.
    if (position === Infinity) return Infinity;
    const step = position - this.#position;
    this.#position = position;
    return step * MEDIAN_SCALE;
  }
}

module.exports = { Backoff };
