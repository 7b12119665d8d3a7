'use strict';

// Express 5 and 4, and everything else that takes `(req, res, next)`.

const { Admission } = require('./admission.js');
const { isOwnAbort, readManner, rejectionIn } = require('./handler-errors.js');
const { respond } = require('./respond.js');

const EXPRESS = {
  where: 'resilienceMiddleware',
  // Express respects `trust proxy`; Connect and plain Node.js have no `ip`.
  addressOf: (/** @type {any} */ req) => req.ip ?? req.socket.remoteAddress,
};

/** @param {unknown} options `InboundOptions`. */
function resilienceMiddleware(options) {
  const admission = new Admission(EXPRESS, options);
  const middleware = (
    /** @type {import('node:http').IncomingMessage} */ req,
    /** @type {import('node:http').ServerResponse} */ res,
    /** @type {(error?: unknown) => void} */ next,
  ) => {
    admission.admit({ req, res, subject: req, handle: () => void next(), fail: next });
  };
  return admission.expose(middleware);
}

/**
 * A handler of errors, to be added last: answers the rejection of a pipeline as a refusal of an adapter, and leaves
 * what comes of the request's own abort out of the log. It hands on everything else.
 *
 * @param {unknown} [options] `ErrorsOptions`.
 */
function expressErrors(options) {
  const manner = readManner('expressErrors', options);
  return (
    /** @type {unknown} */ error,
    /** @type {import('node:http').IncomingMessage} */ req,
    /** @type {import('node:http').ServerResponse} */ res,
    /** @type {(error?: unknown) => void} */ next,
  ) => {
    if (isOwnAbort(req, error)) return;
    const rejection = rejectionIn(error);
    // Of a response that has begun, Express closes the connection.
    if (rejection === undefined || res.headersSent) next(error);
    else respond(req, res, rejection, manner, 0, true);
  };
}

module.exports = { expressErrors, resilienceMiddleware };
