// Apart from the rest of the contract, so that the builder can have an alias of the same name that is
// optional: see `addAdaptiveConcurrencyLimiter` in ../index.d.ts.

import type {
  AdaptiveLimitProvider,
  Duration,
  LimitAlgorithm,
  MaybePromise,
  OnLimitChangedArgs,
  OnRejectedArgs,
  OutcomeArgs,
} from '../index.js';

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
