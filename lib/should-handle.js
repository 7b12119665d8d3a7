'use strict';

/**
 * Asks a user's `shouldHandle`, which may be asynchronous. One that throws leaves the outcome as it is.
 *
 * @param {import('./telemetry.js').Telemetry} telemetry
 * @param {string} strategyName
 * @param {(args: any) => any} shouldHandle
 * @param {{ outcome: import('./outcome.js').AnyOutcome, context: import('./context.js').ResilienceContext,
 *   attemptNumber?: number }} args
 * @returns {boolean | Promise<boolean>}
 */
function isHandled(telemetry, strategyName, shouldHandle, args) {
  const fail = (/** @type {unknown} */ error) => {
    telemetry.reportError(strategyName, 'shouldHandle', error, args.context);
    return false;
  };
  try {
    const verdict = shouldHandle(args);
    if (typeof verdict?.then !== 'function') return Boolean(verdict);
    // Not `Promise.resolve`: it hands a promise back whose own `then` is anybody's.
    return new Promise((resolve) => resolve(verdict)).then(Boolean).catch(fail);
  } catch (error) {
    return fail(error);
  }
}

module.exports = { isHandled };
