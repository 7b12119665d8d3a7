import type { MaybePromise, ResilienceContext } from '../context.js';
import type { Duration } from '../duration.js';
import type { TimeoutRejectedError } from '../errors.js';
import type { ResilienceStrategy } from '../strategy.js';

/** The argument of `onTimeout`. */
export interface OnTimeoutArgs {
  readonly context: ResilienceContext;
  /** The length of the deadline that passed, in ms. */
  readonly timeout: number;
}

/** Options of the timeout strategy. Give exactly one of `timeout` and `timeoutGenerator`. */
export interface TimeoutOptions {
  /**
   * Time until the deadline, > 0. One that has passed decides after the loop has read its sockets, so that what
   * came in time counts after the thread was busy or the process frozen.
   */
  timeout?: Duration | undefined;
  /**
   * Computes the time until the deadline for each execution. 0 or less: nothing is left, and the execution
   * rejects at once. Infinity: there is no deadline. A generator that throws, or returns no duration, makes the
   * execution fail with that error.
   */
  timeoutGenerator?: ((args: { readonly context: ResilienceContext }) => MaybePromise<Duration>) | undefined;
  /**
   * Called when a deadline passes. One that throws changes nothing; telemetry reports it as `CallbackError`.
   */
  onTimeout?: ((args: OnTimeoutArgs) => MaybePromise<void>) | undefined;
  /** Strategy name. Default `'Timeout'`. */
  name?: string | undefined;
}

/** The live timeout strategy of a pipeline. */
export interface TimeoutStrategy {
  readonly name: string;
  /** Callbacks that are still running although their deadline has passed. */
  readonly abandoned: number;
}

/**
 * The timeout strategy, for `PipelineBuilder.add()`: timeoutStrategy(5000), timeoutStrategy('5s') or
 * timeoutStrategy({ timeout: '5s', onTimeout }).
 *
 * At the deadline the execution rejects with {@link TimeoutRejectedError}, and `context.signal` aborts with
 * that error. What the callback does later is ignored.
 *
 * @throws TypeError or RangeError for an option that is unknown or outside of its range.
 *
 * @example
 * const pipeline = new PipelineBuilder().add(timeoutStrategy('5s')).build();
 */
export function timeoutStrategy(
  options: Duration | TimeoutOptions,
): ResilienceStrategy<any, TimeoutRejectedError>;
