'use strict';

// The options that all adapters take, and the pipeline that comes of them.

const { ResiliencePipelineBuilder } = require('../builder.js');
const { ResilienceContext } = require('../context.js');
const { notUsable, skillsOf } = require('../copies.js');
const {
  callback,
  immediate,
  name: readName,
  oneOf,
  positiveDuration,
  rangeError,
  readOptions,
  typeError,
} = require('../options.js');
const { EXEMPT } = require('../strategies/rate-limiter.js');
const { addressKey } = require('./client-address.js');
const { FORMS } = require('./quota-headers.js');

const INBOUND = /** @type {const} */ ([
  'timeout',
  'concurrency',
  'rateLimit',
  'deadlineHeader',
  'overload',
  'name',
  'pipeline',
  'skip',
  'onRejected',
  'shouldDrop',
  'problemDetails',
  'headers',
  'stallTimeout',
]);
/** What makes a pipeline: each is an error beside one that was built by hand. */
const PARTS = /** @type {const} */ (['timeout', 'concurrency', 'rateLimit', 'deadlineHeader', 'name']);
const KIND = 'ResiliencePipeline';
/** As that of nginx: https://nginx.org/en/docs/http/ngx_http_core_module.html#send_timeout */
const STALL_MS = 60_000;
const OVERLOAD = 'a boolean or an object';
/** How long requests wait while more come than can be served, and the longest wait at all. */
const TARGET_MS = 100;
const MAX_MS = 500;
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** @typedef {import('./admission.js').Admission} Admission */
/** @typedef {import('./admission.js').Exchange} Exchange */
/** @typedef {import('./inbound-request.js').InboundRequest} InboundRequest */

/**
 * What an adapter knows of its framework.
 *
 * @typedef {object} Framework
 * @property {string} where What takes the options.
 * @property {(subject: any) => string | undefined} addressOf The client's address.
 */

/**
 * @param {Framework} framework
 * @param {unknown} options
 */
function readInbound({ where }, options) {
  const read = readOptions(where, options, INBOUND);
  const { problemDetails = false, headers, stallTimeout } = read;
  if (typeof problemDetails !== 'boolean') throw typeError('problemDetails', 'a boolean', problemDetails);
  const overload = readOverload(read.overload);
  const built = read.pipeline === undefined ? build(where, read) : byHand(where, read);
  return {
    where,
    ...built,
    overload,
    stallMs: readStallTimeout(where, stallTimeout, skillsOf(built.pipeline, KIND).hasDeadline(built.pipeline)),
    skip: decider('skip', read.skip),
    onRejected: callback('onRejected', read.onRejected),
    shouldDrop: decider('shouldDrop', read.shouldDrop),
    problemDetails,
    headers: headers === undefined || headers === false ? headers : oneOf('headers', headers, FORMS),
  };
}

/** @typedef {Partial<Record<(typeof INBOUND)[number], any>>} Read */

/**
 * A function that has to answer at once.
 *
 * @param {string} option
 * @param {unknown} value
 * @returns {((argument: any) => boolean) | undefined}
 */
function decider(option, value) {
  const decide = callback(option, value);
  return decide && ((argument) => Boolean(immediate(option, 'a boolean', decide(argument))));
}

/**
 * @param {string} where
 * @param {Read} read
 */
function byHand(where, { pipeline, ...read }) {
  const part = PARTS.find((name) => read[name] !== undefined);
  if (part !== undefined) {
    throw new TypeError(
      `${where} takes either pipeline or ${part}, not both: ${part} belongs into the pipeline`,
    );
  }
  const skills = skillsOf(pipeline, KIND);
  if (skills === undefined) throw notUsable('pipeline', `a ${KIND}`, pipeline, KIND);
  if (skills.repeats(pipeline)) {
    throw new TypeError('pipeline must be one without retry and hedging: a request is handled once');
  }
  return {
    pipeline,
    guardsBody: false,
    quota: undefined,
    capacity: undefined,
    rateKeyOf: undefined,
    deadlineOf: undefined,
  };
}

/**
 * @param {string} where
 * @param {Read} read
 */
function build(where, read) {
  const { timeout, concurrency, rateLimit, deadlineHeader, overload, name: given } = read;
  const isBare = [timeout, concurrency, rateLimit, deadlineHeader].every((part) => part === undefined);
  if (isBare && (overload === undefined || overload === false)) {
    const parts = 'timeout, concurrency, rateLimit, deadlineHeader, overload or pipeline';
    throw new TypeError(`${where} needs ${parts}: without one it protects nothing`);
  }
  const name = readName('name', given, 'http');
  const builder = new ResiliencePipelineBuilder({ name });
  const rateKeyOf = rateLimit === undefined ? undefined : addRateLimit(builder, rateLimit);
  const deadlineOf = deadlineHeader === undefined ? undefined : addDeadline(builder, deadlineHeader);
  if (concurrency !== undefined) {
    builder.addConcurrencyLimiter(
      readOptions('concurrency', concurrency, ['permitLimit', 'queueLimit', 'queueTimeout']),
    );
  }
  const { duration, body } = readTimeout(timeout);
  if (duration !== undefined) builder.addTimeout({ timeout: duration });
  const pipeline = builder.build();
  /** @type {any} */
  const quota = pipeline.getStrategy('RateLimiter');
  /** @type {any} */
  const capacity = pipeline.getStrategy('ConcurrencyLimiter');
  return {
    pipeline,
    guardsBody: body,
    quota: quota && { name, limiter: quota },
    capacity: capacity && { name, limit: /** @type {number} */ (capacity.permitLimit) },
    rateKeyOf,
    deadlineOf,
  };
}

