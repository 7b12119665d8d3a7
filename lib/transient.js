'use strict';

const { isExecutionRejected, isTimeoutRejected } = require('./errors.js');

/**
 * Whether the same call may well succeed a little later: any failure but a rejection by a pipeline, of which
 * only a timeout is transient, and a result with a `status` of 408, 429 or from 500 on.
 *
 * @param {{ outcome: import('./outcome.js').AnyOutcome }} args
 * @returns {boolean}
 */
function isTransient({ outcome }) {
  if (!outcome.ok) return !isExecutionRejected(outcome.error) || isTimeoutRejected(outcome.error);
  try {
    const status = /** @type {any} */ (outcome.result)?.status;
    return typeof status === 'number' && (status === 408 || status === 429 || status >= 500);
  } catch {
    // A result whose getter throws, such as a revoked proxy: nothing is known against it.
    return false;
  }
}

module.exports = { isTransient };
