'use strict';

// What the errors of the usual clients say about the other side, wherever they put it. Errors are anybody's
// objects: nothing here throws, and a chain of causes that never ends is left after a while.

/** Errors looked at, the causes and the parts of an `AggregateError` included. */
const MAX_ERRORS = 32;
const MESSAGE_START = 1000;

/** Connections that broke or did not come about, by the codes of Node.js, undici and Bun, and the names of Deno. */
const BROKEN = new RegExp(
  `^(?:${[
    'ECONN\\w*',
    'EPIPE',
    'ETIMEDOUT',
    'EAI_AGAIN',
    'UND_ERR_(?:SOCKET|INFO|(?:CONNECT|HEADERS|BODY)_TIMEOUT|RES_CONTENT_LENGTH_MISMATCH)',
    'ConnectionRefused',
    'ConnectionReset',
    'ConnectionAborted',
    'ConnectionClosed',
    'BrokenPipe',
    'TimedOut',
  ].join('|')})$`,
);
/** Other trouble of the network, of HTTP/2 and of databases, which is no sign of load. */
const UNREACHABLE = new RegExp(
  `^(?:${[
    'ENOTFOUND',
    'E(?:NET|HOST)(?:DOWN|UNREACH)',
    'ENETRESET',
    'EADDRNOTAVAIL',
    'ESOCKETTIMEDOUT',
    'ETIMEOUT',
    'ESERVFAIL',
    'ERR_SOCKET_CONNECTION_TIMEOUT',
    'ERR_TLS_HANDSHAKE_TIMEOUT',
    'ERR_STREAM_PREMATURE_CLOSE',
    'ERR_HTTP2_(?:GOAWAY_SESSION|SESSION_ERROR|STREAM_ERROR)',
    'PROTOCOL_CONNECTION_LOST',
    'FailedToOpenSocket',
    'NetworkUnreachable',
    'NetworkError',
  ].join('|')})$`,
);
/** SQLSTATE: broken connections, want of resources, shutdowns, and transactions that lost against another one. */
const TRANSIENT_SQLSTATE = /^(?:08|53)[\dA-Z]{3}$|^57P0[1-3]$|^40(?:001|P01)$/;
/** Deno tells by the message only: https://docs.rs/reqwest, and the numbers of the systems for connections. */
const DENO_MESSAGE = new RegExp(
  '^error reading a body from connection|' +
    '^error sending request .*(?:tcp connect error|dns error|connection error|connection closed)|' +
    '\\(os error (?:32|5[47]|6[0145]|10[1-4]|11[0-3]|100(?:5[0-4]|6[0145]))\\)$',
);
/** The timeouts of node-fetch. */
const TIMEOUT_TYPE = /^(?:request|body)-timeout$/;
/** Codes of gRPC as HTTP has them: https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto */
const GRPC_STATUS = /** @type {Record<number, number>} */ ({ 4: 504, 8: 429, 13: 500, 14: 503 });

/**
 * A property of anything, undefined where there is none to read.
 *
 * @param {any} object
 * @param {PropertyKey} key
 * @returns {any}
 */
function read(object, key) {
  try {
    return object?.[key];
  } catch {
    return undefined;
  }
}

/** @param {unknown} status */
const isStatus = (status) => typeof status === 'number' && status >= 100;

/**
 * The HTTP status of a failure: of http-errors, superagent, Octokit and ky by `status` or `statusCode`, of axios, got
 * and gaxios by `response`, of the AWS SDK by `$metadata`, of Google's API clients by a numeric `code` beside `errors`;
 * that of gRPC by its code.
 *
 * @param {unknown} error
 * @returns {number | undefined}
 */
function statusOf(error) {
  const response = read(error, 'response');
  const status = [
    read(error, 'status'),
    read(error, 'statusCode'),
    read(response, 'status'),
    read(response, 'statusCode'),
    read(read(error, '$metadata'), 'httpStatusCode'),
  ].find(isStatus);
  if (status !== undefined) return status;
  const code = read(error, 'code');
  if (typeof code !== 'number') return undefined;
  if (code >= 100) return read(read(error, 'errors'), 'length') === undefined ? undefined : code;
  return typeof read(error, 'metadata') === 'object' ? GRPC_STATUS[code] : undefined;
}

/**
 * Whether an error says that a connection broke, or did not come about.
 *
 * @param {unknown} error
 */
function isBroken(error) {
  const message = read(error, 'message');
  return (
    matches(BROKEN, read(error, 'code')) ||
    matches(BROKEN, read(error, 'name')) ||
    matches(TIMEOUT_TYPE, read(error, 'type')) ||
    (typeof message === 'string' && DENO_MESSAGE.test(message.slice(0, MESSAGE_START)))
  );
}

/**
 * Whether an error speaks of the network, or of a database that is in trouble.
 *
 * @param {unknown} error
 */
function isUnreachable(error) {
  const code = read(error, 'code');
  return (
    matches(UNREACHABLE, code) ||
    matches(UNREACHABLE, read(error, 'name')) ||
    matches(TRANSIENT_SQLSTATE, code) ||
    matches(TRANSIENT_SQLSTATE, read(error, 'sqlState'))
  );
}

/**
 * @param {RegExp} pattern
 * @param {unknown} text
 */
const matches = (pattern, text) => typeof text === 'string' && pattern.test(text);

/**
 * Asks `judge` about an error, then about its cause, then about the parts of an `AggregateError`, of which one that
 * speaks for it is enough; undefined if none has an answer.
 *
 * @param {unknown} error
 * @param {(error: object) => boolean | undefined} judge
 * @returns {boolean | undefined}
 */
function judgeError(error, judge, /** @type {object[]} */ seen = []) {
  if (typeof error !== 'object' || error === null) return undefined;
  if (seen.length >= MAX_ERRORS || seen.includes(error)) return undefined;
  seen.push(error);
  const own = judge(error) ?? judgeError(read(error, 'cause'), judge, seen);
  if (own !== undefined) return own;
  const parts = read(error, 'errors');
  const length = read(parts, 'length');
  const count = typeof length === 'number' ? Math.min(length, MAX_ERRORS) : 0;
  /** @type {boolean | undefined} */
  let verdict;
  for (let index = 0; index < count && verdict !== true; index += 1) {
    verdict = judgeError(read(parts, index), judge, seen) ?? verdict;
  }
  return verdict;
}

module.exports = { isBroken, isStatus, isUnreachable, judgeError, read, statusOf };
