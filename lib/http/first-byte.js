'use strict';

// When the first byte of a response leaves. Of HTTP/1 `writeHead()` only composes the headers: they leave with
// `flushHeaders()`, the first `write()` or `end()`, maybe long after.

const EVENT_STREAM = /^content-type: *text\/event-stream/im;
const ENCODING = /^content-encoding: /im;

let hasWarned = false;

/**
 * The headers that are composed and have not left. Those that a compressing middleware holds back, with what was
 * written, count as sent.
 *
 * @param {any} res
 * @returns {string | undefined}
 */
function unsentHeaders(res) {
  const headers = res._header;
  if (res._headerSent !== false || typeof headers !== 'string') return undefined;
  // Nothing tells whether it was `write` that has composed them.
  return Object.hasOwn(res, 'write') && ENCODING.test(headers) ? undefined : headers;
}

/**
 * Whether a deadline comes too late for a response. Headers of a stream of events leave now; any others have to be
 * cut off, because they can no longer be replaced.
 *
 * @param {any} req
 * @param {any} res
 */
function hasLeft(req, res) {
  if (!res.headersSent) return false;
  const headers = unsentHeaders(res);
  if (headers === undefined) return true;
  if (EVENT_STREAM.test(headers)) {
    res.flushHeaders();
    return true;
  }
  if (hasWarned) return false;
  hasWarned = true;
  const [path] = String(req.originalUrl ?? req.url).split('?');
  process.emitWarning(
    `${req.method} ${path} had called writeHead() and sent nothing by its deadline, so its connection was cut off. ` +
      'Call flushHeaders() to begin a response, or writeHead() with its first byte',
    { code: 'RESILIENCE_UNSENT_HEADERS' },
  );
  return false;
}

/**
 * Calls `left` when the first byte leaves, if that is before the end.
 *
 * @param {any} res
 * @param {() => void} left
 */
function observeFirstByte(res, left) {
  const { writeHead } = res;
  if (typeof writeHead !== 'function') return;
  res.writeHead = (/** @type {any[]} */ ...args) => {
    const result = Reflect.apply(writeHead, res, args);
    if (res._headerSent === false && typeof res._send === 'function') observeSend(res, left);
    else left();
    return result;
  };
}

/**
 * Whatever lets the first byte of HTTP/1 leave does so by this.
 *
 * @param {any} res
 * @param {() => void} left
 */
function observeSend(res, left) {
  const { _send: send } = res;
  const isOwn = Object.hasOwn(res, '_send');
  res._send = (/** @type {any[]} */ ...args) => {
    if (isOwn) res._send = send;
    else delete res._send;
    left();
    return Reflect.apply(send, res, args);
  };
}

/**
 * Calls `left` when the first byte has left, which it may have already.
 *
 * @param {any} res
 * @param {() => void} left
 */
function afterFirstByte(res, left) {
  if (!res.headersSent) observeFirstByte(res, left);
  else if (unsentHeaders(res) !== undefined && typeof res._send === 'function') observeSend(res, left);
  else left();
}

module.exports = { afterFirstByte, hasLeft, observeFirstByte };
