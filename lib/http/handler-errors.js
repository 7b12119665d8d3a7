'use strict';

// What comes to a framework's handler of errors that is ours to answer: the rejection of a pipeline that a handler has
// called, and what a handler fails by because its own request was aborted.

const { classOf } = require('../copies.js');
const { isExecutionRejected } = require('../errors.js');
const { readOptions, typeError } = require('../options.js');
const { outermostOf } = require('./observe.js');

/** How far behind `cause` is looked: a chain may lead back to where it began. */
const MAX_DEPTH = 16;
/** By what those tell of an abort who do not hand on its reason: Node.js and fetch, axios, a reader of a body. */
const ABORTS = new Set(['AbortError', 'CanceledError', 'ABORT_ERR', 'ERR_CANCELED', 'ERR_STREAM_PREMATURE_CLOSE']);

/**
 * @param {string} where
 * @param {unknown} [options]
 * @returns {import('./answer.js').Manner}
 */
function readManner(where, options = {}) {
  const { problemDetails = false } = readOptions(where, options, ['problemDetails']);
  if (typeof problemDetails !== 'boolean') throw typeError('problemDetails', 'a boolean', problemDetails);
  return { problemDetails };
}

/**
 * The errors behind one another's `cause`, outermost first.
 *
 * @param {any} error
 */
function* chainOf(error) {
  let each = error;
  for (let depth = 0; depth < MAX_DEPTH && each !== undefined && each !== null; depth += 1) {
    yield each;
    each = each.cause;
  }
}

/**
 * The rejection that an error is, or comes of. One that has a status of its own says itself how it is answered.
 *
 * @param {unknown} error
 * @returns {unknown}
 */
function rejectionIn(error) {
  try {
    for (const each of chainOf(error)) {
      if (isExecutionRejected(each)) return each;
      if (each.status !== undefined || each.statusCode !== undefined) return undefined;
    }
  } catch {
    // A getter that throws: anything can be thrown.
  }
  return undefined;
}

/**
 * Whether a handler has failed by the abort of its own request: its client has left, or was answered in its place.
 * Nobody waits for an answer, and no log needs to have it.
 *
 * @param {import('node:http').IncomingMessage} req
 * @param {unknown} error
 */
function isOwnAbort(req, error) {
  const request = outermostOf(req);
  const { current } = request ?? {};
  if (!request?.isOver || current === undefined) return false;
  if (!request.isLost && !classOf(current).isAborted(current)) return false;
  const reason = classOf(current).reasonOf(current);
  try {
    for (const each of chainOf(error)) if (each === reason || tellsOfAbort(each)) return true;
  } catch {
    // As above.
  }
  return false;
}

/** @param {any} error */
function tellsOfAbort({ name, code, message, type }) {
  if (ABORTS.has(name) || ABORTS.has(code)) return true;
  // A request of Node's that was cut off, and the body parsers of Express and Koa.
  return (code === 'ECONNRESET' && message === 'aborted') || type === 'request.aborted';
}

module.exports = { isOwnAbort, readManner, rejectionIn };
