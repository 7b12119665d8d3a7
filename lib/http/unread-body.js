'use strict';

// The rest of a request's body when the answer goes out before it has been read: a refused upload.
//
// Reading it all would cost what the refusal has just saved. Closing the connection while the client still
// sends makes the system answer with a reset, on which a client may lose an answer that it has not read yet.
// So a small rest is read, and otherwise the connection is closed in two steps: our side at once, the whole as
// soon as the client has closed its own side, at the latest after a while. Whoever reads the body hears that no more
// of it comes.

/** How much more is read of a body: that costs less than another connection. */
const SMALL_BYTES = 64 * 1024;
/** How long a client has to take the answer before its connection is destroyed. */
const LINGER_MS = 1000;

const { IncomingMessage } = require('node:http');

const { clearTimeout, setImmediate, setTimeout } = require('../turn.js');
const { closeBody } = require('./close-body.js');
const { emits, streamOf } = require('./connection.js');

/** @typedef {import('node:http').ServerResponse} ServerResponse */

/**
 * To be called before a response is ended that is not the handler's.
 *
 * @param {IncomingMessage} req
 * @param {ServerResponse} res
 * @param {() => unknown} makeReason Tells why it is not.
 * @param {boolean} isHandled Whether there is a handler, which may read on.
 */
function leaveUnread(req, res, makeReason, isHandled) {
  const stream = streamOf(req);
  if (stream !== undefined) {
    if (!req.complete) closeStream(stream, req, makeReason);
    return;
  }
  // A pipeline of streams that has failed takes that of the request away.
  const socket = req.socket ?? res.socket;
  // A request that was made up has no connection that could be blocked.
  if (!socket || !emits(socket) || !(req instanceof IncomingMessage)) return;
  if (hasRest(req)) {
    if (!isReadToEnd(req, res)) res.setHeader('Connection', 'close');
    closeGently(socket, req, res, makeReason, isHandled);
  } else if (isHandled && req.complete) {
    // It is here as a whole: the handler may still read what Node.js would throw away.
    /** @type {any} */ (req)._dumped = true;
  }
}

/**
 * Not inside of Node's own callbacks, in which a stream must not be closed.
 *
 * @param {any} stream
 * @param {IncomingMessage} req
 * @param {() => unknown} makeReason
 */
function closeStream(stream, req, makeReason) {
  stream.once('finish', () => {
    setImmediate(() => {
      stream.close();
      closeBody(req, makeReason());
    });
  });
}

/**
 * Whether some of the body has yet to come, or to be read: a request that holds more than its buffer should
 * stops its connection.
 *
 * @param {IncomingMessage} req
 */
function hasRest(req) {
  if (req.complete && req.readableLength < req.readableHighWaterMark) return false;
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers ?? {};
  return encoding !== undefined || Number(length ?? 0) > 0;
}

/**
 * Whether Node.js reads the rest, after which the connection goes on. It leaves that to a handler which has
 * begun to.
 *
 * @param {IncomingMessage} req
 * @param {ServerResponse} res
 */
function isReadToEnd(req, res) {
  const { expect, 'content-length': length, 'transfer-encoding': encoding } = req.headers;
  if (encoding !== undefined || Number(length) > SMALL_BYTES) return false;
  // Whether the client was told to go on has no public name; without that, it counts as not told.
  if (expect !== undefined && /** @type {any} */ (res)._sent100 !== true) return false;
  return req.readableFlowing === null && !req.readableDidRead;
}

/**
 * If Node.js closes the connection after this response, whyever, it does so by `destroySoon`. Otherwise it reads
 * the rest, which is nobody's any more.
 *
 * @param {import('node:net').Socket} socket
 * @param {IncomingMessage} req
 * @param {ServerResponse} res
 * @param {() => unknown} makeReason
 * @param {boolean} isHandled
 */
function closeGently(socket, req, res, makeReason, isHandled) {
  let lingers = false;
  socket.destroySoon = () => {
    if (!lingers) linger(socket);
    lingers = true;
    closeBody(req, makeReason());
  };
  res.once('finish', () => {
    if (lingers) return;
    delete (/** @type {any} */ (socket).destroySoon);
    if (!isHandled) return;
    /** @type {any} */ (req)._dump();
    closeBody(req, makeReason());
    readOn(socket);
  });
}

/** A body that was held back has stopped its connection. @param {any} socket */
const readOn = (socket) => socket._handle?.readStart?.();

/** @param {import('node:net').Socket} socket */
function linger(socket) {
  // The parser's: no more requests are taken from here, and that the body is not complete is no error.
  socket.removeAllListeners('data').removeAllListeners('end');
  let left = SMALL_BYTES;
  socket.on('data', ({ length }) => {
    left -= length;
    if (left < 0) socket.pause();
  });
  socket.once('end', () => socket.destroy());
  readOn(socket);
  socket.end();
  // A paused connection keeps no process alive, which would end before its server has told that it is closed.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}

module.exports = { leaveUnread };
