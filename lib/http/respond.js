'use strict';

// The answers that the admission gives itself, in place of the handler.

const { STATUS_CODES } = require('node:http');

const { isExecutionRejected } = require('../errors.js');

/** A shed client may come back after 1 to this many seconds: those shed together shall not return together. */
const MAX_RETRY_AFTER_S = 3;

/**
 * What a client is told, by error code and reason: nothing about the inside of the service.
 *
 * @type {Record<string, string>}
 */
const MESSAGES = {
  full: 'The service is at capacity and its queue is full.',
  'queue-timeout': 'The service is at capacity: the request reached the queue-timeout.',
  dropped: 'The service is at capacity: the request was dropped from the queue.',
  disposed: 'The service is shutting down: the request was disposed of.',
  PIPELINE_DISPOSED: 'The service is shutting down.',
  TIMEOUT: 'The request was not completed in time.',
};

/** What a handler may have said about the body that it did not get to send. */
const BODY_HEADERS = [
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Encoding',
  'Content-Language',
  'Content-Range',
  'ETag',
  'Last-Modified',
  'Trailer',
  'Transfer-Encoding',
];

/**
 * Answers a request whose execution was rejected or failed. A response that has begun can only be cut off.
 *
 * @param {import('node:http').ServerResponse} res
 * @param {unknown} error
 */
function respond(res, error) {
  if (res.destroyed || res.writableEnded) return;
  if (res.headersSent) {
    res.destroy();
    return;
  }
  try {
    write(res, error);
  } catch (failure) {
    // A middleware has patched the response with something that throws: the client must not wait for ever.
    res.destroy(/** @type {Error} */ (failure));
  }
}

/**
 * @param {import('node:http').ServerResponse} res
 * @param {unknown} error
 */
function write(res, error) {
  const { statusCode, code, reason } = describe(error);
  const message = MESSAGES[reason ?? code] ?? STATUS_CODES[statusCode] ?? 'Error';
  const body = JSON.stringify({ statusCode, error: code, message });
  for (const name of BODY_HEADERS) res.removeHeader(name);
  if (Object.hasOwn(res, 'statusMessage')) res.statusMessage = '';
  res.statusCode = statusCode;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', Buffer.byteLength(body));
  res.setHeader('Cache-Control', 'no-store');
  if (statusCode === 503) res.setHeader('Retry-After', 1 + Math.floor(Math.random() * MAX_RETRY_AFTER_S));
  res.end(body);
}

/**
 * @param {any} error
 * @returns {{ statusCode: number, code: string, reason?: string }}
 */
function describe(error) {
  if (isExecutionRejected(error)) return error;
  return { statusCode: 500, code: 'INTERNAL_SERVER_ERROR' };
}

module.exports = { respond };
