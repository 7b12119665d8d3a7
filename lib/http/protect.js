'use strict';

// A whole server of node:http, node:https or node:http2, in front of whatever listens to its requests.

const { Server: HttpServer } = require('node:http');
const { Server } = require('node:net');

const { typeError } = require('../options.js');
const { warn } = require('../telemetry.js');
const { Admission } = require('./admission.js');
const { respond } = require('./respond.js');

const SERVER = {
  where: 'protect',
  addressOf: (/** @type {any} */ req) => req.socket.remoteAddress,
};

/**
 * @param {unknown} given
 * @param {unknown} options `InboundOptions`.
 */
function protect(given, options) {
  if (!isHttpServer(given)) throw typeError('the server of protect', 'an HTTP server', given);
  const server = given;
  const admission = new Admission(SERVER, options);
  /** Of those that expect 100 Continue: they come a second time, when they are handed on. */
  const admitted = new WeakSet();
  const { emit } = server;
  server.emit = (/** @type {any[]} */ ...args) => {
    const [event, req, res] = args;
    const asks = event === 'checkContinue';
    if ((!asks && event !== 'request') || admitted.has(req)) return Reflect.apply(emit, server, args);
    if (asks) admitted.add(req);
    admission.admit({
      req,
      res,
      subject: req,
      handle: () => void Reflect.apply(emit, server, args),
      // There is no framework to take it.
      fail: (error) => {
        warn(error);
        respond(req, res, error, admission);
      },
    });
    return true;
  };
  // Without a listener to this event, Node.js says 100 Continue before anyone is asked.
  if (!server.listeners('checkContinue').includes(goOn)) server.on('checkContinue', goOn);
  return admission.expose({});
}

/**
 * Servers of HTTP have a time limit for their connections; those of node:net and node:tls have none. On Bun those
 * of node:http are none of node:net.
 *
 * @param {any} given
 * @returns {given is Server}
 */
function isHttpServer(given) {
  if (given instanceof HttpServer) return true;
  return given instanceof Server && typeof (/** @type {any} */ (given).setTimeout) === 'function';
}

/**
 * What Node.js does if nobody listens to `checkContinue`. Another listener decides for itself.
 *
 * @this {Server}
 * @param {import('node:http').IncomingMessage} req
 * @param {import('node:http').ServerResponse} res
 */
function goOn(req, res) {
  if (this.listenerCount('checkContinue') > 1) return;
  res.writeContinue();
  this.emit('request', req, res);
}

module.exports = { protect };
