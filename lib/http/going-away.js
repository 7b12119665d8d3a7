'use strict';

// A server that goes away: each connection ends with the last response on it. Otherwise clients that keep theirs
// would go on to ask, and the server would not come to its end.

const { skillsOf } = require('../copies.js');
const { setImmediate } = require('../turn.js');
const { streamOf } = require('./connection.js');

/** @typedef {import('./inbound-request.js').InboundRequest} InboundRequest */

/** Those under way in one admission, and the sessions of HTTP/2 that they have come on. */
class UnderWay {
  /** @type {Set<InboundRequest>} */
  requests = new Set();
  /** @type {Set<import('node:http2').Http2Session>} */
  #sessions = new Set();

  /** @param {InboundRequest} request */
  add(request) {
    this.requests.add(request);
    const { session } = /** @type {any} */ (request.connection);
    if (streamOf(request.req) === undefined || !session || this.#sessions.has(session)) return;
    this.#sessions.add(session);
    session.once('close', () => this.#sessions.delete(session));
  }

  /** The pipeline was disposed of. */
  goAway() {
    for (const { req, res } of this.requests) endConnection(req, res);
    for (const session of this.#sessions) setImmediate(() => session.close());
  }
}

/**
 * Lets a connection end with a response, if the pipeline was disposed of.
 *
 * @param {import('../pipeline.js').ResiliencePipeline} pipeline
 * @param {any} req
 * @param {any} res
 */
function endIfDisposed(pipeline, req, res) {
  if (skillsOf(pipeline, 'ResiliencePipeline').isDisposed(pipeline)) endConnection(req, res);
}

/**
 * @param {any} req
 * @param {any} res
 */
function endConnection(req, res) {
  const stream = streamOf(req);
  if (stream !== undefined) {
    // What is under way on it comes to its end.
    setImmediate(() => stream.session?.close());
    return;
  }
  const { socket } = req;
  if (!socket || typeof res.once !== 'function') return;
  if (!res.headersSent) res.setHeader?.('Connection', 'close');
  // The handler may have said otherwise, or have sent its headers. Another response may be next.
  res.once('finish', () => {
    if (!socket.destroyed && !socket.writableEnded && !socket._httpMessage) socket.destroySoon?.();
  });
}

module.exports = { UnderWay, endIfDisposed };
