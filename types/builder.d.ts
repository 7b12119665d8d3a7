import type { Duration } from './duration.js';
import type {
  BrokenCircuitError,
  BulkheadRejectedError,
  IsolatedCircuitError,
  RateLimiterRejectedError,
  TimeoutRejectedError,
} from './errors.js';
import { PipelineBuilder } from './pipeline-builder.js';
import type { ResiliencePipelineBuilderOptions, WithErrors } from './pipeline-builder.js';
import type { ResiliencePipeline } from './pipeline.js';
import type {
  AdaptiveConcurrencyLimiterOptions as AdaptiveOptions,
} from './strategies/adaptive-concurrency-limiter.js';
import type { CircuitBreakerOptions as BreakerOptions } from './strategies/circuit-breaker.js';
import type { ConcurrencyLimiterOptions } from './strategies/concurrency-limiter.js';
import type { FallbackOptions } from './strategies/fallback.js';
import type { HedgingOptions as Hedging } from './strategies/hedging.js';
import type { RateLimiterOptions } from './strategies/rate-limiter.js';
import type { RetryOptions as Retry } from './strategies/retry.js';
import type { TimeoutOptions } from './strategies/timeout.js';
import type { CustomStrategy, ResilienceStrategy } from './strategy.js';

/** The builder after adding a strategy that can raise `New`. */
export type Next<T, E, C extends string, New extends { code: string }> = ResiliencePipelineBuilder<
  T,
  WithErrors<E, C, New>,
  C
>;

// An optional parameter whose type mentions `T` is shown with `| undefined` behind it, unless that is part
// of a named type: these are what makes a signature read `options?: RetryOptions<…>`.
type AdaptiveConcurrencyLimiterOptions<T> = AdaptiveOptions<T> | undefined;
type CircuitBreakerOptions<T> = BreakerOptions<T> | undefined;
type HedgingOptions<T> = Hedging<T> | undefined;
type RetryOptions<T> = Retry<T> | undefined;

/**
 * Polly-style builder with a shortcut for every strategy: addRetry(), addTimeout(), addCircuitBreaker(), …
 * Convenient, but it bundles every strategy. For the smallest browser bundle use PipelineBuilder with
 * retryStrategy(), timeoutStrategy(), … instead; the two are interchangeable.
 *
 * The type parameters track which errors the pipeline can raise, for pipeline.settle() + Outcome.match().
 *
 * `T` is what the pipeline's executions produce, `E` the union of its typed errors, `C` the error codes that
 * a fallback catches. Strategies run in the order added: the first is the outermost. Every `add*` method
 * changes this builder and returns it, under a narrower type.
 *
 * A bundle is one of a server in any case: the core is a native addon, which no browser runs.
 *
 * @throws TypeError or RangeError (the constructor and every method) for an option that is unknown or
 * outside of its range; the message names the option, the value and the accepted range.
 *
 * @example
 * const pipeline = new ResiliencePipelineBuilder({ name: 'search' })
 *   .addAdaptiveConcurrencyLimiter({ maxLimit: 200, queueLimit: 20, queueTimeout: '100ms' })
 *   .addTimeout('2s')
 *   .build();
 *
 * const response = await pipeline.execute(({ signal }) => fetch(url, { signal }));
 */
export class ResiliencePipelineBuilder<T = any, E = never, C extends string = never> extends PipelineBuilder<
  T,
  E,
  C
