import type { MaybePromise, ResilienceContext } from '../context.js';
import type { Duration } from '../duration.js';
import type { BulkheadRejectedError, BulkheadRejectionReason } from '../errors.js';
import type { ResilienceStrategy } from '../strategy.js';

/** The argument of a concurrency limiter's `onRejected`, fixed or adaptive. */
export interface OnRejectedArgs {
  readonly context: ResilienceContext;
  /** `undefined`: a limiter cannot tell when a permit will be free. */
  readonly retryAfter: number | undefined;
  readonly reason: BulkheadRejectionReason;
}

/** Options of the concurrency limiter. */
export interface ConcurrencyLimiterOptions {
  /** Max executions running at once. An integer, 1 to 2^31-1. */
  permitLimit: number;
  /** Max executions waiting (FIFO) for a permit. Default 0. An integer, 0 to 2^31-1. */
  queueLimit?: number | undefined;
  /** Longest a queued execution waits for a permit before it is rejected. Default: no limit. > 0. */
  queueTimeout?: Duration | undefined;
  /**
   * Queue order: lower runs sooner (like a Unix nice value); FIFO within a priority. Default 0 for everyone.
   *
   * Called once for each execution. One that throws, or returns no number, rejects that execution only: with
   * what it threw, or with a `TypeError`.
   */
  priority?: ((context: ResilienceContext) => number) | undefined;
  /**
   * When the queue is full: 'reject-new' (default) rejects the newcomer; 'drop-oldest' rejects the
   * longest-waiting execution instead; 'drop-lowest-priority' rejects the newest of the lowest priority, if
   * the newcomer outranks it. Dropped executions reject with BulkheadRejectedError reason 'dropped'.
   *
   * Running executions are never interrupted to make room.
   */
  overflow?: 'reject-new' | 'drop-oldest' | 'drop-lowest-priority' | undefined;
  /** Called on every rejection. One that throws changes nothing; telemetry reports it as `CallbackError`. */
  onRejected?: ((args: OnRejectedArgs) => MaybePromise<void>) | undefined;
  /** Strategy name. Default `'ConcurrencyLimiter'`. */
  name?: string | undefined;
}

/** The live concurrency limiter of a pipeline. */
export interface ConcurrencyLimiterStrategy {
  readonly name: string;
  readonly permitLimit: number;
  /** Executions running now. */
  readonly inflight: number;
  /** Executions waiting for a permit now. */
  readonly queued: number;
  /**
   * Callbacks of the pipeline that run on although their execution has ended, by a deadline or an abort: their permits
   * are back, and they run beside those that hold one.
   */
  readonly abandoned: number;
}

/**
 * The concurrency limiter, for `PipelineBuilder.add()`: concurrencyLimiterStrategy(10),
 * concurrencyLimiterStrategy(10, 50) or full options.
 *
 * Runs an execution if fewer than `permitLimit` run and nobody waits; else it waits, if the queue has room;
 * else it rejects with {@link BulkheadRejectedError}. A freed permit goes to the next waiter: no newcomer
 * overtakes it.
 *
 * @throws TypeError or RangeError for an option that is unknown or outside of its range.
 *
 * @example
 * const pipeline = new PipelineBuilder().add(concurrencyLimiterStrategy(10, 50)).build();
 */
export function concurrencyLimiterStrategy(
  options: number | ConcurrencyLimiterOptions,
  queueLimit?: number,
): ResilienceStrategy<any, BulkheadRejectedError>;
