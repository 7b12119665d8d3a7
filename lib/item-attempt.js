'use strict';

// One start of a callback that gives a stream, and the source of items that came of it.

const { AsyncLocalStorage } = require('node:async_hooks');

const { typeError } = require('./options.js');

/** @typedef {import('./context.js').ResilienceContext} ResilienceContext */

/** It becomes the stream if it is the first to have an item. */
class ItemAttempt {
  /** Runs a function in the stores that the callback ran in. */
  #inStores = AsyncLocalStorage.snapshot();
  /** @type {AsyncIterator<unknown> | undefined} */
  #source;
  #isClosed = false;
  /** What the callback gave. @type {unknown} */
  value;
  end = (/** @type {unknown} */ _value) => {};
  fail = (/** @type {unknown} */ _error) => {};

  /** @param {ResilienceContext} context */
  constructor(context) {
    this.context = context;
    /** How the execution's callback ends. */
    this.ended = new Promise((resolve, reject) => {
      this.end = resolve;
      this.fail = reject;
    });
    this.ended.catch(() => {});
  }

  /** @param {unknown} value What the callback gave. */
  open(value) {
    this.value = value;
    this.#source = iteratorOf(value);
  }

  /** @returns {Promise<IteratorResult<unknown>>} */
  async next() {
    const result = await this.#inStores(() => /** @type {AsyncIterator<unknown>} */ (this.#source).next());
    if (typeof result === 'object' && result !== null) return result;
    throw typeError('the result of next()', 'an object', result);
  }

  /** Tells the source that nobody reads on. */
  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#inStores(() => this.#source?.return?.());
  }

  /**
   * As a listener to its context: whoever reads is told by the execution's end. What the source does to clean up is
   * still the callback's work.
   *
   * @param {unknown} reason
   */
  aborted(reason) {
    const over = () => this.fail(reason);
    this.close().then(over, over);
  }
}

/**
 * @param {any} value
 * @returns {AsyncIterator<unknown>}
 */
function iteratorOf(value) {
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  if (isObject && typeof value[Symbol.asyncIterator] === 'function') return value[Symbol.asyncIterator]();
  if (isObject && typeof value[Symbol.iterator] === 'function') return iterate(value);
  if (isObject && typeof value.next === 'function') return value;
  throw typeError('the result of the callback of executeStream', 'an async iterable', value);
}

/** @param {Iterable<unknown>} values */
async function* iterate(values) {
  yield* values;
}

module.exports = { ItemAttempt };
