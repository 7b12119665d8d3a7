'use strict';

// The answers that the admission gives itself, in place of the handler.

const { typeError } = require('../options.js');
const { warn } = require('../telemetry.js');
const { setImmediate } = require('../turn.js');
const { BODY_HEADERS, answerOf } = require('./answer.js');
const { streamOf } = require('./connection.js');
const { leaveUnread } = require('./unread-body.js');

/** RFC 9113, section 7. */
const HTTP2_INTERNAL_ERROR = 2;

/** @typedef {import('./answer.js').Manner} Manner */

/**
 * Answers a request whose execution was rejected or failed. A response that has begun can only be cut off. It never
 * throws: nobody would catch it.
 *
 * @param {import('node:http').IncomingMessage} req
 * @param {import('node:http').ServerResponse} res
 * @param {unknown} error
 * @param {Manner} manner
 * @param {number} [leastS] Before so many seconds have passed, the client would be refused in any case.
 * @param {boolean} [isHandled] Whether there is a handler, which may read on.
 */
function respond(req, res, error, manner, leastS = 0, isHandled = false) {
  try {
    if (res.destroyed || res.writableEnded) return;
    if (res.headersSent) cutOff(req, res);
    else write(req, res, error, manner, leastS, isHandled);
  } catch (failure) {
    giveUp(res, failure);
  }
}

/**
 * A middleware has patched the response with something that throws, or it was made up and has no end.
 *
 * @param {any} res
 * @param {unknown} failure
 */
function giveUp(res, failure) {
  try {
    // The client must not wait for ever.
    if (typeof res?.destroy === 'function') res.destroy(failure);
    else warn(failure);
  } catch (another) {
    warn(another);
  }
}

/**
 * @param {import('node:http').IncomingMessage} req
 * @param {import('node:http').ServerResponse} res
 * @param {unknown} error
 * @param {Manner} manner
 * @param {number} leastS
 * @param {boolean} isHandled
 */
function write(req, res, error, manner, leastS, isHandled) {
  if (typeof res.end !== 'function') throw typeError('the response of a request', 'one with a function end', res);
  const { statusCode, headers, body } = answerOf(error, manner, leastS);
  for (const name of BODY_HEADERS) res.removeHeader?.(name);
  if (Object.hasOwn(res, 'statusMessage')) res.statusMessage = '';
  res.statusCode = statusCode;
  for (const [name, value] of Object.entries(headers)) res.setHeader?.(name, value);
  res.setHeader?.('Content-Length', Buffer.byteLength(body));
  leaveUnread(req, res, error, isHandled);
  res.end(body);
}

/**
 * Ends a response that has begun, so that its client does not take what it has for the whole.
 *
 * @param {any} req
 * @param {any} res
 */
function cutOff(req, res) {
  const stream = streamOf(req);
  if (stream === undefined) res.destroy?.();
  // One of HTTP/2 that is destroyed seems to have ended well. Node's own callbacks must be over.
  else setImmediate(() => stream.close(HTTP2_INTERNAL_ERROR));
}

module.exports = { cutOff, respond };
