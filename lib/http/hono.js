'use strict';

// Hono 4 and 3 on @hono/node-server, which gives the request and response of Node.js as bindings.

const { callback, readOptions, typeError } = require('../options.js');
const { Admission } = require('./admission.js');
const { answerOf } = require('./answer.js');
const { isOwnAbort, readManner, rejectionIn } = require('./handler-errors.js');
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
        handle: () => Promise.resolve(next()).then(() => resolve(undefined), reject),
        fail: reject,
        headers: () => c.res.headers,
        answered: () => resolve(alreadySent(res)),
        aborted: (reason) => excuse(reason, res),
      });
    });
  return admission.expose(middleware);
}

/**
 * Makes the reason of an abort, which handlers fail by, an error that Hono sends the response of, and does not print.
 *
 * @param {any} reason
 * @param {import('node:http').ServerResponse} res
 */
function excuse(reason, res) {
  if (!(reason instanceof Error) || 'getResponse' in reason) return;
  const getResponse = { value: () => alreadySent(res), configurable: true };
  Reflect.defineProperty(reason, 'getResponse', getResponse);
}

/**
 * What `app.onError` takes: answers the rejection of a pipeline as a refusal of an adapter, and leaves what comes of
 * the request's own abort out of the log. Everything else is for `onError`; without that, it is done as Hono does.
 *
 * @param {unknown} [options] `HonoErrorsOptions`.
 */
function honoErrors(options = {}) {
  const { onError: given, ...rest } = readOptions('honoErrors', options, ['problemDetails', 'onError']);
  const manner = readManner('honoErrors', rest);
  const onError = callback('onError', given) ?? printed;
  return (/** @type {any} */ error, /** @type {any} */ c) => {
    const { incoming, outgoing } = c.env ?? {};
    if (incoming && isOwnAbort(incoming, error)) return alreadySent(outgoing);
    const rejection = rejectionIn(error);
    if (rejection === undefined) return onError(error, c);
    const { statusCode, headers, body } = answerOf(rejection, manner);
    return c.body(body, statusCode, headers);
  };
}

/** As Hono's own handler of errors. @param {any} error @param {any} c */
function printed(error, c) {
  if (typeof error.getResponse === 'function') {
    const response = error.getResponse();
    return c.newResponse(response.body, response);
  }
  console.error(error);
  return c.text('Internal Server Error', 500);
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

module.exports = { honoErrors, honoResilience };
