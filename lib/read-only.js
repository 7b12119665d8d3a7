'use strict';

// What users read of live things. An assignment would seem to move them and does nothing: it is an error, in sloppy
// mode as well, which ignores one to a property that is merely frozen.

const { inspect } = require('node:util');

/**
 * @param {PropertyKey} key
 * @param {string} whose
 * @returns {never}
 */
function refuseAssignment(key, whose) {
  throw new TypeError(`${String(key)} of ${whose} is read-only: it tells what is, and assigning to it changes nothing`);
}

/**
 * Gives an object a property that can only be read.
 *
 * @param {object} target
 * @param {PropertyKey} key
 * @param {string} whose
 * @param {PropertyDescriptor} property A getter or a value.
 */
function defineReadOnly(target, key, whose, { get, value, enumerable = false }) {
  const set = () => refuseAssignment(key, whose);
  Object.defineProperty(target, key, { get: get ?? (() => value), set, enumerable });
}

/**
 * Makes each property of an object one that can only be read, getters and values alike.
 *
 * @template {object} T
 * @param {T} view
 * @param {string} whose
 * @returns {T}
 */
function readOnly(view, whose) {
  for (const key of Reflect.ownKeys(view)) {
    const property = /** @type {PropertyDescriptor} */ (Object.getOwnPropertyDescriptor(view, key));
    defineReadOnly(view, key, whose, property);
  }
  // Or a logger would show accessors in place of what they tell.
  Object.defineProperty(view, inspect.custom, { value: () => ({ ...view }), enumerable: false });
  return Object.freeze(view);
}

module.exports = { defineReadOnly, readOnly, refuseAssignment };
