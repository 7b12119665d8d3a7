import type { ResilienceContext } from './context.js';
import type { Outcome } from './outcome.js';

/** Where a strategy's types are kept; nothing is there at run time. */
declare const types: unique symbol;

/**
 * What `retryStrategy()`, `timeoutStrategy()` and their like return, for `PipelineBuilder.add()`. May be
 * added to any number of builders, of either kind: every built pipeline has state of its own.
 *
 * `T` is what the executions produce, `New` the union of the errors that the strategy raises, `Caught` the
 * codes that it catches from the strategies inside of it.
 */
export interface ResilienceStrategy<
  T = any,
  New extends { code: string } = never,
  Caught extends string = never,
> {
  readonly [types]: { readonly result: (result: T) => T; readonly raises: New; readonly catches: Caught };
}

/**
 * A strategy of your own. `PipelineBuilder.add()` takes a function that makes one; it is called once for
 * each built pipeline, so that each has state of its own, and `pipeline.getStrategy(name)` returns what it
 * made.
 *
 * @example
 * // Counts failures.
 * const counting = (): CustomStrategy & { failures: number } => {
 *   const strategy = {
 *     name: 'Counting',
 *     failures: 0,
 *     async execute(next: NextStrategy, context: ResilienceContext) {
 *       const outcome = await next(context);
 *       if (!outcome.ok) strategy.failures++;
 *       return outcome;
 *     },
 *   };
 *   return strategy;
 * };
 * const pipeline = new PipelineBuilder().add(counting).add(timeoutStrategy('2s')).build();
 */
export interface CustomStrategy<T = any> {
  /** Finds the strategy by `getStrategy`, and labels telemetry. Not empty. */
  readonly name: string;
  /**
   * Runs one execution.
   *
   * Resolves with its outcome: what `next` resolved with, or one made by `Outcome.success` or
   * `Outcome.failure`. If it throws or rejects, the execution fails with that error; if it resolves with
   * anything else, with a `TypeError`.
   *
   * @param next Runs what is inside of this strategy.
   * @param context The context of this execution.
   */
  execute(next: NextStrategy<T>, context: ResilienceContext): Promise<Outcome<T>>;
}

/**
 * Runs the strategies inside of a strategy, and the callback in the innermost. Never rejects, but resolves
 * with the outcome. May be called any number of times: each call has a fresh context below the given one,
 * with a signal of its own.
 */
export type NextStrategy<T = any> = (context: ResilienceContext) => Promise<Outcome<T>>;

// Only what is marked `export` is public.
export {};
