'use strict';

const { integer, oneOf, positiveDuration, typeError } = require('../../options.js');
const { fields } = require('../fields.js');

const FIELDS = /** @type {const} */ ([
  'initialLimit',
  'minLimit',
  'maxLimit',
  'queueLimit',
  'queueTimeout',
  'overflow',
  'operationKeys',
]);
/** Their order is that of the numbers that native code knows them by. */
const OVERFLOWS = /** @type {const} */ (['reject-new', 'drop-oldest', 'drop-lowest-priority']);

/** @param {string} path @param {unknown} value */
function readLimiter(path, value) {
  const read = fields(path, value, FIELDS);
  const {
    minLimit: min = 1,
    queueLimit = 0,
    queueTimeout,
    overflow = 'reject-new',
    operationKeys = false,
  } = read;
  const minLimit = integer(`${path}.minLimit`, min, 1);
  const { maxLimit: max = Math.max(1000, minLimit) } = read;
  const maxLimit = integer(`${path}.maxLimit`, max, minLimit);
  if (typeof operationKeys !== 'boolean')
    throw typeError(`${path}.operationKeys`, 'a boolean', operationKeys);
  const { initialLimit = Math.min(Math.max(20, minLimit), maxLimit) } = read;
  return {
    initialLimit: integer(`${path}.initialLimit`, initialLimit, minLimit, maxLimit),
    minLimit,
    maxLimit,
    queueLimit: integer(`${path}.queueLimit`, queueLimit, 0),
    queueTimeoutMs:
      queueTimeout === undefined ? Infinity : positiveDuration(`${path}.queueTimeout`, queueTimeout),
    overflow: OVERFLOWS.indexOf(oneOf(`${path}.overflow`, overflow, OVERFLOWS)),
    operationKeys,
  };
}

module.exports = { readLimiter };
