'use strict';

// The kinds of operations that an adaptive limiter tells apart. The core knows them by number.

/** As many as the core has baselines for; calls of any other kind share one. */
const MAX_OPERATIONS = 64;

class OperationKeys {
  /** @type {Map<string, number>} */
  #numbers = new Map();
  /** @type {string[]} */
  #keys = [];

  /**
   * The number of a kind, -1 for none.
   *
   * @param {string | undefined} key
   */
  numberOf(key) {
    return key === undefined ? -1 : (this.#numbers.get(key) ?? this.#add(key));
  }

  /** @param {string} key */
  #add(key) {
    const number = this.#keys.length;
    if (number === MAX_OPERATIONS) return MAX_OPERATIONS;
    this.#keys.push(key);
    this.#numbers.set(key, number);
    return number;
  }

  /**
   * The key behind a number; undefined for none, and for a kind that is not told apart.
   *
   * @param {number} number
   */
  keyOf(number) {
    return this.#keys[number];
  }
}

module.exports = { OperationKeys };
