import type { ResiliencePipeline } from './pipeline.js';
import type { CustomStrategy, ResilienceStrategy } from './strategy.js';
import type { TelemetryEvent } from './telemetry.js';

/**
 * `E` and the error that one more strategy raises, unless an outer fallback catches it: `C` holds the codes
 * that are caught.
 */
export type WithErrors<E, C, New extends { code: string }> = E | (New['code'] extends C ? never : New);

/** Options of a pipeline. */
export interface ResiliencePipelineBuilderOptions {
  /** Labels telemetry events. Not empty. Default: no name. */
  name?: string | undefined;
  /**
   * How an execution reaches what runs inside of it. 'ambient' (default): nested executions inherit the
   * context, and `getResilienceContext()` finds it, through AsyncLocalStorage. 'explicit': no
   * AsyncLocalStorage; the context reaches the callback only as its argument. For hot paths.
   */
  context?: 'ambient' | 'explicit' | undefined;
  /** Called with every telemetry event. One that throws changes nothing; it becomes a process warning. */
  telemetry?: ((event: TelemetryEvent) => void) | undefined;
}

/**
 * Builds pipelines from strategies made apart: `retryStrategy()`, `timeoutStrategy()`, … Only what is
 * imported needs to be bundled. Interchangeable with {@link ResiliencePipelineBuilder}, which extends it.
 *
 * `T` is what the pipeline's executions produce, `E` the union of its typed errors, `C` the error codes that
 * a fallback catches. Strategies run in the order added: the first is the outermost.
 *
 * @throws TypeError or RangeError for an option that is unknown or outside of its range; the message names
 * the option, the value and the accepted range.
 *
 * @example
 * const pipeline = new PipelineBuilder<Response>({ name: 'search' })
 *   .add(retryStrategy({ maxRetryAttempts: 2, delay: '100ms' }))
 *   .add(timeoutStrategy('2s'))
 *   .build();
 */
export class PipelineBuilder<T = any, E = never, C extends string = never> {
  constructor(options?: ResiliencePipelineBuilderOptions);

  /**
   * Adds what `retryStrategy()` and its like return, or a strategy of your own: a function that makes a
   * {@link CustomStrategy}.
   *
   * Changes this builder and returns it, under a narrower type. A strategy of your own adds nothing to the
   * error type; name the errors that it raises: `add<QuotaError>(quota)`.
   *
   * @throws TypeError for anything else.
   */
  add<New extends { code: string } = never, Caught extends string = never>(
    strategy: ResilienceStrategy<T, New, Caught> | (() => CustomStrategy<T>),
  ): PipelineBuilder<T, WithErrors<E, C, New>, C | Caught>;

  /**
   * Makes a pipeline. May be called again: every pipeline has state of its own.
   *
   * @throws Error if a `limitProvider`, a `stateProvider`, or a limit algorithm of your own, already serves
   * another strategy; TypeError if a function that was added makes no strategy.
   */
  build(): ResiliencePipeline<T, E>;
}
