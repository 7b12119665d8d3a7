'use strict';

// Objects and lists of a scenario. Every message begins with the path of the field.

const { hasOption, rangeError, typeError } = require('../options.js');
const { didYouMean } = require('../nearest.js');

const LONGEST_KEY = 60;

/**
 * @param {string} path
 * @param {string} key
 */
function member(path, key) {
  if (/^[A-Za-z_$][\w$]*$/.test(key) && key.length <= LONGEST_KEY) return `${path}.${key}`;
  return `${path}[${JSON.stringify(key.length <= LONGEST_KEY ? key : `${key.slice(0, LONGEST_KEY)}...`)}]`;
}

/**
 * The entries of an object of the user, by their own names; each is read once.
 *
 * @param {string} path
 * @param {unknown} value
 * @returns {[string, unknown][]}
 */
function entries(path, value) {
  // A list or a map would count as an object without any fields.
  if (typeof value !== 'object' || value === null || hasOption(value, Symbol.iterator)) {
    throw typeError(path, 'an object', value);
  }
  return Object.entries(value);
}

/**
 * An object of the user with known fields; a field of undefined counts as not given.
 *
 * @template {string} K
 * @param {string} path
 * @param {unknown} value
 * @param {readonly K[]} known
 * @returns {Partial<Record<K, unknown>>}
 */
function fields(path, value, known) {
  const given = entries(path, value);
  for (const [key] of given) {
    if (known.includes(/** @type {K} */ (key))) continue;
    const hint = didYouMean(key, known);
    throw new TypeError(`${member(path, key)} is unknown${hint || ';'} ${path} takes ${known.join(', ')}`);
  }
  // Without a prototype: what somebody has put there is no field.
  return Object.assign(Object.create(null), Object.fromEntries(given));
}

/**
 * @param {string} path
 * @param {Record<string, unknown>} given
 * @param {readonly string[]} names Fields that have no meaning here.
 * @param {string} where
 */
function refuse(path, given, names, where) {
  const name = names.find((candidate) => given[candidate] !== undefined);
  if (name !== undefined) throw new TypeError(`${path}.${name} has no meaning ${where}`);
}

/**
 * @param {string} path
 * @param {unknown} value
 * @param {string} accepted
 * @param {number} min
 * @param {number} max
 * @returns {unknown[]} A copy.
 */
function list(path, value, accepted, min, max) {
  if (!Array.isArray(value)) throw typeError(path, accepted, value);
  if (value.length < min || value.length > max) throw rangeError(path, accepted, value);
  return Array.from(value);
}

/**
 * Each of the names has to be one of those known.
 *
 * @param {string} path
 * @param {string} name
 * @param {readonly string[]} known
 * @param {string} what
 */
function checkName(path, name, known, what) {
  if (known.includes(name)) return;
  throw new RangeError(
    `${member(path, name)} names no ${what}${didYouMean(name, known) || ';'} there are ${known.join(', ')}`,
  );
}

module.exports = { checkName, entries, fields, list, member, refuse };