> {
  constructor(options?: ResiliencePipelineBuilderOptions);

  /**
   * addRetry({ maxRetryAttempts: 5, delay: '200ms', backoffType: 'exponential' }).
   *
   * Runs what is inside of it again while shouldHandle says so: by default after any failure but the
   * caller's own abort. The outcome of the last attempt is the outcome. Each attempt has a context of its
   * own.
   */
  addRetry(options?: RetryOptions<T>): ResiliencePipelineBuilder<T, E, C>;

  /**
   * addTimeout(5000), addTimeout('5s') or addTimeout({ timeout: '5s', onTimeout }).
   *
   * At the deadline the execution rejects with {@link TimeoutRejectedError}, and `context.signal` aborts
   * with that error. What the callback does later is ignored.
   */
  addTimeout(options: Duration | TimeoutOptions): Next<T, E, C, TimeoutRejectedError>;

  /**
   * addCircuitBreaker({ failureRatio: 0.5, minimumThroughput: 20, breakDuration: '10s' }).
   *
   * Stops calling what keeps failing, or keeps being slow, and tries it again after a break. While open,
   * executions reject with {@link BrokenCircuitError}; while isolated by hand, with
   * {@link IsolatedCircuitError}.
   */
  addCircuitBreaker(
    options?: CircuitBreakerOptions<T>,
  ): Next<T, E, C, BrokenCircuitError | IsolatedCircuitError>;

  /**
   * addConcurrencyLimiter(10), addConcurrencyLimiter(10, 50) or full options.
   *
   * Runs an execution if fewer than `permitLimit` run and nobody waits; else it waits, if the queue has
   * room; else it rejects with {@link BulkheadRejectedError}. A freed permit goes to the next waiter: no
   * newcomer overtakes it.
   */
  addConcurrencyLimiter(
    options: number | ConcurrencyLimiterOptions,
    queueLimit?: number,
  ): Next<T, E, C, BulkheadRejectedError>;

  /**
   * Concurrency limit that tunes itself from observed latency and failures (gradient2 / vegas / aimd), so
   * you don't have to guess the right number: it grows while the dependency keeps up and backs off when it
   * queues.
   *
   * Admits as the fixed limiter does, and rejects with {@link BulkheadRejectedError}.
   */
  addAdaptiveConcurrencyLimiter(
    options?: AdaptiveConcurrencyLimiterOptions<T>,
  ): Next<T, E, C, BulkheadRejectedError>;

  /**
   * addRateLimiter({ permitLimit: 100, window: '1s' }).
   *
   * Lets `permitLimit` executions start per window, for each key. Without a permit an execution waits until
   * one is due, if the queue has room; else it rejects with {@link RateLimiterRejectedError}.
   */
  addRateLimiter(options: RateLimiterOptions): Next<T, E, C, RateLimiterRejectedError>;

  /**
   * Without shouldHandle it catches every failure of the strategies added after it, so their errors leave
   * the error type.
   *
   * Only the caller's own abort passes.
   *
   * @example
   * const recommendations = new ResiliencePipelineBuilder<string[]>()
   *   .addFallback({ fallbackAction: () => [] })
   *   .addTimeout('300ms')
   *   .build();
   */
  addFallback(
    options: FallbackOptions<T> & { shouldHandle?: undefined },
  ): ResiliencePipelineBuilder<T, E, string>;
  /**
   * With shouldHandle the outcomes that it does not choose pass, so the errors of the strategies added after
   * it stay in the error type.
   */
  addFallback(options: FallbackOptions<T>): ResiliencePipelineBuilder<T, E, C>;

  /**
   * addHedging({ delay: '50ms', maxHedgedAttempts: 2 }).
   *
   * When an attempt is slow, starts another beside it, and takes the first good outcome; the signals of the
   * others abort.
   */
  addHedging(options?: HedgingOptions<T>): ResiliencePipelineBuilder<T, E, C>;

  /**
   * Adds what `retryStrategy()` and its like return, or a strategy of your own: see
   * {@link PipelineBuilder.add}.
   *
   * @throws TypeError for anything else.
   *
   * @example
   * const pipeline = new ResiliencePipelineBuilder().addTimeout('2s').add(counting).build();
   */
  add<New extends { code: string } = never, Caught extends string = never>(
    strategy: ResilienceStrategy<T, New, Caught> | (() => CustomStrategy<T>),
  ): ResiliencePipelineBuilder<T, WithErrors<E, C, New>, C | Caught>;

  /**
   * Makes a pipeline. May be called again: every pipeline has state of its own.
   *
   * @throws Error if a `limitProvider`, a `stateProvider`, or a limit algorithm of your own, already serves
   * another strategy; TypeError if a function that was added makes no strategy.
   */
  build(): ResiliencePipeline<T, E>;
}

// Only what is marked `export` is public.
export {};
