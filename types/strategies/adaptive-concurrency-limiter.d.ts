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
  algorithm?: 'vegas' | 'gradient2' | 'aimd' | 'knee' | LimitAlgorithm | undefined;
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
  /**
   * The kind of an execution, such as its route or its query. `knee` then keeps a latency without a queue for
   * each kind, and a mix of calls that changes moves the limit less. The first 64 kinds are told apart.
   *
   * Called at the end of an execution that ran and gives a sample. One that throws, or returns no string, is
   * reported as `CallbackError`; that sample has no kind.
   */
  operation?: ((context: ResilienceContext) => string | undefined) | undefined;
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
 * `ExecutionRejectedError`, a `TimeoutError` such as that of `AbortSignal.timeout()`, a status of 408 or 5xx
 * where `isTransient` reads it, and the codes of broken connections: `ECONN*`, `EPIPE`, `ETIMEDOUT`,
 * `EAI_AGAIN`, `UND_ERR_SOCKET` and undici's timeouts, on the error or on a `cause` behind it. Not client errors
 * (4xx), nor aborts, nor a success.
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

/** What `knee` did at the end of a window. */
export type LimitRule =
  /** Nothing. */
  | 'hold'
  /** The queue was shorter than meant, or the limiter is new. */
  | 'grow'
  /** The queue was longer than meant. */
  | 'trim'
  /** It was much longer; the next window shows whether it was a queue at all. */
  | 'cut'
  /** Latency stayed after a cut: the dependency is slower, and the limit goes back up. */
  | 'undo'
  /** The limit falls for a moment, to measure the latency without a queue. */
  | 'probe'
  /** Latency still fell: the probe goes deeper. */
  | 'probe-deeper'
  /** The latency is measured, and the limit comes back. */
  | 'probe-end'
  /** Much was dropped; the next window shows whether a lower limit helps. */
  | 'loss-cut'
  /** It did not help: the drops have another cause, and the limit goes back up. */
  | 'loss-not-ours'
  /** Nearly everything was dropped. */
  | 'outage'
  /** After an outage, on the way back to the old limit. */
  | 'recover'
  /** The limit did not bind: room was made ahead of time, or given back. */
  | 'headroom';

/** The argument of the telemetry event `OnLimitDecision`: what a window of samples showed, and what came of it. */
export interface OnLimitDecisionArgs {
  /** What was done. */
  readonly rule: LimitRule;
  /** The mean in flight. */
  readonly inflight: number;
  /** The mean latency over the latency without a queue; `undefined` if nothing was answered. */
  readonly latencyRatio: number | undefined;
  /** The ratio that is aimed at. */
  readonly targetRatio: number;
  /** The share of calls that were dropped, 0 to 1. */
  readonly dropRatio: number;
  /** The limit before, fraction included. */
  readonly oldLimit: number;
  /** The limit from now on, fraction included. */
  readonly newLimit: number;
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
  /**
   * Callbacks of the pipeline that run on although their execution has ended, by a deadline or an abort: their permits
   * are back, and they run beside those that hold one.
   */
  readonly abandoned: number;
}

/**
 * The adaptive concurrency limiter, for `PipelineBuilder.add()`: a concurrency limit that tunes itself from
 * observed latency and failures (gradient2 / vegas / aimd / knee).
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
