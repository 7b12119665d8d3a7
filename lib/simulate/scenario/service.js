'use strict';

const { integer, number, oneOf, positiveDuration } = require('../../options.js');
const { fields, refuse } = require('../fields.js');

/** Their order is that of the numbers that native code knows them by. */
const DISTRIBUTIONS = /** @type {const} */ ([
  'constant',
  'uniform',
  'erlang',
  'lognormal',
  'bimodal',
  'pareto',
]);
/** What each has besides its mean. */
const PARAMETERS = /** @type {const} */ ({
  constant: [],
  uniform: ['jitter'],
  erlang: ['shape'],
  lognormal: ['cv'],
  bimodal: ['slowShare', 'slowFactor'],
  pareto: ['shape'],
});
const ALL_PARAMETERS = /** @type {const} */ (['jitter', 'shape', 'cv', 'slowShare', 'slowFactor']);
const MAX_SHAPE = 1000;

/** @typedef {{ kind: number, meanMs: number, a: number, b: number }} Service */

/**
 * @param {string} path
 * @param {unknown} value
 * @returns {Service}
 */
function readService(path, value) {
  const read = fields(path, value, ['distribution', 'mean', ...ALL_PARAMETERS]);
  const distribution = oneOf(`${path}.distribution`, read.distribution, DISTRIBUTIONS);
  /** @type {readonly (typeof ALL_PARAMETERS[number])[]} */
  const own = PARAMETERS[distribution];
  const others = ALL_PARAMETERS.filter((name) => !own.includes(name));
  refuse(path, read, others, `for the distribution '${distribution}'`);
  const meanMs = positiveDuration(`${path}.mean`, read.mean);
  const [a = 0, b = 0] = own.map((name) => readParameter(distribution, `${path}.${name}`, name, read[name]));
  return { kind: DISTRIBUTIONS.indexOf(distribution), meanMs, a, b };
}

/**
 * @param {typeof DISTRIBUTIONS[number]} distribution
 * @param {string} path
 * @param {string} name
 * @param {unknown} value
 */
function readParameter(distribution, path, name, value) {
  switch (name) {
    case 'jitter':
    case 'slowShare':
      return number(path, value, 'from 0 to 1', (share) => share >= 0 && share <= 1);
    case 'cv':
      return number(path, value, 'above 0', (cv) => cv > 0);
    default:
      return distribution === 'erlang'
        ? integer(path, value, 1, MAX_SHAPE)
        : number(path, value, 'above 1', (above) => above > 1);
  }
}

module.exports = { readService };
