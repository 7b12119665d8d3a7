'use strict';

// What a caller says about one execution.

const { ResilienceContext } = require('./context.js');
const { currentContext, storage } = require('./current-context.js');
const { isBag, option, rangeError, typeError, unknownOption } = require('./options.js');

const OPTIONS = ['signal', 'properties', 'operationKey', 'repeatable', 'detached'];
const STREAM_OPTIONS = [...OPTIONS, 'body'];

/**
 * Makes the context of a new execution.
 *
 * @param {import('../index.js').ExecuteOptions | undefined} options
 * @param {boolean} ambient Whether it hangs below the context in which `execute` was called.
 */
function createContext(options, ambient) {
  return options === undefined
    ? new ResilienceContext(ambient ? currentContext() : undefined, undefined, undefined)
    : contextWith(options, ambient);
}

/**
 * @param {import('../index.js').ExecuteOptions} options
 * @param {boolean} ambient
 */
function contextWith(options, ambient) {
  checkIsOptions('execute', options, OPTIONS);
  const signal = option(options, 'signal', options.signal);
  const properties = option(options, 'properties', options.properties);
  const operationKey = option(options, 'operationKey', options.operationKey);
  const repeatable = option(options, 'repeatable', options.repeatable);
  const detached = option(options, 'detached', options.detached);
  if (operationKey !== undefined && typeof operationKey !== 'string') {
    throw typeError('operationKey', 'a string', operationKey);
  }
  checkIsBoolean('repeatable', repeatable);
  checkIsBoolean('detached', detached);
  const map = properties === undefined || properties instanceof Map ? properties : readProperties(properties);
  if (signal !== undefined && !isAbortSignal(signal)) throw typeError('signal', 'an AbortSignal', signal);
  const context = new ResilienceContext(ambient && detached !== true ? currentContext() : undefined, map, operationKey);
  if (detached === true && ambient && map === undefined) {
    const beside = storage.getStore();
    if (beside !== undefined) ResilienceContext.share(context, beside);
  }
  if (signal !== undefined) ResilienceContext.follow(context, signal);
  return context;
}

/**
 * What is said about a stream: of its execution, and of itself.
 *
 * @param {any} given The options of `executeStream`.
 */
function readStreamOptions(given) {
  if (given === undefined) return { body: false, options: undefined };
  checkIsOptions('executeStream', given, STREAM_OPTIONS);
  const body = option(given, 'body', given.body);
  checkIsBoolean('body', body);
  /** @type {Record<string, any>} */
  const options = {};
  for (const key of OPTIONS) options[key] = option(given, key, given[key]);
  return { body: body === true, options };
}

/**
 * @param {string} where What takes the options.
 * @param {unknown} options
 * @param {string[]} known
 */
function checkIsOptions(where, options, known) {
  if (!isBag(options) && !isAbortController(options)) {
    const accepted = 'an object such as { signal }';
    if (isAbortSignal(options)) {
      throw new TypeError(`the options of an execution must be ${accepted}, not an AbortSignal`);
    }
    throw typeError('the options of an execution', accepted, options);
  }
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) throw unknownOption(where, key, known);
  }
}

/** It has a signal. @param {unknown} value @returns {value is AbortController} */
const isAbortController = (value) => Object.prototype.toString.call(value) === '[object AbortController]';

/**
 * @param {string} name
 * @param {unknown} value
 */
function checkIsBoolean(name, value) {
  if (value !== undefined && typeof value !== 'boolean') throw typeError(name, 'a boolean', value);
}

/** @param {any} value */
function isAbortSignal(value) {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof value.aborted === 'boolean' &&
    typeof value.addEventListener === 'function' &&
    typeof value.removeEventListener === 'function'
  );
}

/** @param {any} properties */
function readProperties(properties) {
  const accepted = 'a Map or an iterable of [key, value] pairs';
  if (typeof properties !== 'object' || typeof properties?.[Symbol.iterator] !== 'function') {
    throw typeError('properties', accepted, properties);
  }
  try {
    return new Map(properties);
  } catch (error) {
    throw Object.assign(rangeError('properties', accepted, properties), { cause: error });
  }
}

module.exports = { createContext, isAbortSignal, readStreamOptions };
