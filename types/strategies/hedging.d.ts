import type { MaybePromise, ResilienceContext } from '../context.js';
import type { Duration } from '../duration.js';
import type { OutcomeArgs } from '../outcome.js';
import type { ResilienceStrategy } from '../strategy.js';

/** The argument of a hedging's `shouldHandle`. */
export interface HedgingPredicateArgs<T> extends OutcomeArgs<T> {
  /** The attempt that ended so: 0 is the original call. */
  readonly attemptNumber: number;
}

/** The argument of `actionGenerator`. */
export interface HedgingActionArgs<T> {
  /** The context of the execution that is hedged. */
  readonly primaryContext: ResilienceContext;
  /** The context of the attempt that is to start: its signal aborts when another attempt wins. */
  readonly actionContext: ResilienceContext;
  /** The attempt that is to start, >= 1: the original call is 0. */
  readonly attemptNumber: number;
  /** Runs what is inside of the strategy, as an attempt without a generator does. */
  readonly callback: (context: ResilienceContext) => Promise<T>;
}

/** The argument of `onHedging`. */
export interface OnHedgingArgs {
  readonly context: ResilienceContext;
  /** The attempt that is about to start, >= 1. */
  readonly attemptNumber: number;
  /** Time since the original call, in ms. */
  readonly duration: number;
}

/** Options of the hedging strategy. */
export interface HedgingOptions<T = any> {
  /** Attempts in addition to the original call. Default 1. An integer, 1 to 10. */
  maxHedgedAttempts?: number | undefined;
  /**
   * How long without an outcome until the next attempt starts. Default 2000 ms. >= 0.
   *
   * 0: all attempts start at once. Infinity: an attempt starts only when another has ended with an outcome
   * that shouldHandle chooses. (Such an outcome always starts the next one at once.)
   */
  delay?: Duration | undefined;
  /**
   * Makes the action of an additional attempt, in place of what is inside of the strategy; `undefined`: no
   * further attempt. One that throws starts no further attempt either; telemetry reports it as
   * `CallbackError`.
   */
  actionGenerator?: ((args: HedgingActionArgs<T>) => (() => MaybePromise<T>) | undefined) | undefined;
  /**
   * Which outcomes do not win. Default: any failure but the caller's own abort. One that throws lets the
   * outcome win; telemetry reports it as `CallbackError`.
   */
  shouldHandle?: ((args: HedgingPredicateArgs<T>) => MaybePromise<boolean>) | undefined;
  /**
   * Called before each additional attempt. One that throws changes nothing; telemetry reports it as
   * `CallbackError`.
   */
  onHedging?: ((args: OnHedgingArgs) => MaybePromise<void>) | undefined;
  /** Strategy name. Default `'Hedging'`. */
  name?: string | undefined;
}

/** The live hedging strategy of a pipeline. */
export interface HedgingStrategy {
  readonly name: string;
}

/**
 * The hedging strategy, for `PipelineBuilder.add()`: when an attempt is slow, starts another beside it, and
 * takes the first good outcome.
 *
 * The signals of the others abort, and what becomes of them is ignored. If no attempt ends well, the outcome
 * of the last to end is the outcome.
 *
 * @throws TypeError or RangeError for an option that is unknown or outside of its range.
 *
 * @example
 * const pipeline = new PipelineBuilder<Response>()
 *   .add(hedgingStrategy({ delay: '50ms', maxHedgedAttempts: 2 }))
 *   .build();
 */
export function hedgingStrategy<T = any>(options?: HedgingOptions<NoInfer<T>>): ResilienceStrategy<T>;
