'use strict';

const { nonNegativeDuration, number, rangeError } = require('../../options.js');
const { checkName, entries, fields, list, member, refuse } = require('../fields.js');
const { ARRIVALS, readRate } = require('./callers.js');
const { STEADY, readLoss, readStall, readWorkers } = require('./dependency.js');

const CLOSED = ARRIVALS.indexOf('closed');
const MAX_PHASES = 1000;
const OF_DEPENDENCY = ['workers', 'slowdown', 'loss', 'stall'];

/** @typedef {ReturnType<typeof readPhase>} Phase */

/**
 * In the order of their times.
 *
 * @param {string} path
 * @param {unknown} value
 * @param {number} durationMs
 * @param {import('./callers.js').Caller[]} callers
 * @param {import('./callers.js').Has} has
 */
function readPhases(path, value, durationMs, callers, has) {
  if (value === undefined) return [];
  return list(path, value, `a list of at most ${MAX_PHASES} phases`, 0, MAX_PHASES)
    .map((phase, index) => readPhase(`${path}[${index}]`, phase, durationMs, callers, has))
    .sort((one, other) => one.atMs - other.atMs);
}

/**
 * @param {string} path
 * @param {unknown} value
 * @param {number} durationMs
 * @param {import('./callers.js').Caller[]} callers
 * @param {import('./callers.js').Has} has
 */
function readPhase(path, value, durationMs, callers, has) {
  const read = fields(path, value, ['at', 'workers', 'slowdown', 'loss', 'stall', 'rates']);
  if (!has.dependency) refuse(path, read, OF_DEPENDENCY, 'without scenario.dependency');
  const { workers, slowdown, loss, stall } = read;
  return {
    atMs: readTime(`${path}.at`, read.at, durationMs),
    workers: workers === undefined ? undefined : readWorkers(`${path}.workers`, workers, 0),
    slowdown:
      slowdown === undefined ? undefined : number(`${path}.slowdown`, slowdown, 'above 0', (by) => by > 0),
    loss: loss === undefined ? undefined : readLoss(`${path}.loss`, loss),
    ...(stall === null ? STEADY : stall !== undefined && readStall(`${path}.stall`, stall)),
    rates: readRates(`${path}.rates`, read.rates, callers),
  };
}

/**
 * One rate a caller, NaN where it stays.
 *
 * @param {string} path
 * @param {unknown} value
 * @param {import('./callers.js').Caller[]} callers
 */
function readRates(path, value, callers) {
  const rates = new Map(value === undefined ? [] : entries(path, value));
  const open = callers.filter(({ arrivals }) => arrivals !== CLOSED).map(({ name }) => name);
  for (const name of rates.keys()) checkName(path, name, open, 'caller that has a rate');
  return callers.map(({ name }) => (rates.has(name) ? readRate(member(path, name), rates.get(name)) : NaN));
}

/**
 * A time within the simulation.
 *
 * @param {string} path
 * @param {unknown} value
 * @param {number} durationMs
 */
function readTime(path, value, durationMs) {
  const ms = nonNegativeDuration(path, value);
  if (ms > durationMs) throw rangeError(path, `within the scenario's duration (${durationMs} ms)`, value);
  return ms;
}

module.exports = { readPhases, readTime };
