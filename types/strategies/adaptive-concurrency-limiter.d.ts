import type { MaybePromise, ResilienceContext } from '../context.js';
import type { Duration } from '../duration.js';
import type { BulkheadRejectedError } from '../errors.js';
import type { LimitAlgorithm, LimitSample } from '../limit-algorithms.js';
import type { OutcomeArgs } from '../outcome.js';
import type { ResilienceStrategy } from '../strategy.js';
import type { OnRejectedArgs } from './concurrency-limiter.js';

/** Options of the adaptive concurrency limiter. */
export interface AdaptiveConcurrencyLimiterOptions<T = any> {
  /**
   * Default 'gradient2'. Pass an object for custom tuning (vegas({ alpha: 2 })) or your own algorithm.
   *
   * An algorithm of your own serves one limiter: building a second one with it throws.
   */
  algorithm?: 'vegas' | 'gradient2' | 'aimd' | LimitAlgorithm | undefined;
  /**
   * Default 20.
   *
   * An integer. The default is clamped into [minLimit, maxLimit]; a value that you give must lie within.
   */
  initialLimit?: number | undefined;
  /** Default 1. An integer >= 1. */
  minLimit?: number | undefined;
  /** Default 1000. An integer >= minLimit; the default is raised to a minLimit above it. */
  maxLimit?: number | undefined;
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
  /**
   * Which outcomes signal overload. Default `defaultShouldDrop`.
   *
   * A failure that is no drop gives no sample. Nor does a predicate that throws; telemetry reports it as
   * `CallbackError`.
   */
  shouldDrop?: ((args: OutcomeArgs<T>) => boolean) | undefined;
  /** Read limit / inflight / queued from outside. */
  limitProvider?: AdaptiveLimitProvider | undefined;
  /**
   * Called when the whole-number limit changes. One that throws changes nothing; telemetry reports it as
   * `CallbackError`.
   */
  onLimitChanged?: ((args: OnLimitChangedArgs) => void) | undefined;
  /** Called on every rejection. One that throws changes nothing; telemetry reports it as `CallbackError`. */
  onRejected?: ((args: OnRejectedArgs) => MaybePromise<void>) | undefined;
  /** Strategy name. Default `'AdaptiveConcurrencyLimiter'`. */
  name?: string | undefined;
}

/**
 * The default of `shouldDrop`: timeouts, rejections and transient errors. These are an
 * `ExecutionRejectedError`, a `TimeoutError` such as that of `AbortSignal.timeout()`, a `status` or
 * `statusCode` of 408 or 5xx, and the codes `ECONN*`, `EPIPE`, `ETIMEDOUT`, `EAI_AGAIN` and `UND_ERR_*`, on
 * the error or on a `cause` behind it. Not client errors (4xx), nor aborts, nor a success.
 *
 * @example
 * const shouldDrop = (args: OutcomeArgs<Response>) =>
 *   defaultShouldDrop(args) || (args.outcome.ok && args.outcome.result.status === 503);
 */
export function defaultShouldDrop(args: OutcomeArgs<any>): boolean;

/**
 * Reads the live limit of one adaptive limiter (health checks, dashboards).
 *
 * Attaches to one limiter: building a second one with it throws. Until it is attached, everything reads 0.
 *
 * @example
 * const provider = new AdaptiveLimitProvider();
 * const pipeline = new ResiliencePipelineBuilder()
 *   .addAdaptiveConcurrencyLimiter({ limitProvider: provider })
 *   .build();
 * console.log(provider.limit, provider.inflight, provider.queued);
 */
export class AdaptiveLimitProvider {
  constructor();
  /** The limit now, in whole permits. */
  readonly limit: number;
  /** Executions running now. */
  readonly inflight: number;
  /** Executions waiting for a permit now. */
  readonly queued: number;
}

/** The argument of `onLimitChanged`. */
export interface OnLimitChangedArgs {
  /** The limit before, in whole permits. */
  readonly oldLimit: number;
  /** The limit from now on, in whole permits. */
  readonly newLimit: number;
  /** The sample that moved it. */
  readonly sample: LimitSample;
}

/** The live adaptive concurrency limiter of a pipeline. */
export interface AdaptiveConcurrencyLimiterStrategy {
  readonly name: string;
  /** The limit now, in whole permits. */
  readonly limit: number;
  /** Executions running now. */
  readonly inflight: number;
  /** Executions waiting for a permit now. */
  readonly queued: number;
}

/**
 * The adaptive concurrency limiter, for `PipelineBuilder.add()`: a concurrency limit that tunes itself from
 * observed latency and failures (gradient2 / vegas / aimd).
 *
 * Admits as the fixed limiter does, and rejects with {@link BulkheadRejectedError}.
 *
 * @throws TypeError or RangeError for an option that is unknown or outside of its range.
 *
 * @example
 * const pipeline = new PipelineBuilder()
 *   .add(adaptiveConcurrencyLimiterStrategy({ minLimit: 5, maxLimit: 200 }))
 *   .build();
 */
export function adaptiveConcurrencyLimiterStrategy<T = any>(
  options?: AdaptiveConcurrencyLimiterOptions<T>,
): ResilienceStrategy<T, BulkheadRejectedError>;
