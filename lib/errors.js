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

/** @type {Record<string, string>} */
const OVERLOAD_MESSAGES = {
  full: 'the event loop is overloaded',
  'queue-timeout': 'the event loop did not get to the request in time',
  dropped: 'the place in the queue went to another request',
  disposed: 'the pipeline was disposed',
};

class OverloadRejectedError extends ExecutionRejectedError {
  /**
   * @param {'full' | 'queue-timeout' | 'dropped' | 'disposed'} reason
   * @param {RejectionOptions & { delay: number, queued: number }} options
   */
  constructor(reason, options) {
    super(`${OVERLOAD_MESSAGES[reason]} (${reason})`, options);
    this.code = 'OVERLOADED';
    this.statusCode = 503;
    this.reason = reason;
    this.delay = options.delay;
    this.queued = options.queued;
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
 * @param {object} error An error, or the prototype of such.
 * @param {Record<PropertyKey, unknown>} properties
 */
function describe(error, properties) {
  for (const key of Reflect.ownKeys(properties)) {
    const value = properties[/** @type {string} */ (key)];
    Object.defineProperty(error, key, { value, writable: true, configurable: true });
  }
}

/**
 * What JSON has of an error: all that it says, and nothing of where it was made.
 *
 * @this {Error & { code: string }}
 */
function toJSON() {
  const { name, code, message } = this;
  /** @type {Record<string, unknown>} */
  const json = { name, code, message, .../** @type {object} */ (this) };
  delete json.stack;
  return json;
}

describe(ExecutionRejectedError.prototype, { name: 'ExecutionRejectedError', [BRAND]: true, toJSON });
describe(TimeoutRejectedError.prototype, { name: 'TimeoutRejectedError' });
describe(BulkheadRejectedError.prototype, { name: 'BulkheadRejectedError' });
describe(RateLimiterRejectedError.prototype, { name: 'RateLimiterRejectedError' });
describe(OverloadRejectedError.prototype, { name: 'OverloadRejectedError' });
describe(BrokenCircuitError.prototype, { name: 'BrokenCircuitError' });
describe(IsolatedCircuitError.prototype, { name: 'IsolatedCircuitError' });
describe(PipelineDisposedError.prototype, { name: 'PipelineDisposedError' });
describe(InternalError.prototype, { name: 'InternalError', toJSON });

/** Code and status of each kind of rejection, by its name. @type {Record<string, [string, number]>} */
const KINDS = {
  TimeoutRejectedError: ['TIMEOUT', 504],
  BulkheadRejectedError: ['BULKHEAD_FULL', 503],
  RateLimiterRejectedError: ['RATE_LIMITED', 429],
  OverloadRejectedError: ['OVERLOADED', 503],
  BrokenCircuitError: ['CIRCUIT_OPEN', 503],
  IsolatedCircuitError: ['CIRCUIT_ISOLATED', 503],
  PipelineDisposedError: ['PIPELINE_DISPOSED', 503],
};
/** What their messages begin with, so that the stack of any other error is not read, which costs microseconds. */
const MESSAGE =
  /^the (execution did not|event loop (is|did not)|limit is|place in|pipeline was|permits of|circuit is) |^no permit came/;

/**
 * Whether a pipeline of this or another copy of the package rejected an execution with `error`, also if that came
 * from another thread or process.
 *
 * @param {any} error
 * @returns {boolean}
 */
function isExecutionRejected(error) {
  try {
    if (typeof error !== 'object' || error === null) return false;
    return error[BRAND] === true || wasSent(error);
  } catch {
    // A revoked proxy, say: anything can be thrown, and be the reason of an abort.
    return false;
  }
}

/**
 * Whether it was one before it was sent as JSON, which keeps all but the class, or cloned, as by `postMessage`: of an
 * error that keeps the message and the stack, whose first line has the name. What all errors of that name have in
 * common is given back to it.
 *
 * @param {any} error
 */
function wasSent(error) {
  const { code, message, name } = error;
  if (typeof message !== 'string') return false;
  if (Object.hasOwn(KINDS, name)) {
    const [known, statusCode] = KINDS[name];
    if (code !== known || error.statusCode !== statusCode) return false;
    // An error with the same properties is somebody else's, unless it is none: Node.js makes such of what a worker
    // ends by.
    return Object.hasOwn(error, Symbol.toStringTag) || Object.prototype.toString.call(error) !== '[object Error]';
  }
  if (code !== undefined || name !== 'Error' || !MESSAGE.test(message)) return false;
  const { stack } = error;
  if (typeof stack !== 'string') return false;
  const own = Object.keys(KINDS).find((kind) => stack.startsWith(`${kind}: ${message}`));
  if (own === undefined) return false;
  describe(error, { name: own, [BRAND]: true });
  [error.code, error.statusCode] = KINDS[own];
  return true;
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
  OverloadRejectedError,
  PipelineDisposedError,
  RateLimiterRejectedError,
  TimeoutRejectedError,
  isExecutionRejected,
  isTimeoutRejected,
};
