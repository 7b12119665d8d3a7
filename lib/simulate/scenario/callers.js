'use strict';

const { integer, name, nonNegativeDuration, number, oneOf, typeError } = require('../../options.js');
const { fields, list, refuse } = require('../fields.js');
const { readService } = require('./service.js');

/** Their order is that of the numbers that native code knows them by. */
const ARRIVALS = /** @type {const} */ (['even', 'poisson', 'bursts', 'closed']);
const FIELDS = /** @type {const} */ ([
  'name',
  'client',
  'priority',
  'operation',
  'service',
  'arrivals',
  'rate',
  'burst',
  'users',
  'think',
  'retries',
  'cpu',
  'streams',
]);
const MAX_CALLERS = 16;
const MAX_BURST = 1_000_000;
const MAX_USERS = 100_000;
const MAX_RETRIES = 100;

/** @typedef {ReturnType<typeof readCallers>[number]} Caller */

/**
 * What calls are short of.
 *
 * @typedef {object} Has
 * @property {boolean} dependency
 * @property {boolean} eventLoop
 */

/**
 * One caller, or a list of them; what they name is numbered in the order of its first mention.
 *
 * @param {string} path
 * @param {unknown} value
 * @param {Has} has
 */
function readCallers(path, value, has) {
  const several = Array.isArray(value);
  const given = several ? list(path, value, `1 to ${MAX_CALLERS} callers`, 1, MAX_CALLERS) : [value];
  const callers = given.map((caller, index) => readCaller(several ? `${path}[${index}]` : path, caller, has));
  const names = callers.map((caller) => caller.name);
  const again = names.findIndex((one, index) => names.indexOf(one) < index);
  if (again >= 0) {
    const first = `${path}[${names.indexOf(names[again])}]`;
    throw new RangeError(
      `${path}[${again}].name must differ from that of ${first}: both are '${names[again]}'`,
    );
  }
  const clients = numbers(callers.map(({ client }) => client));
  const operations = numbers(callers.map(({ operation }) => operation));
  return callers.map((caller, index) => ({
    ...caller,
    client: clients[index],
    operation: operations[index],
  }));
}

/** @param {string} path @param {unknown} value @param {Has} has */
function readCaller(path, value, has) {
  const read = fields(path, value, FIELDS);
  if (!has.eventLoop) refuse(path, read, ['cpu', 'streams'], 'without scenario.eventLoop');
  if (!has.dependency) refuse(path, read, ['service', 'streams'], 'without scenario.dependency');
  const { priority = 0, streams = false } = read;
  if (typeof streams !== 'boolean') throw typeError(`${path}.streams`, 'a boolean', streams);
  return {
    name: name(`${path}.name`, read.name, 'calls'),
    client: name(`${path}.client`, read.client, 'client'),
    priority: number(`${path}.priority`, priority, 'that is finite', () => true),
    operation: name(`${path}.operation`, read.operation, ''),
    service: read.service === undefined ? undefined : readService(`${path}.service`, read.service),
    ...readArrivals(path, read),
    ...readRetries(`${path}.retries`, read.retries),
    cpu: read.cpu === undefined ? undefined : readService(`${path}.cpu`, read.cpu),
    streams,
  };
}

/**
 * @param {string} path
 * @param {Partial<Record<typeof FIELDS[number], unknown>>} read
 */
function readArrivals(path, read) {
  const { arrivals: given = 'poisson', think = 0 } = read;
  const kind = oneOf(`${path}.arrivals`, given, ARRIVALS);
  const closed = kind === 'closed';
  const others = closed ? ['rate', 'burst'] : ['users', 'think', ...(kind === 'bursts' ? [] : ['burst'])];
  refuse(path, read, others, `for arrivals '${kind}'`);
  return {
    arrivals: ARRIVALS.indexOf(kind),
    rate: closed ? 0 : readRate(`${path}.rate`, read.rate),
    burst: kind === 'bursts' ? integer(`${path}.burst`, read.burst, 1, MAX_BURST) : 1,
    users: closed ? integer(`${path}.users`, read.users, 1, MAX_USERS) : 0,
    thinkMs: nonNegativeDuration(`${path}.think`, think),
  };
}

/** @param {string} path @param {unknown} value */
const readRate = (path, value) =>
  number(path, value, 'of at least 0, in calls a second', (rate) => rate >= 0);

/** @param {string} path @param {unknown} value */
function readRetries(path, value) {
  if (value === undefined) return { retries: 0, retryDelayMs: 0, retryBackoff: 1 };
  const { attempts, delay, backoff = 2 } = fields(path, value, ['attempts', 'delay', 'backoff']);
  return {
    retries: integer(`${path}.attempts`, attempts, 1, MAX_RETRIES),
    retryDelayMs: nonNegativeDuration(`${path}.delay`, delay),
    retryBackoff: number(`${path}.backoff`, backoff, 'of at least 1', (factor) => factor >= 1),
  };
}

/** @param {string[]} words */
function numbers(words) {
  const distinct = [...new Set(words)];
  return words.map((word) => distinct.indexOf(word));
}

module.exports = { ARRIVALS, readCallers, readRate };
