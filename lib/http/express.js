'use strict';

// Express 5 and 4, and everything else that takes `(req, res, next)`.

const { Admission } = require('./admission.js');

/**
 * @param {unknown} options
 */
function resilienceMiddleware(options) {
  const admission = new Admission('resilienceMiddleware', options);
  const middleware = (
    /** @type {import('node:http').IncomingMessage} */ req,
    /** @type {import('node:http').ServerResponse} */ res,
    /** @type {(error?: unknown) => void} */ next,
  ) => {
    admission.admit(req, res, req, next, next);
  };
  return Object.defineProperties(middleware, {
    pipeline: { value: admission.pipeline, enumerable: true },
    swallowed: { get: () => admission.swallowed, enumerable: true },
    dispose: { value: () => admission.dispose() },
  });
}

module.exports = { resilienceMiddleware };
