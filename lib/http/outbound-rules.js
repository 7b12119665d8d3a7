'use strict';

// The rules of outbound calls, whatever sends them: which may be repeated, what they tell of the deadline.

const { validateHeaderName } = require('node:http');
const { types } = require('node:util');

const { notUsable, skillsOf } = require('../copies.js');
const { readOptions, typeError } = require('../options.js');

const KIND = 'ResiliencePipeline';
/** RFC 9110, section 9.2.2. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);
/** Bodies, by their tags: there is more than one implementation of each. */
const BLOCKS = new Set(['[object Blob]', '[object File]', '[object FormData]', '[object URLSearchParams]']);

/**
 * Whether a body is there as a whole. Anything else may be gone once it was sent: a stream, an iterable.
 *
 * @param {any} body
 */
function canBeSentAgain(body) {
  if (body === undefined || body === null || typeof body === 'string') return true;
  if (ArrayBuffer.isView(body) || types.isAnyArrayBuffer(body)) return true;
  return BLOCKS.has(Object.prototype.toString.call(body));
}

/**
 * Whether a request may be sent more than once.
 *
 * @param {string} method
 * @param {boolean} hasKey Whether it has an `Idempotency-Key`.
 * @param {unknown} body
 */
function isRepeatable(method, hasKey, body) {
  return (hasKey || IDEMPOTENT.has(method.toUpperCase())) && canBeSentAgain(body);
}

/**
 * What a request says about the time that its sender will wait.
 *
 * @param {import('../context.js').ResilienceContext} context
 * @returns {string | undefined} Undefined if there is no deadline.
 */
function budgetOf({ remaining }) {
  return remaining === undefined ? undefined : String(Math.max(Math.floor(remaining), 1));
}

/**
 * Checks what outbound calls take.
 *
 * @param {string} where What takes them.
 * @param {unknown} pipeline
 * @param {unknown} options `OutboundOptions`.
 */
function readOutbound(where, pipeline, options = {}) {
  /** @type {import('../pipeline.js').Skills | undefined} */
  const skills = skillsOf(pipeline, KIND);
  if (skills === undefined) throw notUsable('pipeline', `a ${KIND}`, pipeline, KIND);
  const { deadlineHeader = 'x-request-timeout-ms' } = readOptions(where, options, ['deadlineHeader']);
  try {
    if (deadlineHeader !== false) validateHeaderName(deadlineHeader);
  } catch {
    throw typeError('deadlineHeader', 'the name of a header, or false', deadlineHeader);
  }
  /** @type {string | undefined} */
  const header = deadlineHeader === false ? undefined : deadlineHeader.toLowerCase();
  return {
    pipeline: /** @type {import('../pipeline.js').ResiliencePipeline} */ (pipeline),
    skills,
    deadlineHeader: header,
  };
}

module.exports = { budgetOf, isRepeatable, readOutbound };
