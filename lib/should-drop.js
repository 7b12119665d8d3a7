'use strict';

const { isExecutionRejected } = require('./errors.js');

/** Deep enough for any real chain of causes, and an end for one that bites its tail. */
const MAX_CAUSES = 10;
/** An error's own word on whether it is a sign of overload. */
const OVERLOAD = Symbol('overload');
const TRANSIENT_CODE = /^(?:ECONN|UND_ERR_)|^(?:EPIPE|ETIMEDOUT|EAI_AGAIN)$/;

/**
 * Whether an outcome signals overload: a timeout, a rejection by a pipeline, or a transient error (a status
 * of 408 or 5xx, a broken connection), looked for through `cause`. Client errors and aborts do not.
 *
 * @param {{ outcome: import('./outcome.js').AnyOutcome }} args
 * @returns {boolean}
 */
function defaultShouldDrop({ outcome }) {
  if (outcome.ok) return false;
  /** @type {any} */
  let error = outcome.error;
  for (let depth = 0; depth < MAX_CAUSES && typeof error === 'object' && error !== null; depth++) {
    if (typeof error[OVERLOAD] === 'boolean') return error[OVERLOAD];
    if (isExecutionRejected(error) || error.name === 'TimeoutError') return true;
    if (error.name === 'AbortError') return false;
    const status = error.status ?? error.statusCode;
    if (typeof status === 'number') return status === 408 || (status >= 500 && status <= 599);
    if (typeof error.code === 'string' && TRANSIENT_CODE.test(error.code)) return true;
    error = error.cause;
  }
  return false;
}

module.exports = { OVERLOAD, defaultShouldDrop };
