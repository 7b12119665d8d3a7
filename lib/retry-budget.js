'use strict';

const { mark } = require('./copies.js');
const { number, readOptions } = require('./options.js');
const { refuseAssignment } = require('./read-only.js');
const { now } = require('./timer.js');

const BUCKETS = 10;
const BUCKET_MS = 1000;
/** Sums of ratios fall short of whole numbers by their rounding: 0.29 × 100 is less than 29. */
const ROUNDING = 1e-9;

/** @type {(budget: RetryBudget) => void} */
let countFirst;

/** @type {(budget: RetryBudget) => boolean} */
let takeRetry;

/** @type {(value: any) => value is RetryBudget} */
let isRetryBudget;

/**
 * Over the last ten seconds, retries are at most a share of the first attempts, and a few more so that a
 * caller with little traffic can retry at all. The idea and the defaults are those of Finagle:
 * https://twitter.github.io/finagle/guide/Clients.html#retries
 */
class RetryBudget {
  static {
    countFirst = (budget) => {
      budget.#advance();
      budget.#firsts[budget.#second % BUCKETS] += 1;
    };
    takeRetry = (budget) => {
      const { balance } = budget;
      if (balance > 0) budget.#retries[budget.#second % BUCKETS] += 1;
      return balance > 0;
    };
    isRetryBudget = (value) => typeof value === 'object' && value !== null && #ratio in value;
  }

  #ratio;
  #reserve;
  /** The number of the second that the counts have been brought up to. */
  #second = 0;
  /** What makes it go on from there where a test puts its clock back. */
  #ahead = 0;
  /** One bucket a second. */
  #firsts = Array(BUCKETS).fill(0);
  #retries = Array(BUCKETS).fill(0);

  /**
   * @param {number} ratio
   * @param {number} minPerSecond
   */
  constructor(ratio, minPerSecond) {
    this.#ratio = ratio;
    this.#reserve = minPerSecond * BUCKETS;
    Object.freeze(this);
  }

  get balance() {
    this.#advance();
    const sum = (/** @type {number[]} */ counts) => counts.reduce((total, count) => total + count);
    const allowed = this.#ratio * sum(this.#firsts) + this.#reserve;
    return Math.max(Math.floor(allowed + ROUNDING) - sum(this.#retries), 0);
  }

  set balance(_) {
    refuseAssignment('balance', 'a retry budget');
  }

  /** Empties the buckets of the seconds that have begun since the last look. */
  #advance() {
    const clock = Math.floor(now() / BUCKET_MS);
    this.#ahead = Math.max(this.#ahead, this.#second - clock);
    const second = clock + this.#ahead;
    for (let passed = Math.min(second - this.#second, BUCKETS); passed > 0; passed -= 1) {
      const bucket = (second - passed + 1) % BUCKETS;
      this.#firsts[bucket] = this.#retries[bucket] = 0;
    }
    this.#second = second;
  }
}

/**
 * Limits the retries of all strategies that share it.
 *
 * @param {unknown} [options] `RetryBudgetOptions`.
 */
function retryBudget(options = {}) {
  const { ratio = 0.2, minPerSecond = 10 } = readOptions('retryBudget', options, ['ratio', 'minPerSecond']);
  const range = 'of at least 0';
  return new RetryBudget(
    number('ratio', ratio, range, (value) => value >= 0),
    number('minPerSecond', minPerSecond, range, (value) => value >= 0),
  );
}

/** What a retry does with a budget. */
const SKILLS = {
  is: /** @type {typeof isRetryBudget} */ (isRetryBudget),
  countFirst: /** @type {typeof countFirst} */ (countFirst),
  takeRetry: /** @type {typeof takeRetry} */ (takeRetry),
};
mark('RetryBudget', SKILLS);

module.exports = { retryBudget };
