'use strict';

// The answers that the admission gives itself, in place of the handler.

const { STATUS_CODES } = require('node:http');

const { isExecutionRejected } = require('../errors.js');
const { typeError } = require('../options.js');
const { warn } = require('../telemetry.js');
const { setImmediate } = require('../turn.js');
const { streamOf } = require('./connection.js');
const { spread } = require('./drain-time.js');
const { leaveUnread } = require('./unread-body.js');

/**
 * What a client is told, by error code and reason: nothing about the inside of the service.
 *
 * @type {Record<string, string>}
 */
const MESSAGES = {
  'BULKHEAD_FULL full': 'The service is at capacity and its queue is full.',
  'BULKHEAD_FULL queue-timeout': 'The service is at capacity: the request reached the queue-timeout.',
  'BULKHEAD_FULL dropped': 'The service is at capacity: the request was dropped from the queue.',
  'BULKHEAD_FULL disposed': 'The service is shutting down: the request was disposed of.',
  'RATE_LIMITED full': 'The client has used up its quota.',
  'RATE_LIMITED disposed': 'The service is shutting down: the request was disposed of.',
  CIRCUIT_OPEN: 'The service is unavailable for a while.',
  CIRCUIT_ISOLATED: 'The service is unavailable.',
  PIPELINE_DISPOSED: 'The service is shutting down.',
  TIMEOUT: 'The request was not completed in time.',
};

/** The problem types that the drafts of "RateLimit header fields for HTTP" register. */
const PROBLEM_TYPES = 'https://iana.org/assignments/http-problem-types#';

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

/** RFC 9113, section 7. */
const HTTP2_INTERNAL_ERROR = 2;

/** @typedef {import('./admission.js').Admission} Admission */

/**
 * Answers a request whose execution was rejected or failed. A response that has begun can only be cut off. It never
 * throws: nobody would catch it.
 *
 * @param {import('node:http').IncomingMessage} req
 * @param {import('node:http').ServerResponse} res
 * @param {unknown} error
 * @param {Admission} admission
 * @param {number} [leastS] Before so many seconds have passed, the client would be refused in any case.
 * @param {boolean} [isHandled] Whether there is a handler, which may read on.
 */
function respond(req, res, error, admission, leastS = 0, isHandled = false) {
  try {
    if (res.destroyed || res.writableEnded) return;
    if (res.headersSent) cutOff(req, res);
    else write(req, res, error, admission, leastS, isHandled);
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
 * @param {Admission} admission
 * @param {number} leastS
 * @param {boolean} isHandled
 */
function write(req, res, error, admission, leastS, isHandled) {
  if (typeof res.end !== 'function') throw typeError('the response of a request', 'one with a function end', res);
  const refusal = describe(error);
  const { statusCode, code, reason } = refusal;
  const message =
    MESSAGES[reason === undefined ? code : `${code} ${reason}`] ?? STATUS_CODES[statusCode] ?? 'Error';
  const body = JSON.stringify(
    admission.problemDetails ? problem(refusal, message, admission) : { statusCode, error: code, message },
  );
  const type = admission.problemDetails ? 'application/problem+json' : 'application/json; charset=utf-8';
  for (const name of BODY_HEADERS) res.removeHeader?.(name);
  if (Object.hasOwn(res, 'statusMessage')) res.statusMessage = '';
  res.statusCode = statusCode;
  res.setHeader?.('Content-Type', type);
  res.setHeader?.('Content-Length', Buffer.byteLength(body));
  res.setHeader?.('Cache-Control', 'no-store');
  const retryAfter = retryAfterOf(refusal, admission);
  if (retryAfter !== undefined) res.setHeader?.('Retry-After', Math.max(retryAfter, leastS));
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

/**
 * @param {any} error
 * @returns {{ statusCode: number, code: string, reason?: string, retryAfter?: number, queued?: number,
 *   active?: number }}
 */
function describe(error) {
  if (isExecutionRejected(error)) return error;
  return { statusCode: 500, code: 'INTERNAL_SERVER_ERROR' };
}

/**
 * In how many seconds another try makes sense. A quota belongs to one client, which is told its exact time;
 * the others come back together unless they are spread.
 *
 * @param {ReturnType<typeof describe>} refusal
 * @param {Admission} admission
 */
function retryAfterOf({ statusCode, code, reason, retryAfter, queued, active }, { drainTime }) {
  if (statusCode === 429) return Math.max(Math.ceil((retryAfter ?? 0) / 1000), 1);
  if (statusCode !== 503) return undefined;
  if (code === 'BULKHEAD_FULL' && reason !== 'disposed') {
    return spread(drainTime.seconds(queued ?? 0, active ?? 0));
  }
  return spread((retryAfter ?? 0) / 1000);
}

/**
 * The answer as RFC 9457 has it.
 *
 * @param {ReturnType<typeof describe>} refusal
 * @param {string} detail
 * @param {Admission} admission
 */
function problem({ statusCode: status, code }, detail, { pipeline }) {
  if (status === 429) {
    const title = 'Request cannot be satisfied as assigned quota has been exceeded';
    const type = `${PROBLEM_TYPES}quota-exceeded`;
    return { type, title, status, detail, code, 'violated-policies': [pipeline.name] };
  }
  if (status === 503) {
    const title = 'Request cannot be satisfied due to temporary server capacity constraints';
    return { type: `${PROBLEM_TYPES}temporary-reduced-capacity`, title, status, detail, code };
  }
  return { type: 'about:blank', title: STATUS_CODES[status], status, detail, code };
}

module.exports = { cutOff, respond };
