'use strict';

// Hono 4 and 3 on @hono/node-server, which gives the request and response of Node.js as bindings.

const { typeError } = require('../options.js');
const { Admission } = require('./admission.js');
const { isUpgrade } = require('./upgrade.js');

const HONO = {
  where: 'honoResilience',
  addressOf: (/** @type {any} */ c) => c.env.incoming.socket.remoteAddress,
};
/** By which @hono/node-server knows a response that is none of its business. */
const ALREADY_SENT = { 'x-hono-already-sent': 'true' };

/** @param {unknown} options `InboundOptions`. */
function honoResilience(options) {
  const admission = new Admission(HONO, options);
  const middleware = (/** @type {any} */ c, /** @type {() => Promise<void>} */ next) =>
    new Promise((resolve, reject) => {
      const { incoming: req, outgoing: res } = c.env ?? {};
      // The adapters of WebSockets have no response for an upgrade.
      if (!req || (!res && !isUpgrade(req))) {
        const accepted = 'what @hono/node-server makes it: { incoming, outgoing }';
        throw typeError('c.env of honoResilience', accepted, c.env);
      }
      admission.admit({
        req,
        res,
        subject: c,
        handle: () => void Promise.resolve(next()).then(() => resolve(undefined), reject),
        fail: reject,
        headers: () => c.res.headers,
        answered: () => resolve(alreadySent(res)),
      });
    });
  return admission.expose(middleware);
}

/**
 * What @hono/node-server takes as a response that was answered on its behalf.
 *
 * @param {import('node:http').ServerResponse} res
 */
function alreadySent(res) {
  // With the status, which middlewares further out may log.
  const response = new Response(null, { status: res.statusCode, headers: ALREADY_SENT });
  // A response of its own kind that nobody has looked into, @hono/node-server sends without heeding the mark.
  void response.body;
  return response;
}

module.exports = { honoResilience };
