'use strict';

// Express 5 and 4, and everything else that takes `(req, res, next)`.

const { Admission } = require('./admission.js');

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

module.exports = { resilienceMiddleware };
