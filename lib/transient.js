'use strict';

const { isExecutionRejected, isTimeoutRejected } = require('./errors.js');
const { isBroken, isStatus, isUnreachable, judgeError, read, statusOf } = require('./failure-signs.js');

/** Of 4xx, what another try may cure: Request Timeout, Too Early, Too Many Requests. */
const TRANSIENT_4XX = new Set([408, 425, 429]);

/** @param {number} status */
const isTransientStatus = (status) => status >= 500 || TRANSIENT_4XX.has(status);

/**
 * What an error itself says; undefined if it says nothing, as an unknown one, or one of a response that was fine
 * but broke off.
 *
 * @param {object} error
 * @returns {boolean | undefined}
 */
function judge(error) {
  if (isExecutionRejected(error)) return isTimeoutRejected(error);
  const name = read(error, 'name');
  if (name === 'TimeoutError') return true;
  if (name === 'AbortError') return false;
  const status = statusOf(error);
  if (status !== undefined && status >= 400) return isTransientStatus(status);
  return isBroken(error) || isUnreachable(error) || undefined;
}

/**
 * Whether the same call may well succeed a little later: a failure that speaks of the network or of the other
 * side's trouble, by itself or by its causes, and a result whose `status` or `statusCode` does. What is unknown
 * does not.
 *
 * @param {{ outcome: import('./outcome.js').AnyOutcome }} args
 * @returns {boolean}
 */
function isTransient({ outcome }) {
  if (!outcome.ok) return judgeError(outcome.error, judge) === true;
  const { result } = outcome;
  if (Object(result) !== result) return false;
  const own = read(result, 'status');
  const status = isStatus(own) ? own : read(result, 'statusCode');
  return isStatus(status) && isTransientStatus(status);
}

module.exports = { isTransient };
