'use strict';

// The answers that the admission gives itself, in place of the handler.

const { ServerResponse } = require('node:http');

const { typeError } = require('../options.js');
const { warn } = require('../telemetry.js');
const { isNode, setImmediate } = require('../turn.js');
const { BODY_HEADERS, answerOf, isOfBody, toRaw } = require('./answer.js');
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
  deliver(req, res, () => toRaw(answerOf(error, manner, leastS)), () => error, isHandled);
}

/**
 * Answers a request, as `respond` does.
 *
 * @param {import('node:http').IncomingMessage} req
 * @param {import('node:http').ServerResponse} res
 * @param {() => import('./answer.js').RawAnswer} makeAnswer
 * @param {() => unknown} makeReason Tells whoever reads the body why it does not come.
 * @param {boolean} isHandled
 */
function deliver(req, res, makeAnswer, makeReason, isHandled) {
  try {
    if (res.destroyed || res.writableEnded) return;
    if (res.headersSent) cutOff(req, res);
    else write(req, res, makeAnswer(), makeReason, isHandled);
  } catch (failure) {
    giveUp(res, failure);
  }
}

/**
 * Gives a response what a middleware further out has said in its framework's own way, such as by whom the answer may
 * be read.
 *
 * @param {import('./admission.js').Exchange} exchange
 */
function adoptHeaders({ res, headers }) {
  if (headers === undefined) return;
  for (const [name, value] of headers()) {
    if (value !== undefined && !res.hasHeader?.(name)) res.setHeader?.(name, value);
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
 * @param {import('./answer.js').RawAnswer} answer
 * @param {() => unknown} makeReason
 * @param {boolean} isHandled
 */
function write(req, res, { statusCode, headers, body }, makeReason, isHandled) {
  if (typeof res.end !== 'function') throw typeError('the response of a request', 'one with a function end', res);
  leaveUnread(req, res, makeReason, isHandled);
  if (Object.hasOwn(res, 'statusMessage')) res.statusMessage = '';
  if (isBlank(res)) {
    res.writeHead(statusCode, headers);
  } else {
    removeBodyHeaders(res);
    res.statusCode = statusCode;
    for (let at = 0; at < headers.length; at += 2) /** @type {any} */ (res).setHeader?.(headers[at], headers[at + 1]);
  }
  res.end(body);
}

/**
 * Whether nobody has said anything about a response of Node's own, nor will: then all its headers are written at once
 * from a list, which takes a third of the time.
 *
 * @param {any} res
 */
function isBlank(res) {
  return isNode && res.writeHead === ServerResponse.prototype.writeHead && res.getHeaderNames().length === 0;
}

/** What a handler may have said about a body of its own. @param {any} res */
function removeBodyHeaders(res) {
  if (typeof res.removeHeader !== 'function') return;
  // Few are there, and to remove one that is not takes as long.
  const names = typeof res.getHeaderNames === 'function' ? res.getHeaderNames() : BODY_HEADERS;
  for (const name of names) if (isOfBody(name)) res.removeHeader(name);
}

/**
 * @param {any} res
 * @param {Record<string, string | number>} headers
 */
function setHeaders(res, headers) {
  for (const name of Object.keys(headers)) res.setHeader?.(name, headers[name]);
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

module.exports = { adoptHeaders, cutOff, deliver, respond, setHeaders };
