import type { MaybePromise, ResilienceContext } from '../context.js';
import type { Duration } from '../duration.js';
import type { RateLimiterRejectedError, RateLimiterRejectionReason } from '../errors.js';
import type { ResilienceStrategy } from '../strategy.js';

/** The argument of a rate limiter's `onRejected`. */
export interface OnRateLimiterRejectedArgs {
  readonly context: ResilienceContext;
  /** In how many ms a permit of that key is due; `undefined` after `dispose()`. */
  readonly retryAfter: number | undefined;
  readonly reason: RateLimiterRejectionReason;
}

/** Options of the rate limiter. */
export interface RateLimiterOptions {
  /** Executions that may start in each window. An integer, 1 to 2^31-1. */
  permitLimit: number;
  /** The length of a window, > 0. */
  window: Duration;
  /**
   * How permits come back. Default 'fixed-window': all of them when the window ends that began with a key's
   * first permit. 'sliding-window': each one a window after it was taken, so that no window of that length
   * holds more than permitLimit. 'token-bucket': permitLimit per window, evenly, up to `burst`.
   *
   * A sliding window of more than 16 permits may hold one back for up to 1/15 of the window.
   */
  algorithm?: 'fixed-window' | 'sliding-window' | 'token-bucket' | undefined;
  /**
   * Most permits of a token bucket, which starts full. Default permitLimit. An integer >= 1; for
   * 'token-bucket' only.
   */
  burst?: number | undefined;
  /**
   * Whom a permit is counted for: each key has permits of its own. Default: one key for all. `undefined` is
   * a key like any other.
   *
   * Called once for each execution. One that throws, or returns anything else, rejects that execution only:
   * with what it threw, or with a `TypeError`. Keys are not kept, but a hash of them.
   */
  key?: ((context: ResilienceContext) => string | number | undefined) | undefined;
  /**
   * Most keys that are remembered. Default 100000. An integer, 1 to 2^26-1.
   *
   * One more forgets the key that was not used for longest, with its count; the first time a process warning
   * says so. See {@link RateLimiterStrategy.evictions}.
   */
  maxKeys?: number | undefined;
  /** Max executions of each key waiting (FIFO) for a permit. Default 0. An integer, 0 to 2^31-1. */
  queueLimit?: number | undefined;
  /** Called on every rejection. One that throws changes nothing; telemetry reports it as `CallbackError`. */
  onRejected?: ((args: OnRateLimiterRejectedArgs) => MaybePromise<void>) | undefined;
  /** Strategy name. Default `'RateLimiter'`. */
  name?: string | undefined;
}

/** The live rate limiter of a pipeline. */
export interface RateLimiterStrategy {
  readonly name: string;
  readonly permitLimit: number;
  /** Permits left now for the key `undefined`: for everyone, if there is no `key` option. */
  readonly available: number;
  /** Permits left now for a key. */
  availableFor(key: string | number | undefined): number;
  /** Executions waiting for a permit now, of all keys. */
  readonly queued: number;
  /** Keys that are remembered now. */
  readonly keys: number;
  /** Keys that were forgotten too early, because there were more than `maxKeys`. */
  readonly evictions: number;
}

/**
 * The rate limiter, for `PipelineBuilder.add()`: lets `permitLimit` executions start per window.
 *
 * Without a permit an execution waits until one is due, if the queue has room; else it rejects with {@link
 * RateLimiterRejectedError}. A permit that was taken is not given back.
 *
 * @throws TypeError or RangeError for an option that is unknown or outside of its range.
 *
 * @example
 * const pipeline = new PipelineBuilder()
 *   .add(rateLimiterStrategy({ permitLimit: 100, window: '1s', algorithm: 'token-bucket', burst: 20 }))
 *   .build();
 */
export function rateLimiterStrategy(
  options: RateLimiterOptions,
): ResilienceStrategy<any, RateLimiterRejectedError>;
