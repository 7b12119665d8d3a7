'use strict';

const { parseDuration } = require('./duration.js');
const { hasOption, readOptions, show } = require('./options.js');
const { PipelineBuilder } = require('./pipeline-builder.js');
const { circuitBreakerStrategy } = require('./strategies/circuit-breaker.js');
const { concurrencyLimiterStrategy } = require('./strategies/concurrency-limiter.js');
const { retryStrategy } = require('./strategies/retry.js');
const { timeoutStrategy } = require('./strategies/timeout.js');
const { isTransient } = require('./transient.js');

/** The options of the strategies, from the outermost to the innermost. */
const DEFAULTS = {
  concurrencyLimiter: { permitLimit: 1000, queueLimit: 0 },
  totalTimeout: { timeout: 30_000, name: 'TotalTimeout' },
  retry: {
    maxRetryAttempts: 3,
    backoffType: 'exponential',
    useJitter: true,
    delay: 2000,
    shouldHandle: isTransient,
  },
  circuitBreaker: {
    failureRatio: 0.1,
    minimumThroughput: 100,
    samplingDuration: 30_000,
    breakDuration: 5000,
    shouldHandle: isTransient,
  },
  attemptTimeout: { timeout: 10_000, name: 'AttemptTimeout' },
};

/**
 * A pipeline for calls to another service, of the strategies that most of them need: a concurrency limiter, a
 * timeout for everything, retries, a circuit breaker, and a timeout for each attempt.
 *
 * @param {unknown} [options] `StandardPipelineOptions`.
 */
function standardPipeline(options = {}) {
  const read = readOptions('standardPipeline', options, [
    'name',
    'context',
    'telemetry',
    'concurrencyLimiter',
    'totalTimeout',
    'retry',
    'circuitBreaker',
    'attemptTimeout',
  ]);
  const { name, context, telemetry, concurrencyLimiter: permits } = read;
  const limiter = merge(
    'addConcurrencyLimiter',
    DEFAULTS.concurrencyLimiter,
    typeof permits === 'number' ? { permitLimit: permits } : permits,
  );
  const totalTimeout = mergeTimeout(DEFAULTS.totalTimeout, read.totalTimeout);
  const retry = merge('addRetry', DEFAULTS.retry, read.retry);
  const circuitBreaker = merge('addCircuitBreaker', DEFAULTS.circuitBreaker, read.circuitBreaker);
  const attemptTimeout = mergeTimeout(DEFAULTS.attemptTimeout, read.attemptTimeout);
  const builder = new PipelineBuilder({ name, context, telemetry })
    .add(concurrencyLimiterStrategy(limiter))
    .add(timeoutStrategy(totalTimeout))
    .add(retryStrategy(retry))
    .add(circuitBreakerStrategy(circuitBreaker))
    .add(timeoutStrategy(attemptTimeout));
  // NaN where a generator decides: then nothing is known here.
  const attemptMs = parseDuration(attemptTimeout.timeout);
  if (attemptMs > parseDuration(totalTimeout.timeout)) {
    const longest = `totalTimeout (${inMs(totalTimeout.timeout)})`;
    throw new RangeError(`attemptTimeout must not be longer than ${longest}, but is ${inMs(attemptTimeout.timeout)}`);
  }
  const { samplingDuration } = circuitBreaker;
  if (parseDuration(samplingDuration) < 2 * attemptMs) {
    const least = `twice the attemptTimeout (${inMs(attemptTimeout.timeout)})`;
    throw new RangeError(`samplingDuration must be at least ${least}, but is ${inMs(samplingDuration)}`);
  }
  return builder.build();
}

/** A duration as it was given. @param {unknown} duration */
const inMs = (duration) => (typeof duration === 'number' ? `${duration} ms` : show(duration));

/**
 * @param {string} where What takes the options, and refuses those that it does not know.
 * @param {Record<string, unknown>} defaults
 * @param {unknown} given
 * @returns {Record<string, unknown>}
 */
function merge(where, defaults, given = {}) {
  const known = new Set([...Object.keys(defaults), ...Object.keys(Object(given))]);
  const merged = readOptions(where, given, [...known]);
  for (const key of Object.keys(defaults)) {
    if (merged[key] === undefined) merged[key] = defaults[key];
  }
  return merged;
}

/**
 * @param {Record<string, unknown>} defaults
 * @param {any} given
 */
function mergeTimeout(defaults, given) {
  const options = typeof given === 'object' || given === undefined ? given : { timeout: given };
  const generates = options && hasOption(options, 'timeoutGenerator') && options.timeoutGenerator !== undefined;
  return merge('addTimeout', generates ? { ...defaults, timeout: undefined } : defaults, options);
}

module.exports = { standardPipeline };
