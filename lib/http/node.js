'use strict';

// Plain node:http, and node:http2 by its compatibility API.

const { typeError } = require('../options.js');
const { warn } = require('../telemetry.js');
const { Admission } = require('./admission.js');
const { respond } = require('./respond.js');

const NODE = {
  where: 'withResilience',
  addressOf: (/** @type {any} */ req) => req.socket.remoteAddress,
};

/** @typedef {(req: any, res: any) => unknown} Listener */

/**
 * @param {unknown} given
 * @param {unknown} options `InboundOptions`.
 */
function withResilience(given, options) {
  if (typeof given !== 'function') throw typeError('the listener of withResilience', 'a function', given);
  const listener = /** @type {Listener} */ (given);
  const admission = new Admission(NODE, options);
  return admission.expose((/** @type {any} */ req, /** @type {any} */ res) =>
    admission.admit({
      req,
      res,
      subject: req,
      handle: () => listener(req, res),
      // There is no framework to take it.
      fail: (error) => {
        warn(error);
        respond(req, res, error, admission);
      },
    }),
  );
}

module.exports = { withResilience };
