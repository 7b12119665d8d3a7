'use strict';

const { integer, number, oneOf, positiveDuration, rangeError } = require('../../options.js');
const { fields } = require('../fields.js');
const { readService } = require('./service.js');

const MAX_WORKERS = 100_000;
/** No stall. */
const STEADY = Object.freeze({ stallEveryMs: Infinity, stallMs: 0 });
/** Where nothing is called. */
const NONE = Object.freeze({
  workers: 1,
  sharing: false,
  service: Object.freeze({ kind: 0, meanMs: 1, a: 0, b: 0 }),
  loss: 0,
  ...STEADY,
});

/** @param {string} path @param {unknown} value */
function readDependency(path, value) {
  const read = fields(path, value, ['workers', 'discipline', 'service', 'loss', 'stall']);
  const { discipline = 'fifo', loss = 0 } = read;
  return {
    workers: readWorkers(`${path}.workers`, read.workers, 1),
    sharing: oneOf(`${path}.discipline`, discipline, ['fifo', 'sharing']) === 'sharing',
    service: readService(`${path}.service`, read.service),
    loss: readLoss(`${path}.loss`, loss),
    ...(read.stall === undefined ? STEADY : readStall(`${path}.stall`, read.stall)),
  };
}

/**
 * @param {string} path
 * @param {unknown} value
 * @param {number} min
 */
const readWorkers = (path, value, min) => integer(path, value, min, MAX_WORKERS);

/** @param {string} path @param {unknown} value */
const readLoss = (path, value) => number(path, value, 'from 0 to 1', (share) => share >= 0 && share <= 1);

/** @param {string} path @param {unknown} value */
function readStall(path, value) {
  const { every, length } = fields(path, value, ['every', 'length']);
  const stallEveryMs = positiveDuration(`${path}.every`, every);
  const stallMs = positiveDuration(`${path}.length`, length);
  if (stallMs >= stallEveryMs) {
    throw rangeError(`${path}.length`, `below ${path}.every (${stallEveryMs} ms)`, length);
  }
  return { stallEveryMs, stallMs };
}

module.exports = { NONE, STEADY, readDependency, readLoss, readStall, readWorkers };
