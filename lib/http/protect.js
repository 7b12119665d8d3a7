'use strict';

// A whole server of node:http, node:https or node:http2, in front of whatever listens to its requests.

const { Server: HttpServer } = require('node:http');
const { Server } = require('node:net');

const { typeError } = require('../options.js');
const { warn } = require('../telemetry.js');
const { Admission } = require('./admission.js');
const { respond } = require('./respond.js');
const { Gateway } = require('./server-gateway.js');
const { refuseStreamListeners } = require('./stream-listeners.js');

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
  refuseStreamListeners(server);
  admission.serves(server);
  Gateway.of(server).add((req, res, handle) => {
    admission.admit({
      req,
      res,
      subject: req,
      handle,
      // There is no framework to take it.
      fail: (error) => {
        warn(error);
        respond(req, res, error, admission);
      },
    });
  });
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
  Gateway.of(this).handOn(['request', req, res]);
}

module.exports = { protect };
