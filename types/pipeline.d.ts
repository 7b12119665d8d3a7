import type { ExecuteOptions, ExecuteStreamOptions, ItemSource, MaybePromise, ResilienceContext } from './context.js';
import type { BulkheadRejectedError, PipelineDisposedError, RateLimiterRejectedError } from './errors.js';
import type { Outcome } from './outcome.js';
import type { AdaptiveConcurrencyLimiterStrategy } from './strategies/adaptive-concurrency-limiter.js';
import type { CircuitBreakerStrategy } from './strategies/circuit-breaker.js';
import type { ConcurrencyLimiterStrategy } from './strategies/concurrency-limiter.js';
import type { FallbackStrategy } from './strategies/fallback.js';
import type { HedgingStrategy } from './strategies/hedging.js';
import type { RateLimiterStrategy } from './strategies/rate-limiter.js';
import type { RetryStrategy } from './strategies/retry.js';
import type { TimeoutStrategy } from './strategies/timeout.js';
import type { CustomStrategy } from './strategy.js';

/** A live strategy of a pipeline. */
export type ResilienceStrategyView =
  | RetryStrategy
  | TimeoutStrategy
  | CircuitBreakerStrategy
  | ConcurrencyLimiterStrategy
  | AdaptiveConcurrencyLimiterStrategy
  | RateLimiterStrategy
  | FallbackStrategy
  | HedgingStrategy
  | CustomStrategy;

/**
 * Runs callbacks through its strategies. Made by `build()` of a builder; reuse it: limits
 * count the executions of one pipeline, in one thread.
 *
 * @example
 * const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(10).addTimeout('2s').build();
 * const user = await pipeline.execute(({ signal }) => loadUser(id, signal));
 */
export class ResiliencePipeline<T = any, E = unknown> {
  private constructor();

  /** `ResiliencePipelineBuilderOptions.name`. */
  readonly name: string | undefined;

  /**
   * Runs the callback through the pipeline; throws the final error.
   *
   * The callback may return a value or a thenable, or throw. A stream is a value as any other, and not looked
   * into: for its items to be a part of the execution see {@link ResiliencePipeline.executeStream}.
   *
   * @throws one of `E`, what the callback threw, or `options.signal.reason`; after `dispose()`,
   * {@link PipelineDisposedError}.
   */
  execute<R extends T>(
    callback: (context: ResilienceContext) => MaybePromise<R>,
    options?: ExecuteOptions,
  ): Promise<R>;

  /**
   * Runs the callback through the pipeline; never rejects, but resolves with the outcome.
   *
   * @example
   * const outcome = await pipeline.settle(({ signal }) => fetch(url, { signal }));
   * if (outcome.ok) console.log(outcome.result.status);
   */
  settle<R extends T>(
    callback: (context: ResilienceContext) => MaybePromise<R>,
    options?: ExecuteOptions,
  ): Promise<Outcome<R, E>>;

  /**
   * Runs a callback that gives a stream of items (of tokens, of rows) as one execution.
   *
   * It starts at the first `next()` and holds its permits and its context until the stream ends, `return()` or
   * `throw()` is called (`break` does), or it is aborted. One item is asked for at a time, when it is read. The
   * deadlines of the pipeline guard the time to the first item; with `{ body: true }` the whole stream. Retry and
   * hedging start the callback again before the first item only, and a fallback gives another stream then.
   *
   * Every error comes out of `next()`: what `execute` rejects with, and what the stream throws.
   *
   * @example
   * for await (const token of pipeline.executeStream(({ signal }) => model.stream(prompt, { signal }))) {
   *   response.write(token);
   * }
   */
  executeStream<Item>(
    callback: (context: ResilienceContext) => MaybePromise<ItemSource<Item>>,
    options?: ExecuteStreamOptions,
  ): AsyncGenerator<Item, void, undefined>;

  /**
   * The live strategy of that name (the `name` option, or its default); `undefined` if there is none.
   *
   * @example
   * const { inflight, queued } = pipeline.getStrategy('ConcurrencyLimiter')!;
   */
  getStrategy(name: 'Retry'): RetryStrategy | undefined;
  getStrategy(name: 'Timeout'): TimeoutStrategy | undefined;
  getStrategy(name: 'CircuitBreaker'): CircuitBreakerStrategy | undefined;
  getStrategy(name: 'ConcurrencyLimiter'): ConcurrencyLimiterStrategy | undefined;
  getStrategy(name: 'AdaptiveConcurrencyLimiter'): AdaptiveConcurrencyLimiterStrategy | undefined;
  getStrategy(name: 'RateLimiter'): RateLimiterStrategy | undefined;
  getStrategy(name: 'Fallback'): FallbackStrategy | undefined;
  getStrategy(name: 'Hedging'): HedgingStrategy | undefined;
  getStrategy(name: string): ResilienceStrategyView | undefined;

  /**
   * Ends the pipeline. Waiters reject with {@link BulkheadRejectedError} or
   * {@link RateLimiterRejectedError}, reason `'disposed'`; later executions reject with
   * {@link PipelineDisposedError}; running callbacks finish, but no further attempt starts, and a delay ends
   * at once with the outcome that there is. Calling it again does nothing.
   */
  dispose(): void;
  /** {@link ResiliencePipeline.dispose}, for `using`. */
  [Symbol.dispose](): void;
}
