import type { MaybePromise, ResilienceContext } from '../context.js';
import type { Duration } from '../duration.js';
import type { Outcome, OutcomeArgs } from '../outcome.js';
import type { ResilienceStrategy } from '../strategy.js';
import type { RetryBudget } from './retry-budget.js';

/** The argument of a retry's `shouldHandle`. */
export interface RetryPredicateArgs<T> extends OutcomeArgs<T> {
  /** The attempt that ended so: 0 is the original call. */
  readonly attemptNumber: number;
}

/** The argument of `delayGenerator`. */
export interface RetryDelayArgs<T> {
  /** What the attempt produced. */
  readonly outcome: Outcome<T>;
  readonly context: ResilienceContext;
  /** The attempt that ended so: 0 is the original call. */
  readonly attemptNumber: number;
}

/** The argument of `onRetry`. */
export interface OnRetryArgs<T> {
  /** What the attempt produced. */
  readonly outcome: Outcome<T>;
  readonly context: ResilienceContext;
  /** The attempt that ended so: 0 is the original call. */
  readonly attemptNumber: number;
  /** How long the next attempt will be waited for, in ms. */
  readonly retryDelay: number;
  /** How long the attempt took, in ms. */
  readonly duration: number;
}

/** A retry that was not made, because a deadline would have passed before it. */
export interface OnRetrySkippedArgs<T> {
  /** What the attempt produced, and the result. */
  readonly outcome: Outcome<T>;
  readonly context: ResilienceContext;
  /** The attempt that ended so: 0 is the original call. */
  readonly attemptNumber: number;
  /** How long the next attempt would have been waited for, in ms. */
  readonly retryDelay: number;
  /** How long it is to the first deadline of the execution and of those around it, in ms. */
  readonly remaining: number;
}

/** Options of the retry strategy. */
export interface RetryOptions<T = any> {
  /**
   * Retries in addition to the original call. Default 3. Infinity retries until aborted.
   *
   * An integer >= 0, or Infinity.
   */
  maxRetryAttempts?: number | undefined;
  /**
   * Base delay. Default 2000 ms. A retry whose delay, of whatever origin, is not shorter than what is left of a
   * deadline around it is not made: the outcome that is there is the result, at once.
   *
   * >= 0. With 0 the next attempt follows at once, but after every hundredth a millisecond later.
   */
  delay?: Duration | undefined;
  /**
   * The delay after attempt n, counted from 0. Default 'constant': delay. 'linear': delay * (n + 1).
   * 'exponential': delay * 2^n.
   */
  backoffType?: 'constant' | 'linear' | 'exponential' | undefined;
  /**
   * Cap of the computed delay, and of what Retry-After asks for. Default: none, and 24 h for Retry-After. >=
   * 0.
   */
  maxDelay?: Duration | undefined;
  /**
   * Spreads the retries of many callers over time. Default false.
   *
   * 'constant' and 'linear': a uniform +-25 %. 'exponential': decorrelated jitter, by the formula of
   * Polly.Contrib.WaitAndRetry's DecorrelatedJitterBackoffV2.
   */
  useJitter?: boolean | undefined;
  /**
   * Replaces the computed delay and Retry-After; is not capped by maxDelay. `undefined`, a throw and an
   * answer that is no duration mean what they would be without it; telemetry reports the latter two as
   * `CallbackError`.
   */
  delayGenerator?: ((args: RetryDelayArgs<T>) => MaybePromise<Duration | undefined>) | undefined;
  /**
   * Which outcomes to retry. Default: any failure but the caller's own abort. One that throws ends the
   * retries with the outcome as it is; telemetry reports it as `CallbackError`.
   */
  shouldHandle?: ((args: RetryPredicateArgs<T>) => MaybePromise<boolean>) | undefined;
  /**
   * Called, and awaited, before each delay. One that throws changes nothing; telemetry reports it as
   * `CallbackError`.
   */
  onRetry?: ((args: OnRetryArgs<T>) => MaybePromise<void>) | undefined;
  /**
   * Ends the retries while there are too many of them beside the first attempts, so that they do not add to
   * an overload. May be shared by pipelines. Default: none.
   */
  budget?: RetryBudget | undefined;
  /**
   * Whether a longer Retry-After lengthens the delay, up to maxDelay. Default true.
   *
   * Read from the `retryAfter` of this package's rejections, and from `headers` or `response.headers` of the
   * error or the result: seconds or an HTTP-date.
   */
  respectRetryAfter?: boolean | undefined;
  /** Strategy name. Default `'Retry'`. */
  name?: string | undefined;
}

/** The live retry strategy of a pipeline. */
export interface RetryStrategy {
  readonly name: string;
}

/**
 * The retry strategy, for `PipelineBuilder.add()`: runs what is inside of it again while shouldHandle says
 * so.
 *
 * The outcome of the last attempt is the outcome. Each attempt has a context of its own.
 *
 * @throws TypeError or RangeError for an option that is unknown or outside of its range.
 *
 * @example
 * const pipeline = new PipelineBuilder<Response>()
 *   .add(retryStrategy({ delay: '200ms', backoffType: 'exponential', useJitter: true, maxDelay: '5s' }))
 *   .add(timeoutStrategy('2s'))
 *   .build();
 */
export function retryStrategy<T = any>(options?: RetryOptions<T>): ResilienceStrategy<T>;
