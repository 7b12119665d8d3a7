'use strict';

const { PipelineBuilder } = require('./pipeline-builder.js');
const { adaptiveConcurrencyLimiterStrategy } = require('./strategies/adaptive-concurrency-limiter.js');
const { circuitBreakerStrategy } = require('./strategies/circuit-breaker.js');
const { concurrencyLimiterStrategy } = require('./strategies/concurrency-limiter.js');
const { fallbackStrategy } = require('./strategies/fallback.js');
const { hedgingStrategy } = require('./strategies/hedging.js');
const { rateLimiterStrategy } = require('./strategies/rate-limiter.js');
const { retryStrategy } = require('./strategies/retry.js');
const { timeoutStrategy } = require('./strategies/timeout.js');

/** The builder with a method for every strategy. */
class ResiliencePipelineBuilder extends PipelineBuilder {
  /** @param {unknown} options */
  addTimeout(options) {
    return this.add(timeoutStrategy(options));
  }

  /**
   * @param {unknown} options
   * @param {unknown} [queueLimit]
   */
  addConcurrencyLimiter(options, queueLimit) {
    return this.add(concurrencyLimiterStrategy(options, queueLimit));
  }

  /** @param {unknown} [options] */
  addAdaptiveConcurrencyLimiter(options) {
    return this.add(adaptiveConcurrencyLimiterStrategy(options));
  }

  /** @param {unknown} options */
  addRateLimiter(options) {
    return this.add(rateLimiterStrategy(options));
  }

  /** @param {unknown} [options] */
  addCircuitBreaker(options) {
    return this.add(circuitBreakerStrategy(options));
  }

  /** @param {unknown} [options] */
  addRetry(options) {
    return this.add(retryStrategy(options));
  }

  /** @param {unknown} [options] */
  addHedging(options) {
    return this.add(hedgingStrategy(options));
  }

  /** @param {unknown} options */
  addFallback(options) {
    return this.add(fallbackStrategy(options));
  }
}

module.exports = { ResiliencePipelineBuilder };
