'use strict';

const { integer, nonNegativeDuration, number, oneOf, positiveDuration, rangeError } = require('../../options.js');
const { fields, refuse } = require('../fields.js');
const { STEADY, readStall } = require('./dependency.js');
const { readService } = require('./service.js');

const FIELDS = /** @type {const} */ ([
  'cpu',
  'before',
  'calls',
  'connections',
  'accept',
  'backlog',
  'costs',
  'pause',
  'overload',
]);
/** In milliseconds, as measured of Node.js with a JSON answer of a few bytes. */
const COSTS = Object.freeze({ turn: 0.008, accept: 0.06, parse: 0.03, refuse: 0.06, answer: 0.1 });
const MAX_CALLS = 100;
const MAX_BACKLOG = 1_000_000;
const MOST_MS = 60_000;

/**
 * @param {string} path
 * @param {unknown} value
 * @param {boolean} hasDependency
 */
function readEventLoop(path, value, hasDependency) {
  const read = fields(path, value, FIELDS);
  if (!hasDependency) refuse(path, read, ['before', 'calls'], 'without scenario.dependency');
  const { before = 0.5, calls = 1, connections = 'kept', accept = 'one', backlog = 511 } = read;
  const { overload = {}, costs = {} } = read;
  const pause = read.pause === undefined ? STEADY : readStall(`${path}.pause`, read.pause);
  return {
    cpu: readService(`${path}.cpu`, read.cpu),
    before: number(`${path}.before`, before, 'from 0 to 1', (share) => share >= 0 && share <= 1),
    ioCalls: hasDependency ? integer(`${path}.calls`, calls, 1, MAX_CALLS) : 0,
    fresh: oneOf(`${path}.connections`, connections, ['kept', 'fresh']) === 'fresh',
    acceptsAll: oneOf(`${path}.accept`, accept, ['one', 'all']) === 'all',
    backlog: integer(`${path}.backlog`, backlog, 1, MAX_BACKLOG),
    ...readCosts(`${path}.costs`, costs),
    pauseEveryMs: pause.stallEveryMs,
    pauseMs: pause.stallMs,
    ...readOverload(`${path}.overload`, overload),
  };
}

/** @param {string} path @param {unknown} value */
function readCosts(path, value) {
  const { turn, accept, parse, refuse, answer } = { ...COSTS, ...known(fields(path, value, COST_FIELDS)) };
  return {
    turnMs: atMost(`${path}.turn`, turn, positiveDuration),
    acceptMs: atMost(`${path}.accept`, accept, nonNegativeDuration),
    parseMs: atMost(`${path}.parse`, parse, nonNegativeDuration),
    refuseMs: atMost(`${path}.refuse`, refuse, nonNegativeDuration),
    answerMs: atMost(`${path}.answer`, answer, nonNegativeDuration),
  };
}

const COST_FIELDS = /** @type {const} */ (['turn', 'accept', 'parse', 'refuse', 'answer']);

/** @param {object} given */
const known = (given) => Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

/** @param {string} path @param {unknown} value */
function readOverload(path, value) {
  const { targetDelay = 100, maxDelay } = fields(path, value, ['targetDelay', 'maxDelay']);
  const targetMs = atMost(`${path}.targetDelay`, targetDelay, positiveDuration);
  if (maxDelay === undefined) return { targetMs, maxMs: Math.max(500, targetMs) };
  const maxMs = atMost(`${path}.maxDelay`, maxDelay, positiveDuration);
  if (maxMs < targetMs) {
    throw rangeError(`${path}.maxDelay`, `at least ${path}.targetDelay (${targetMs} ms)`, maxDelay);
  }
  return { targetMs, maxMs };
}

/**
 * @param {string} path
 * @param {unknown} value
 * @param {typeof positiveDuration} read
 */
function atMost(path, value, read) {
  const ms = read(path, value);
  if (ms > MOST_MS) throw rangeError(path, "at most '1m'", value);
  return ms;
}

module.exports = { readEventLoop };
