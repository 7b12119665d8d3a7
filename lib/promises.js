'use strict';

const { lost, recover } = require('./lost.js');

const { then } = Promise.prototype;
const settled = Promise.resolve();

/**
 * A promise of the engine's own for what has a `then`: what that one returns is a promise of the same kind.
 *
 * @param {any} thenable
 * @returns {Promise<any>}
 */
const plain = (thenable) =>
  thenable instanceof Promise && thenable.constructor === Promise && thenable.then === then
    ? thenable
    : new Promise((resolve) => resolve(thenable));

/**
 * A promise that rejects in the next microtask. One that is rejected before anyone can have a handler for it costs
 * several times as much, because the process is told of it, and then that it was handled.
 *
 * @param {unknown} error
 * @returns {Promise<never>}
 */
const rejectSoon = (error) =>
  new Promise((_, reject) => {
    settled.then(() => {
      reject(error);
      if (lost.length > 0) recover();
    });
  });

/** Rejects, in the next microtask, the promise that is resolved with it. */
class Rejection {
  #error;

  /** @param {unknown} error */
  constructor(error) {
    this.#error = error;
  }

  /**
   * @param {unknown} _
   * @param {(error: unknown) => void} reject
   */
  then(_, reject) {
    reject(this.#error);
  }
}

module.exports = { Rejection, plain, rejectSoon };
