'use strict';

// What a pipeline rejects an execution with. Each error has a stable code and the HTTP status that fits it,
// as properties of its own: loggers and JSON show only those.

const BRAND = Symbol.for('@ylcnfrht/resilience.ExecutionRejectedError');

/**
 * @typedef {object} RejectionOptions
 * @property {string} [pipelineName]
 * @property {string} [strategyName]
 * @property {number} [retryAfter] In ms. Only some of the errors know it.
 * @property {unknown} [cause]
 */

class ExecutionRejectedError extends Error {
  /**
   * @param {string} message
   * @param {RejectionOptions} [options]
   */
  constructor(message, { pipelineName, strategyName, retryAfter, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.retryAfter = retryAfter;
    this.pipelineName = pipelineName;
    this.strategyName = strategyName;
  }
}

class TimeoutRejectedError extends ExecutionRejectedError {
  /**
   * @param {number} timeoutMs
   * @param {RejectionOptions} [options]
   */
  constructor(timeoutMs, options) {
    super(`the execution did not end within ${timeoutMs} ms`, options);
    this.code = 'TIMEOUT';
    this.statusCode = 504;
    this.timeout = timeoutMs;
  }
}

/** @type {Record<string, string>} */
const BULKHEAD_MESSAGES = {
  full: 'the limit is reached and the queue is full',
  'queue-timeout': 'no permit came free in time',
  dropped: 'the place in the queue went to another execution',
  disposed: 'the pipeline was disposed',
};

class BulkheadRejectedError extends ExecutionRejectedError {
  /**
   * @param {'full' | 'queue-timeout' | 'dropped' | 'disposed'} reason
   * @param {RejectionOptions & { active: number, queued: number }} options
   */
  constructor(reason, options) {
    super(`${BULKHEAD_MESSAGES[reason]} (${reason})`, options);
    this.code = 'BULKHEAD_FULL';
    this.statusCode = 503;
    this.reason = reason;
    this.active = options.active;
    this.queued = options.queued;
  }
}

/** @type {Record<string, string>} */
const RATE_MESSAGES = {
  full: 'the permits of this span of time are used up',
  disposed: 'the pipeline was disposed',
};

class RateLimiterRejectedError extends ExecutionRejectedError {
  /**
   * @param {'full' | 'disposed'} reason
   * @param {RejectionOptions} [options]
   */
  constructor(reason, options) {
    super(`${RATE_MESSAGES[reason]} (${reason})`, options);
    this.code = 'RATE_LIMITED';
    this.statusCode = 429;
    this.reason = reason;
  }
}

class BrokenCircuitError extends ExecutionRejectedError {
  /** @param {RejectionOptions} [options] */
  constructor(options) {
    super('the circuit is open', options);
    this.code = 'CIRCUIT_OPEN';
    this.statusCode = 503;
  }
}

class IsolatedCircuitError extends ExecutionRejectedError {
  /** @param {RejectionOptions} [options] */
  constructor(options) {
    super('the circuit is isolated', options);
    this.code = 'CIRCUIT_ISOLATED';
    this.statusCode = 503;
  }
}

class PipelineDisposedError extends ExecutionRejectedError {
  /** @param {RejectionOptions} [options] */
  constructor(options) {
    super('the pipeline was disposed', options);
    this.code = 'PIPELINE_DISPOSED';
    this.statusCode = 503;
  }
}

class InternalError extends Error {
  /**
   * @param {string} message
   * @param {{ cause?: unknown }} [options]
   */
  constructor(message, options) {
    super(`${message} (a defect of @ylcnfrht/resilience: please report it)`, options);
    this.code = 'INTERNAL';
  }
}

/**
 * @param {Function} constructor
 * @param {Record<PropertyKey, unknown>} properties
 */
function describe(constructor, properties) {
  for (const key of Reflect.ownKeys(properties)) {
    const value = properties[/** @type {string} */ (key)];
    Object.defineProperty(constructor.prototype, key, { value, writable: true, configurable: true });
  }
}

describe(ExecutionRejectedError, { name: 'ExecutionRejectedError', [BRAND]: true });
describe(TimeoutRejectedError, { name: 'TimeoutRejectedError' });
describe(BulkheadRejectedError, { name: 'BulkheadRejectedError' });
describe(RateLimiterRejectedError, { name: 'RateLimiterRejectedError' });
describe(BrokenCircuitError, { name: 'BrokenCircuitError' });
describe(IsolatedCircuitError, { name: 'IsolatedCircuitError' });
describe(PipelineDisposedError, { name: 'PipelineDisposedError' });
describe(InternalError, { name: 'InternalError' });

/**
 * Whether a pipeline of this or another copy of the package rejected an execution with `error`.
 *
 * @param {any} error
 * @returns {boolean}
 */
function isExecutionRejected(error) {
  try {
    return typeof error === 'object' && error !== null && error[BRAND] === true;
  } catch {
    // A revoked proxy, say: anything can be thrown, and be the reason of an abort.
    return false;
  }
}

/** @param {any} error */
function isTimeoutRejected(error) {
  try {
    return isExecutionRejected(error) && error.code === 'TIMEOUT';
  } catch {
    return false;
  }
}

module.exports = {
  BrokenCircuitError,
  BulkheadRejectedError,
  ExecutionRejectedError,
  InternalError,
  IsolatedCircuitError,
  PipelineDisposedError,
  RateLimiterRejectedError,
  TimeoutRejectedError,
  isExecutionRejected,
  isTimeoutRejected,
};