/**
 * @param {ResiliencePipelineBuilder} builder
 * @param {unknown} rateLimit
 * @returns {(admission: Admission, exchange: Exchange) => any} What the permits of a request are counted by.
 */
function addRateLimit(builder, rateLimit) {
  const known = /** @type {const} */ (['key', 'permitLimit', 'window', 'algorithm', 'burst', 'maxKeys']);
  const { key, ...limits } = readOptions('rateLimit', rateLimit, known);
  const keyOf = callback('key', key);
  const rateKeyOf = (/** @type {Admission} */ admission, /** @type {Exchange} */ { req, subject, visit }) => {
    if (visit?.quota !== undefined) return visit.quota.isTaken ? EXEMPT : visit.quota.key;
    if (isPreflight(req)) return EXEMPT;
    return keyOf === undefined ? addressKeyOf(admission, req, subject) : keyOf(subject);
  };
  builder.addRateLimiter({
    ...limits,
    key: (/** @type {ResilienceContext} */ context) => {
      const request = requestOf(context);
      const rateKey = rateKeyOf(request.admission, request.exchange);
      if (rateKey !== EXEMPT) request.rateKey = rateKey;
      return rateKey;
    },
  });
  return rateKeyOf;
}

/**
 * Whether a browser asks in advance for what another origin's page wants to send, which is counted by itself.
 * https://fetch.spec.whatwg.org/#cors-preflight-request
 *
 * @param {import('node:http').IncomingMessage} req
 */
function isPreflight({ method, headers }) {
  if (method !== 'OPTIONS' || headers === undefined) return false;
  return headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}

/**
 * A deadline of the caller's own, in whole milliseconds from the request's arrival on, the queue included.
 * Without a header, or with one that is no such number, there is none.
 *
 * @param {ResiliencePipelineBuilder} builder
 * @param {unknown} header
 * @returns {(exchange: Exchange) => number}
 */
function addDeadline(builder, header) {
  const accepted = 'the name of a header';
  if (typeof header !== 'string' || !TOKEN.test(header)) throw typeError('deadlineHeader', accepted, header);
  const key = header.toLowerCase();
  const deadlineOf = (/** @type {Exchange} */ { req, visit }) => {
    const value = req.headers?.[key];
    if (typeof value !== 'string' || !/^\d{1,15}$/.test(value)) return Infinity;
    return Number(value) - (visit?.waitedMs ?? 0);
  };
  builder.addTimeout({
    name: 'Deadline',
    timeoutGenerator: (/** @type {{ context: ResilienceContext }} */ { context }) =>
      deadlineOf(requestOf(context).exchange),
  });
  return deadlineOf;
}

/**
 * The request that an execution is of, whichever adapter over the pipeline has taken it.
 *
 * @param {ResilienceContext} context
 * @returns {InboundRequest}
 */
function requestOf(context) {
  /** @type {any} */
  const execution = ResilienceContext.executionOf(context);
  const request = execution?.rare?.stream;
  if (request === undefined) throw new TypeError('a pipeline made of the options of an adapter takes requests only');
  return request;
}

/**
 * By its client's address. A request that was made up may have no connection to have one.
 *
 * @param {Admission} admission
 * @param {import('node:http').IncomingMessage} req
 * @param {any} subject
 */
function addressKeyOf(admission, req, subject) {
  return req.socket ? addressKey(admission.addressOf(subject)) : undefined;
}

/**
 * @param {string} where
 * @param {unknown} stallTimeout
 * @param {boolean} isGuarded Whether there is a timeout.
 */
function readStallTimeout(where, stallTimeout, isGuarded) {
  if (stallTimeout === undefined) return isGuarded ? STALL_MS : undefined;
  const stallMs = positiveDuration('stallTimeout', stallTimeout);
  if (isGuarded) return stallMs;
  throw new TypeError(`${where} takes stallTimeout beside a timeout, and in a pipeline with one: there is none`);
}

/**
 * @param {unknown} overload
 * @returns {import('./overload.js').OverloadOptions | undefined}
 */
function readOverload(overload) {
  if (overload === undefined || overload === false) return undefined;
  if (overload !== true && typeof overload !== 'object') throw typeError('overload', OVERLOAD, overload);
  const known = /** @type {const} */ (['targetDelay', 'maxDelay', 'priority']);
  const { targetDelay, maxDelay, priority } = readOptions('overload', overload === true ? {} : overload, known);
  const target = targetDelay === undefined ? undefined : positiveDuration('targetDelay', targetDelay);
  const max = maxDelay === undefined ? undefined : positiveDuration('maxDelay', maxDelay);
  if (target !== undefined && max !== undefined && max < target) {
    throw rangeError('maxDelay', `at least targetDelay (${target} ms)`, maxDelay);
  }
  return {
    targetMs: target ?? Math.min(TARGET_MS, max ?? TARGET_MS),
    maxMs: max ?? Math.max(MAX_MS, target ?? MAX_MS),
    priority: callback('priority', priority),
  };
}

/** @param {unknown} timeout */
function readTimeout(timeout) {
  if (typeof timeout !== 'object') return { duration: timeout, body: false };
  const { timeout: duration, body = false } = readOptions('timeout', timeout, ['timeout', 'body']);
  if (typeof body !== 'boolean') throw typeError('body', 'a boolean', body);
  return { duration: duration ?? NaN, body };
}

module.exports = { INBOUND, readInbound };
