'use strict';

const { isExecutionRejected } = require('./errors.js');

const FIELD = 'retry-after';
const SECONDS = /^\d+(?:\.\d+)?$/;
/** The date formats of RFC 9110, section 5.6.7, that name their zone. `Date.parse` alone accepts anything. */
const HTTP_DATE = /^[A-Z][a-z]+, \d\d(?: [A-Z][a-z]{2} \d{4}|-[A-Z][a-z]{2}-\d\d) \d\d:\d\d:\d\d GMT$/;

/**
 * How long an outcome asks its caller to wait: a rejection by its own `retryAfter`, anything else by a
 * Retry-After header of its own or of its `response`.
 *
 * @param {import('./outcome.js').AnyOutcome} outcome
 * @returns {number | undefined} Milliseconds: possibly Infinity, and below 0 for a date in the past.
 */
function retryAfterOf(outcome) {
  try {
    /** @type {any} */
    const source = outcome.ok ? outcome.result : outcome.error;
    if (typeof source !== 'object' || source === null) return undefined;
    if (isExecutionRejected(source)) return source.retryAfter >= 0 ? Number(source.retryAfter) : undefined;
    return parse(headerOf(source.headers) ?? headerOf(source.response?.headers));
  } catch {
    // A user's getter that throws has nothing to say.
    return undefined;
  }
}

/**
 * @param {any} headers A `Headers` object, or a plain one.
 * @returns {unknown}
 */
function headerOf(headers) {
  if (typeof headers !== 'object' || headers === null) return undefined;
  if (typeof headers.get === 'function') return headers.get(FIELD) ?? undefined;
  const key = Object.keys(headers).find((name) => name.toLowerCase() === FIELD);
  return key === undefined ? undefined : headers[key];
}

/**
 * @param {unknown} value
 * @returns {number | undefined}
 */
function parse(value) {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return undefined;
  if (SECONDS.test(text)) return Math.floor(Number(text)) * 1000;
  const date = HTTP_DATE.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(date) ? undefined : date - Date.now();
}

module.exports = { retryAfterOf };
