'use strict';

// When the first byte of a response leaves. Of HTTP/1 `writeHead()` only composes the headers: they leave with
// `flushHeaders()`, the first `write()` or `end()`, maybe long after.

const { queueMicrotask } = require('../turn.js');

/** What lets the first byte leave. */
const FIRST = ['write', 'end', 'flushHeaders'];
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
  return Object.hasOwn(res, 'write') && !(FIRST_BYTE in res.write) && ENCODING.test(headers) ? undefined : headers;
}

/** Of the functions that are put in front of those of a response. */
const FIRST_BYTE = Symbol('@ylcnfrht/resilience.firstByte');

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
    // It may be called by what lets them leave.
    queueMicrotask(() => {
      if (unsentHeaders(res) === undefined) left();
      else if (!FIRST.some((name) => FIRST_BYTE in res[name])) observeActs(res, left);
    });
    return result;
  };
}

/**
 * @param {any} res
 * @param {() => void} left
 */
function observeActs(res, left) {
  let hasLeft = false;
  for (const name of FIRST) {
    const act = res[name];
    res[name] = Object.assign(
      (/** @type {any[]} */ ...args) => {
        if (!hasLeft) left();
        hasLeft = true;
        return Reflect.apply(act, res, args);
      },
      { [FIRST_BYTE]: true },
    );
  }
}

module.exports = { hasLeft, observeFirstByte };
