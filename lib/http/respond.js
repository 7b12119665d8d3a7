'use strict';

// The answers that the admission gives itself, in place of the handler.

const { STATUS_CODES } = require('node:http');

const { isExecutionRejected } = require('../errors.js');

/** Seconds after which a shed client may come back. */
const RETRY_AFTER_S = 1;

/** What a client is told, by error code and reason: nothing about the inside of the service. @type {Record<string, string>} */
const MESSAGES = {
  full: 'The service is at capacity and its queue is full.',
  'queue-timeout': 'The service is at capacity: the request reached the queue-timeout.',
  dropped: 'The service is at capacity: the request was dropped from the queue.',
  disposed: 'The service is shutting down: the request was disposed of.',
  PIPELINE_DISPOSED: 'The service is shutting down.',
  TIMEOUT: 'The request was not completed in time.',
};

/**
 * Answers a request whose execution was rejected or failed. A response that has begun is left alone.
 *
 * @param {import('node:http').ServerResponse} res
 * @param {unknown} error
 */
function respond(res, error) {
  if (res.headersSent || res.destroyed || res.writableEnded) return;
  const { statusCode, code, reason } = describe(error);
  const message = MESSAGES[reason ?? code] ?? STATUS_CODES[statusCode] ?? 'Error';
  const body = JSON.stringify({ statusCode, error: code, message });
  res.statusCode = statusCode;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', Buffer.byteLength(body));
  res.setHeader('Cache-Control', 'no-store');
  if (statusCode === 503) res.setHeader('Retry-After', String(RETRY_AFTER_S));
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
