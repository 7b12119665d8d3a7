'use strict';

// More than one copy of the package in a process: another version below another package, a bundle beside an
// installation, a hot reload, Jest's `resetModules`. Each tells the others what it can do with the objects that users
// hand from one to the other, so that two copies of one version work together.

const path = require('node:path');

const { typeError } = require('./options.js');
const { version } = require('./version.js');

/** Bundles of ES modules have no directory. */
const where = typeof __dirname === 'undefined' ? 'a bundle' : path.dirname(__dirname);

/**
 * One of the copies, and what it can do with objects of its own, by their kind.
 *
 * @typedef {object} Copy
 * @property {string} version
 * @property {string} where
 * @property {Record<string, { is(value: any): boolean, [skill: string]: any }>} skills
 */

/** @type {Copy} */
const copy = { version, where, skills: {} };

/** All copies; each lives as long as anything of it. */
const REGISTRY = Symbol.for('@ylcnfrht/resilience.copies');
/** @type {any} */
const realm = globalThis;
if (realm[REGISTRY] === undefined) Object.defineProperty(realm, REGISTRY, { value: [] });
/** @type {WeakRef<Copy>[]} */
const copies = realm[REGISTRY];
copies.splice(0, copies.length, ...copies.filter((one) => one.deref() !== undefined), new WeakRef(copy));

/**
 * Lets any copy know what this one can do with objects of a kind.
 *
 * @param {string} kind
 * @param {Copy['skills'][string]} skills
 */
function mark(kind, skills) {
  copy.skills[kind] = skills;
}

/**
 * The copy that an object is of.
 *
 * @param {any} value
 * @param {string} kind
 * @returns {Copy | undefined}
 */
function copyOf(value, kind) {
  if (copy.skills[kind]?.is(value)) return copy;
  for (const each of copies) {
    const other = each.deref();
    if (other?.skills[kind]?.is(value)) return other;
  }
  return undefined;
}

/**
 * What the copy of an object can do with it; undefined for what is none, or only looks like one, and for one of
 * another version.
 *
 * @param {any} value
 * @param {string} kind
 */
function skillsOf(value, kind) {
  const found = copyOf(value, kind);
  return found?.version === version ? /** @type {any} */ (found.skills[kind]) : undefined;
}

/**
 * The error of an object without skills for this copy.
 *
 * @param {string} option
 * @param {string} accepted
 * @param {any} value
 * @param {string} kind
 */
function notUsable(option, accepted, value, kind) {
  const found = copyOf(value, kind);
  if (found === undefined || found.version === version) return typeError(option, accepted, value);
  return new TypeError(
    `${option} must be ${accepted}, and this one is of another copy of @ylcnfrht/resilience: there are two in this ` +
      `process, ${found.version} in ${found.where} and ${version} in ${where}`,
  );
}

/**
 * The class of a context, in the copy of the package that has made it.
 *
 * @param {import('./context.js').ResilienceContext} context
 */
const classOf = (context) => /** @type {typeof import('./context.js').ResilienceContext} */ (context.constructor);

module.exports = { classOf, mark, notUsable, skillsOf };
