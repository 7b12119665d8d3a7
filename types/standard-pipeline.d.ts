import type { Duration } from './duration.js';
import type {
  BrokenCircuitError,
  BulkheadRejectedError,
  IsolatedCircuitError,
  TimeoutRejectedError,
} from './errors.js';
import type { Outcome } from './outcome.js';
import type { ResiliencePipelineBuilderOptions } from './pipeline-builder.js';
import type { ResiliencePipeline } from './pipeline.js';
import type { CircuitBreakerOptions } from './strategies/circuit-breaker.js';
import type { ConcurrencyLimiterOptions } from './strategies/concurrency-limiter.js';
import type { RetryOptions } from './strategies/retry.js';
import type { TimeoutOptions } from './strategies/timeout.js';

/** Options of {@link standardPipeline}; those of a strategy are merged over its defaults. */
export interface StandardPipelineOptions<T = any> extends ResiliencePipelineBuilderOptions {
  /** Default 1000 permits and no queue. */
  concurrencyLimiter?: number | Partial<ConcurrencyLimiterOptions> | undefined;
  /** The deadline of the execution, with all attempts and delays. Default 30 s. Its name: 'TotalTimeout'. */
  totalTimeout?: Duration | TimeoutOptions | undefined;
  /**
   * Default 3 retries with exponential backoff from 2 s, with jitter, of what {@link isTransient} chooses.
   */
  retry?: RetryOptions<T> | undefined;
  /**
   * Default: opens for 5 s when 10 % of at least 100 attempts within 30 s failed so that {@link isTransient}
   * chooses them.
   *
   * samplingDuration must be at least twice the length of attemptTimeout.
   */
  circuitBreaker?: CircuitBreakerOptions<T> | undefined;
  /** The deadline of each attempt; at most that of totalTimeout. Default 10 s. Its name: 'AttemptTimeout'. */
  attemptTimeout?: Duration | TimeoutOptions | undefined;
}

/**
 * A pipeline for calls to another service, with defaults that suit most: concurrency limiter, total timeout,
 * retry, circuit breaker and attempt timeout, from the outside in.
 *
 * @throws TypeError or RangeError for an option that is unknown or outside of its range, also if
 * attemptTimeout is longer than totalTimeout, or samplingDuration shorter than twice attemptTimeout.
 *
 * @example
 * const pipeline = standardPipeline<Response>({ name: 'search', retry: { maxRetryAttempts: 2 } });
 * const response = await pipeline.execute(({ signal }) => fetch(url, { signal }));
 */
export function standardPipeline<T = any>(
  options?: StandardPipelineOptions<T>,
): ResiliencePipeline<
  T,
  BulkheadRejectedError | TimeoutRejectedError | BrokenCircuitError | IsolatedCircuitError
>;

/**
 * Whether trying again may help; the default `shouldHandle` in {@link standardPipeline}. True for
 *
 * - a status of 408, 425, 429 or >= 500: of a result by `status` or `statusCode`, of an error also by `response`,
 *   `$metadata.httpStatusCode`, and the codes of Google's clients and of gRPC;
 * - an error with a `code` of the network (`ECONNRESET`, `UND_ERR_SOCKET`, `ENOTFOUND`, ...), or of a database that
 *   is in trouble (SQLSTATE 08, 53, 57P01 to 57P03, 40001, 40P01), and what the `fetch` of Deno and of Bun throw;
 * - a `TimeoutError`, and of the rejections of this package `TIMEOUT`.
 *
 * An error speaks by itself, by its `cause`s and, if it is an `AggregateError`, by its parts. Any other 4xx, an abort,
 * a bad URL or certificate and what is unknown are not transient. Never throws.
 *
 * @example
 * const pipeline = new ResiliencePipelineBuilder<Response>().addRetry({ shouldHandle: isTransient
 * }).build();
 */
export function isTransient(args: { readonly outcome: Outcome<any> }): boolean;
