'use strict';

const { then } = Promise.prototype;

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

module.exports = { plain };
