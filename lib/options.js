'use strict';

// Every user input is validated here, once. An error names the option, the value and what is accepted.

const { inspect } = require('node:util');

const { DURATION, parseDuration } = require('./duration.js');
const { didYouMean } = require('./nearest.js');

const MAX_INTEGER = 2 ** 31 - 1;
const NAME = 'a non-empty string';

/** @param {unknown} value */
function show(value) {
  let text;
  try {
    text = inspect(value, { depth: 0, breakLength: Infinity });
  } catch {
    text = typeof value;
  }
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/**
 * @param {string} option
 * @param {string} accepted
 * @param {unknown} value
 */
const typeError = (option, accepted, value) =>
  new TypeError(`${option} must be ${accepted}, not ${show(value)}`);

/**
 * @param {string} option
 * @param {string} accepted
 * @param {unknown} value
 */
const rangeError = (option, accepted, value) =>
  new RangeError(`${option} must be ${accepted}, not ${show(value)}`);

/**
 * An option that somebody has misspelt, most likely.
 *
 * @param {string} where What takes the options.
 * @param {string} key
 * @param {readonly string[]} known
 */
function unknownOption(where, key, known) {
  const hint = didYouMean(key, known) || ';';
  return new TypeError(`${where} has no option ${show(key)}${hint} it takes ${known.join(', ')}`);
}

/**
 * Whether an object has an option, by itself or by its class. What somebody has put on `Object.prototype` is an option
 * of nobody.
 *
 * @param {object} options
 * @param {PropertyKey} key
 */
function hasOption(options, key) {
  if (Object.hasOwn(options, key)) return true;
  for (let own = Object.getPrototypeOf(options); own !== null; ) {
    const next = Object.getPrototypeOf(own);
    const isRoot = next === null && Object.hasOwn(own, 'hasOwnProperty');
    if (Object.hasOwn(own, key)) return !isRoot;
    own = next;
  }
  return false;
}

/**
 * An option where most have none: only one that seems to be there costs a look at where it comes from.
 *
 * @template T
 * @param {object} options
 * @param {PropertyKey} key
 * @param {T} value What reading it gave.
 * @returns {T | undefined}
 */
const option = (options, key, value) => (value === undefined || hasOption(options, key) ? value : undefined);

/**
 * Whether it is an object of options, and not something that would count as one without any.
 *
 * @param {unknown} value
 * @returns {value is object}
 */
function isBag(value) {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return true;
  if (hasOption(value, Symbol.iterator) || hasOption(value, 'then')) return false;
  // Also of another realm. What the platform has made is known by its tag: Date, Map, Promise, AbortSignal, ...
  return Object.prototype.toString.call(value) === '[object Object]';
}

/**
 * Copies the known options of an object; every getter runs once.
 *
 * @template {string} K
 * @param {string} where What takes the options.
 * @param {unknown} options
 * @param {readonly K[]} known
 * @returns {Partial<Record<K, any>>}
 */
function readOptions(where, options, known) {
  if (!isBag(options)) throw typeError(`the options of ${where}`, 'an object', options);
  for (const key of Object.keys(options)) {
    if (!known.includes(/** @type {K} */ (key))) throw unknownOption(where, key, known);
  }
  /** @type {Partial<Record<K, any>>} */
  const copy = Object.create(null);
  for (const key of known) copy[key] = hasOption(options, key) ? /** @type {any} */ (options)[key] : undefined;
  return copy;
}

/**
 * @param {string} option
 * @param {unknown} value
 * @param {number} min
 * @param {number} [max]
 */
function integer(option, value, min, max = MAX_INTEGER) {
  const accepted = `an integer from ${min} to ${max === MAX_INTEGER ? '2^31-1' : max}`;
  if (typeof value !== 'number') throw typeError(option, accepted, value);
  if (!Number.isInteger(value) || value < min || value > max) throw rangeError(option, accepted, value);
  return value;
}

/**
 * A finite number in a range that `accepts` checks and `range` puts in words.
 *
 * @param {string} option
 * @param {unknown} value
 * @param {string} range
 * @param {(value: number) => boolean} accepts
 */
function number(option, value, range, accepts) {
  if (typeof value !== 'number') throw typeError(option, `a number ${range}`, value);
  if (!Number.isFinite(value) || !accepts(value)) throw rangeError(option, `a number ${range}`, value);
  return value;
}

/**
 * A duration above 0, in milliseconds.
 *
 * @param {string} option
 * @param {unknown} value
 */
function positiveDuration(option, value) {
  const ms = anyDuration(option, value);
  if (ms <= 0) throw rangeError(option, `${DURATION}, above 0`, value);
  return ms;
}

/**
 * A duration of at least 0, in milliseconds.
 *
 * @param {string} option
 * @param {unknown} value
 */
function nonNegativeDuration(option, value) {
  const ms = anyDuration(option, value);
  if (ms < 0) throw rangeError(option, `${DURATION}, at least 0`, value);
  return ms;
}

/**
 * A finite duration of either sign, in milliseconds.
 *
 * @param {string} option
 * @param {unknown} value
 */
function anyDuration(option, value) {
  if (typeof value !== 'number' && typeof value !== 'string') throw typeError(option, DURATION, value);
  const ms = parseDuration(value);
  if (!Number.isFinite(ms)) throw rangeError(option, DURATION, value);
  return ms;
}

/**
 * @param {string} option
 * @param {unknown} value
 * @param {string} fallback
 * @returns {string}
 */
function name(option, value, fallback) {
  if (value === undefined) return fallback;
  if (typeof value !== 'string') throw typeError(option, NAME, value);
  if (value === '') throw rangeError(option, NAME, value);
  return value;
}

/**
 * @param {string} option
 * @param {unknown} value
 * @returns {any} A function or undefined.
 */
function callback(option, value) {
  if (value !== undefined && typeof value !== 'function') throw typeError(option, 'a function', value);
  return value;
}

/**
 * What a callback answered that has to answer at once: a promise would only count as true, or as no number.
 *
 * @template T
 * @param {string} option
 * @param {string} accepted
 * @param {T} answer
 */
function immediate(option, accepted, answer) {
  if (typeof (/** @type {any} */ (answer)?.then) !== 'function') return answer;
  // The error below stands for whatever becomes of it.
  Promise.resolve(answer).then(undefined, () => {});
  throw new TypeError(`the result of ${option} must be ${accepted}, not a promise`);
}

/**
 * @template {string} T
 * @param {string} option
 * @param {unknown} value
 * @param {readonly T[]} choices
 * @returns {T}
 */
function oneOf(option, value, choices) {
  const accepted = `one of ${choices.map((choice) => `'${choice}'`).join(', ')}`;
  if (typeof value !== 'string') throw typeError(option, accepted, value);
  const choice = choices.find((candidate) => candidate === value);
  if (choice === undefined) throw rangeError(option, accepted, value);
  return choice;
}

module.exports = {
  anyDuration,
  callback,
  hasOption,
  immediate,
  integer,
  isBag,
  name,
  nonNegativeDuration,
  number,
  oneOf,
  option,
  positiveDuration,
  rangeError,
  readOptions,
  show,
  typeError,
  unknownOption,
};
