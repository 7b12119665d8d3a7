'use strict';

// What the client of a request is told that was rejected: status, headers and body.

const { STATUS_CODES } = require('node:http');

const { isExecutionRejected } = require('../errors.js');
const { spread } = require('./drain-time.js');

/**
 * By error code and reason: nothing about the inside of the service.
 *
 * @type {Record<string, string>}
 */
const MESSAGES = {
  'BULKHEAD_FULL full': 'The service is at capacity and its queue is full.',
  'BULKHEAD_FULL queue-timeout': 'The service is at capacity: the request reached the queue-timeout.',
  'BULKHEAD_FULL dropped': 'The service is at capacity: the request was dropped from the queue.',
  'BULKHEAD_FULL disposed': 'The service is shutting down: the request was disposed of.',
  'OVERLOADED full': 'The service is overloaded.',
  'OVERLOADED queue-timeout': 'The service is overloaded.',
  'OVERLOADED dropped': 'The service is overloaded.',
  'OVERLOADED disposed': 'The service is shutting down: the request was disposed of.',
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

const bodyHeaders = new Set(BODY_HEADERS.map((name) => name.toLowerCase()));

/** Whether a header speaks of a body. @param {string} name */
const isOfBody = (name) => bodyHeaders.has(name.toLowerCase());

/**
 * How clients are answered.
 *
 * @typedef {object} Manner
 * @property {boolean} problemDetails
 * @property {import('./drain-time.js').DrainTime} [drainTime] Of the queue that the errors are about.
 */

/** @typedef {{ statusCode: number, headers: Record<string, string | number>, body: string }} Answer */

/**
 * An answer as Node.js writes it at once: of its headers, names and values by turns.
 *
 * @typedef {{ statusCode: number, headers: string[], body: string }} RawAnswer
 */

/**
 * @param {unknown} error
 * @param {Manner} manner
 * @param {number} [leastS] Before so many seconds have passed, the client would be refused in any case.
 * @returns {Answer}
 */
function answerOf(error, manner, leastS = 0) {
  const refusal = describe(error);
  const answer = lastingAnswer(refusal, manner);
  const retryAfter = retryAfterOf(refusal, manner);
  if (retryAfter !== undefined) answer.headers['Retry-After'] = String(Math.max(retryAfter, leastS));
  return answer;
}

/**
 * What is the same for all refusals of a kind: everything but when to come back.
 *
 * @param {Refusal} refusal
 * @param {Manner} manner
 * @returns {Answer}
 */
function lastingAnswer(refusal, { problemDetails }) {
  const { statusCode, code, reason } = refusal;
  const message =
    MESSAGES[reason === undefined ? code : `${code} ${reason}`] ?? STATUS_CODES[statusCode] ?? 'Error';
  const body = JSON.stringify(
    problemDetails ? problem(refusal, message) : { statusCode, error: code, message },
  );
  const headers = {
    'Content-Type': problemDetails ? 'application/problem+json' : 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
  };
  return { statusCode, headers, body };
}

/**
 * @param {Answer} answer
 * @returns {RawAnswer}
 */
function toRaw({ statusCode, headers, body }) {
  const length = String(Buffer.byteLength(body));
  return { statusCode, headers: [...rawHeaders(headers), 'Content-Length', length], body };
}

/** @param {Record<string, string | number>} headers */
const rawHeaders = (headers) => Object.entries(headers).flat().map(String);

/**
 * @typedef {object} Refusal
 * @property {number} statusCode
 * @property {string} code
 * @property {string} [reason]
 * @property {number} [retryAfter]
 * @property {number} [active]
 * @property {number} [queued]
 * @property {string} [pipelineName]
 */

/**
 * @param {any} error
 * @returns {Refusal}
 */
function describe(error) {
  if (isExecutionRejected(error)) return error;
  return { statusCode: 500, code: 'INTERNAL_SERVER_ERROR' };
}

/**
 * In how many seconds another try makes sense. A quota belongs to one client, which is told its exact time;
 * the others come back together unless they are spread.
 *
 * @param {Refusal} refusal
 * @param {Manner} manner
 */
function retryAfterOf({ statusCode, code, reason, retryAfter, queued, active }, { drainTime }) {
  if (statusCode === 429) return Math.max(Math.ceil((retryAfter ?? 0) / 1000), 1);
  if (statusCode !== 503) return undefined;
  if (code === 'BULKHEAD_FULL' && reason !== 'disposed') {
    return spread(drainTime?.seconds(queued ?? 0, active ?? 0) ?? 0);
  }
  return spread((retryAfter ?? 0) / 1000);
}

/**
 * The answer as RFC 9457 has it.
 *
 * @param {Refusal} refusal
 * @param {string} detail
 */
function problem({ statusCode: status, code, pipelineName }, detail) {
  if (status === 429) {
    const title = 'Request cannot be satisfied as assigned quota has been exceeded';
    const type = `${PROBLEM_TYPES}quota-exceeded`;
    const policies = pipelineName === undefined ? [] : [pipelineName];
    return { type, title, status, detail, code, 'violated-policies': policies };
  }
  if (status === 503) {
    const title = 'Request cannot be satisfied due to temporary server capacity constraints';
    return { type: `${PROBLEM_TYPES}temporary-reduced-capacity`, title, status, detail, code };
  }
  return { type: 'about:blank', title: STATUS_CODES[status], status, detail, code };
}

module.exports = { BODY_HEADERS, answerOf, isOfBody, lastingAnswer, rawHeaders, retryAfterOf, toRaw };
