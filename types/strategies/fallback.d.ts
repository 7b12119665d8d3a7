import type { MaybePromise } from '../context.js';
import type { OutcomeArgs } from '../outcome.js';
import type { ResilienceStrategy } from '../strategy.js';

/** Options of the fallback strategy. Give exactly one of `fallbackValue` and `fallbackAction`. */
export interface FallbackOptions<T = any> {
  /** The substitute value. Give either this or fallbackAction. */
  fallbackValue?: T | undefined;
  /**
   * Produces the substitute value; throwing here makes the execution fail with that error. Give either this
   * or fallbackValue.
   */
  fallbackAction?: ((args: OutcomeArgs<T>) => MaybePromise<T>) | undefined;
  /**
   * Which outcomes to replace. Default: every failure but the caller's own abort. One that throws leaves the
   * outcome as it is; telemetry reports it as `CallbackError`.
   */
  shouldHandle?: ((args: OutcomeArgs<T>) => MaybePromise<boolean>) | undefined;
  /**
   * Called before an outcome is replaced. One that throws changes nothing; telemetry reports it as
   * `CallbackError`.
   */
  onFallback?: ((args: OutcomeArgs<T>) => MaybePromise<void>) | undefined;
  /** Strategy name. Default `'Fallback'`. */
  name?: string | undefined;
}

/** The live fallback strategy of a pipeline. */
export interface FallbackStrategy {
  readonly name: string;
}

/**
 * The fallback, for `PipelineBuilder.add()`. Without shouldHandle it catches every failure of the
 * strategies added after it, so their errors leave the error type.
 *
 * Only the caller's own abort passes.
 *
 * @throws TypeError for an option that is unknown or of another type, and without exactly one of
 * `fallbackValue` and `fallbackAction`.
 *
 * @example
 * const recommendations = new PipelineBuilder<string[]>()
 *   .add(fallbackStrategy({ fallbackAction: () => [] }))
 *   .add(timeoutStrategy('300ms'))
 *   .build();
 */
export function fallbackStrategy<T = any>(
  options: FallbackOptions<NoInfer<T>> & { shouldHandle?: undefined },
): ResilienceStrategy<T, never, string>;
/**
 * With shouldHandle the outcomes that it does not choose pass, so the errors of the strategies added after
 * it stay in the error type.
 */
export function fallbackStrategy<T = any>(options: FallbackOptions<NoInfer<T>>): ResilienceStrategy<T>;
