'use strict';

const { isExecutionRejected } = require('./errors.js');
const { isBroken, judgeError, read, statusOf } = require('./failure-signs.js');

/** An error's own word on whether it is a sign of overload, to each copy of the package. */
const OVERLOAD = Symbol.for('@ylcnfrht/resilience.overload');

/**
 * @param {object} error
 * @returns {boolean | undefined} Undefined if it says nothing.
 */
function judge(error) {
  const own = read(error, OVERLOAD);
  if (typeof own === 'boolean') return own;
  const name = read(error, 'name');
  if (isExecutionRejected(error) || name === 'TimeoutError') return true;
  if (name === 'AbortError') return false;
  const status = statusOf(error);
  if (status !== undefined && status >= 400) return status === 408 || (status >= 500 && status <= 599);
  return isBroken(error) || undefined;
}

/**
 * Whether an outcome signals overload: a timeout, a rejection by a pipeline, or a transient error (a status
 * of 408 or 5xx, a broken connection), of the error or of its causes. Client errors and aborts do not.
 *
 * @param {{ outcome: import('./outcome.js').AnyOutcome }} args
 * @returns {boolean}
 */
function defaultShouldDrop({ outcome }) {
  return !outcome.ok && judgeError(outcome.error, judge) === true;
}

module.exports = { OVERLOAD, defaultShouldDrop };
