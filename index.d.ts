/// <reference types="node" />

// The public contract. Node's own types are referenced above because they declare AbortSignal and
// Symbol.dispose whatever `lib` the user compiles with.

import type { AdaptiveConcurrencyLimiterOptions as AdaptiveOptions } from './lib/adaptive-options.js';

export type { AdaptiveConcurrencyLimiterOptions } from './lib/adaptive-options.js';

/** A value, or a promise (or any other thenable) of it. */
export type MaybePromise<T> = T | PromiseLike<T>;

/**
 * A length of time: a number of milliseconds, or a number with a unit: `'250ms'`, `'1.5s'`, `'5m'`, `'1h'`,
 * `'2d'`.
 *
 * Lengths beyond 2^31-1 ms (24.8 days) work. Anything else is a `TypeError` or a `RangeError` that names the
 * option, the value and the accepted range.
 */
export type Duration = number | `${number}ms` | `${number}s` | `${number}m` | `${number}h` | `${number}d`;

// Executions ------------------------------------------------------------------------------------------------

/** What an execution knows about itself; the argument of every callback. */
export interface ResilienceContext {
  /**
   * Aborted when the caller cancels, or when a strategy (timeout) gives up on this execution.
   *
   * `signal.reason` is the caller's own reason, or the strategy's error. It also aborts when an enclosing
   * execution does, and never because of a success: a returned stream stays readable. Created only when read.
   */
  readonly signal: AbortSignal;
  /**
   * Shared bag for passing data between strategies and the callback.
   *
   * A nested execution has the map of the enclosing one, unless `ExecuteOptions.properties` is given.
   */
  readonly properties: Map<string, unknown>;
  /** `ExecuteOptions.operationKey`, or `undefined`. */
  readonly operationKey: string | undefined;
}

/** Options of one execution. */
export interface ExecuteOptions {
  /**
   * Cancels this execution: queued or running, it rejects at once with `signal.reason`. Already aborted: the
   * callback is not called. Default: the signal of the enclosing execution only.
   */
  signal?: AbortSignal | undefined;
  /**
   * Becomes `context.properties`: a `Map` itself, any other iterable as a copy. Default: the enclosing
   * execution's map, or an empty one.
   */
  properties?: Iterable<readonly [string, unknown]> | undefined;
  /** Names the operation in `context.operationKey` and in telemetry. Default: `undefined`. */
  operationKey?: string | undefined;
}

/** The code of a typed error; `never` for an error without a literal `code`. */
type CodeOf<E> = E extends { code: infer K extends string } ? (string extends K ? never : K) : never;

/** The errors of this package that carry a code, by that code. */
interface RejectionByCode {
  TIMEOUT: TimeoutRejectedError;
  BULKHEAD_FULL: BulkheadRejectedError;
  PIPELINE_DISPOSED: PipelineDisposedError;
}

/**
 * The cases of {@link OutcomeMatch.match}: `ok`, `error` and one per code that `E` can raise are required;
 * the other codes of this package may be given, because a nested pipeline's rejection can pass through.
 */
export type MatchCases<T, E> = {
  /** The execution succeeded. */
  ok: (result: T) => unknown;
  /** It failed with an error that no other case names. */
  error: (error: unknown) => unknown;
} & {
  [K in CodeOf<E>]: (error: Extract<E, { code: K }>) => unknown;
} & {
  [K in Exclude<keyof RejectionByCode, CodeOf<E>>]?: (error: RejectionByCode[K]) => unknown;
};

/** The method that both kinds of outcome share. */
export interface OutcomeMatch<T, E> {
  /**
   * Calls the one case that fits, and returns what it returns: `ok` with the result, the case named by the
   * error's `code`, or else `error`.
   *
   * @throws what the case throws.
   *
   * @example
   * const outcome = await pipeline.settle(({ signal }) => fetch(url, { signal }));
   * const status = outcome.match({
   *   ok: (response) => response.status,
   *   BULKHEAD_FULL: () => 503,
   *   TIMEOUT: (error) => error.statusCode,
   *   error: () => 502,
   * });
   */
  match<Cases extends MatchCases<T, E>>(
    cases: Cases & { [K in Exclude<keyof Cases, keyof MatchCases<T, E>>]: never },
  ): Cases[keyof MatchCases<T, E> & keyof Cases] extends infer Case
    ? Case extends (...args: never) => infer R ? R : never
    : never;
}

/** An execution that succeeded. */
export interface OutcomeSuccess<T, E = unknown> extends OutcomeMatch<T, E> {
  readonly ok: true;
  readonly result: T;
}

/** An execution that failed. */
export interface OutcomeFailure<T, E = unknown> extends OutcomeMatch<T, E> {
  readonly ok: false;
  /** The final error: one of `E`, or whatever the callback threw. */
  readonly error: unknown;
}

/** What an execution produced. `E` is the union of the typed errors that its strategies can raise. */
export type Outcome<T, E = unknown> = OutcomeSuccess<T, E> | OutcomeFailure<T, E>;

/** Makes outcomes. */
export const Outcome: {
  /** An outcome that succeeded with `result`. */
  success<T>(result: T): OutcomeSuccess<T, never>;
  /** An outcome that failed with `error`. */
  failure<E>(error: E): OutcomeFailure<never, E>;
};

/** The argument of a predicate over outcomes. */
export interface OutcomeArgs<T> {
  readonly outcome: Outcome<T>;
  readonly context: ResilienceContext;
}

/**
 * The context of the execution that the calling code runs in; `undefined` outside of one.
 *
 * Inside an inbound request it also holds in the request's and the response's own events.
 *
 * @param request The framework's request object: finds the context of that request from anywhere.
 *
 * @example
 * const tenant = getResilienceContext()?.properties.get('tenant');
 */
export function getResilienceContext(request?: object): ResilienceContext | undefined;

/**
 * Shortcut for getResilienceContext()?.signal: pass it to fetch / your DB driver from deep inside a call.
 *
 * @example
 * await fetch('https://audit.internal/log', { method: 'POST', body: entry, signal: getResilienceSignal() });
 */
export function getResilienceSignal(): AbortSignal | undefined;

// Errors ----------------------------------------------------------------------------------------------------

/** Optional details of a rejection. */
export interface RejectionOptions {
  pipelineName?: string | undefined;
  strategyName?: string | undefined;
  cause?: unknown;
}

/**
 * A strategy refused or gave up on an execution. The base of every rejection of this package; `name` is the
 * name of the class.
 */
export abstract class ExecutionRejectedError extends Error {
  protected constructor(message: string, options?: RejectionOptions);
  /** Stable and machine-readable: a literal in each subclass. */
  readonly code: string;
  /** The HTTP status that fits. */
  readonly statusCode: number;
  /** In how many ms another try makes sense; `undefined` when nobody can tell. */
  readonly retryAfter: number | undefined;
  /** `ResiliencePipelineBuilderOptions.name` of the pipeline, if it has one. */
  readonly pipelineName: string | undefined;
  /** The name of the strategy; `undefined` when the pipeline itself rejected. */
  readonly strategyName: string | undefined;
}

/** The deadline passed before the execution ended. */
export class TimeoutRejectedError extends ExecutionRejectedError {
  /** @param timeoutMs The length of the deadline in ms. */
  constructor(timeoutMs: number, options?: RejectionOptions);
  readonly code: 'TIMEOUT';
  readonly statusCode: 504;
  /** The length of the deadline in ms. */
  readonly timeout: number;
}

/**
 * Why a limiter rejected: no permit and no place in the queue, waited longer than `queueTimeout`, pushed out
 * of the queue by `overflow`, or still queued when the pipeline was disposed.
 */
export type BulkheadRejectionReason = 'full' | 'queue-timeout' | 'dropped' | 'disposed';

/** A concurrency limiter, fixed or adaptive, had no permit for the execution. */
export class BulkheadRejectedError extends ExecutionRejectedError {
  constructor(
    reason: BulkheadRejectionReason,
    options: RejectionOptions & { active: number; queued: number },
  );
  readonly code: 'BULKHEAD_FULL';
  readonly statusCode: 503;
  readonly reason: BulkheadRejectionReason;
  /** Executions in flight at that moment. */
  readonly active: number;
  /** Executions waiting at that moment. */
  readonly queued: number;
}

/** `execute` or `settle` was called after `dispose()`. Not part of `E`: any pipeline can raise it. */
export class PipelineDisposedError extends ExecutionRejectedError {
  constructor(options?: RejectionOptions);
  readonly code: 'PIPELINE_DISPOSED';
  readonly statusCode: 503;
}

/** A defect in this package, never in the code that uses it: please report it. */
export class InternalError extends Error {
  constructor(message: string, options?: { cause?: unknown });
  readonly code: 'INTERNAL';
}

/**
 * Whether `error` is a rejection of this package, also one that comes from another copy of it or from another
 * realm, where `instanceof` fails.
 *
 * @example
 * if (isExecutionRejected(error)) res.status(error.statusCode).end();
 */
export function isExecutionRejected(error: unknown): error is ExecutionRejectedError;

// Timeout ---------------------------------------------------------------------------------------------------

/** The argument of `onTimeout`. */
export interface OnTimeoutArgs {
  readonly context: ResilienceContext;
  /** The length of the deadline that passed, in ms. */
  readonly timeout: number;
}

/** Options of the timeout strategy. Give exactly one of `timeout` and `timeoutGenerator`. */
export interface TimeoutOptions {
  /** Time until the deadline, > 0. */
  timeout?: Duration | undefined;
  /**
   * Computes the time until the deadline for each execution. 0 or less: nothing is left, and the execution
   * rejects at once. A generator that throws, or returns no duration, makes the execution fail with that
   * error.
   */
  timeoutGenerator?: ((args: { readonly context: ResilienceContext }) => MaybePromise<Duration>) | undefined;
  /**
   * Called when a deadline passes. One that throws changes nothing; telemetry reports it as `CallbackError`.
   */
  onTimeout?: ((args: OnTimeoutArgs) => MaybePromise<void>) | undefined;
  /** Strategy name. Default `'Timeout'`. */
  name?: string | undefined;
}

// Concurrency limiter ---------------------------------------------------------------------------------------

/** The argument of a limiter's `onRejected`. */
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

// Adaptive concurrency limiter ------------------------------------------------------------------------------

/** One finished execution, as a limit algorithm sees it. */
export interface LimitSample {
  /** Latency of the execution in ms. */
  rtt: number;
  /** Executions in flight when this one finished, itself included. */
  inflight: number;
  /** The dependency showed overload (timeout, rejection, transient error). */
  dropped: boolean;
  /** The current limit (may be fractional). */
  limit: number;
}

/**
 * Computes the next concurrency limit from a sample. Stateful: give each strategy its own instance. The
 * strategy clamps the result to [minLimit, maxLimit].
 *
 * A result that is not finite is ignored; an algorithm that throws is reported as `CallbackError` and changes
 * nothing.
 *
 * @example
 * // Halve on overload, otherwise creep up by one per call.
 * const halving: LimitAlgorithm = {
 *   onSample: ({ dropped, limit }) => (dropped ? limit / 2 : limit + 1),
 * };
 */
export interface LimitAlgorithm {
  /** Takes one sample, returns the next limit. */
  onSample(sample: LimitSample): number;
}

/** Options of {@link gradient2}. */
export interface Gradient2Options {
  /** How far short-term latency may exceed the baseline before the limit shrinks. Default 1.5. >= 1. */
  tolerance?: number | undefined;
  /** Samples in the short-term latency EMA. Default 10. >= 1. */
  shortWindow?: number | undefined;
  /** Samples in the long-term baseline EMA. Default 600. >= 1. */
  longWindow?: number | undefined;
  /** Weight of each new estimate. Default 0.2. In (0, 1]; lower is steadier. */
  smoothing?: number | undefined;
  /** Headroom added on top of limit * gradient, so the limit can grow. Default `Math.sqrt`. */
  queueSize?: ((limit: number) => number) | undefined;
  /** Multiplier on a drop. Default 0.9. In (0, 1). */
  backoffRatio?: number | undefined;
}

/** Options of {@link vegas}. */
export interface VegasOptions {
  /** Grow while the estimated queue is below alpha * log10(limit). Default 3. > 0. */
  alpha?: number | undefined;
  /** Shrink when the estimated queue is above beta * log10(limit). Default 6. > alpha. */
  beta?: number | undefined;
}

/** Options of {@link aimd}. */
export interface AimdOptions {
  /** Added per round trip. Default 1. > 0. */
  increase?: number | undefined;
  /** Multiplier on a drop. Default 0.9. In (0, 1). */
  backoffRatio?: number | undefined;
}

/**
 * Compares short-term latency with a long-term baseline: gradient = tolerance * baseline / shortLatency,
 * clamped to [0.5, 1]. The next limit is limit * gradient + queueSize(limit), blended into the old one by
 * `smoothing`; a drop multiplies the limit by `backoffRatio`. The baseline falls at once to any lower
 * latency, and rises slowly, only while latency is within tolerance. Samples with an rtt of 0 are ignored.
 * For general use: handles latency that drifts slowly.
 *
 * @throws TypeError or RangeError for an option outside of its range.
 *
 * @example
 * builder.addAdaptiveConcurrencyLimiter({ algorithm: gradient2({ tolerance: 2 }) });
 */
export function gradient2(options?: Gradient2Options): LimitAlgorithm;

/**
 * TCP Vegas applied to concurrency. The fastest latency seen is the no-queue latency; with limit calls in
 * flight at latency rtt, limit * (1 - minRtt / rtt) of them are waiting in the dependency's queue. Keep that
 * queue between alpha and beta: below means unused capacity, above only adds latency. Thresholds scale with
 * log10(limit) so large limits tolerate a longer queue. Instead of Vegas' fixed +-1 steps, the limit moves
 * toward the band by the queue error (damped), which converges in a few round trips.
 *
 * A drop cuts the limit by beta * log10(limit). For dependencies with a stable no-load latency.
 *
 * L. S. Brakmo, L. L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC
 * 13(8), 1995.
 *
 * @throws TypeError or RangeError for an option outside of its range.
 *
 * @example
 * builder.addAdaptiveConcurrencyLimiter({ algorithm: vegas({ alpha: 2, beta: 4 }) });
 */
export function vegas(options?: VegasOptions): LimitAlgorithm;

/**
 * Additive increase, multiplicative decrease (TCP Reno): + increase / limit per successful sample (so about
 * + increase per round trip), * backoffRatio per drop. Ignores latency: needs a timeout to produce drops.
 *
 * V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988.
 *
 * @throws TypeError or RangeError for an option outside of its range.
 *
 * @example
 * builder.addAdaptiveConcurrencyLimiter({ algorithm: aimd({ backoffRatio: 0.5 }) }).addTimeout('1s');
 */
export function aimd(options?: AimdOptions): LimitAlgorithm;

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

// Fallback --------------------------------------------------------------------------------------------------

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

// Telemetry -------------------------------------------------------------------------------------------------

/** The arguments of each telemetry event, by its name. */
export interface TelemetryEventArgs {
  /** An execution begins. Severity `debug`. */
  PipelineExecuting: { readonly context: ResilienceContext };
  /** An execution ended, after `duration` ms. Severity `information`. */
  PipelineExecuted: { readonly context: ResilienceContext; readonly duration: number; readonly ok: boolean };
  /** A deadline passed; `timeout` is its length in ms. Severity `error`. */
  OnTimeout: OnTimeoutArgs;
  /** An outcome is being replaced. Severity `warning`. */
  OnFallback: OutcomeArgs<unknown>;
  /** A concurrency limiter, fixed or adaptive, rejected an execution. Severity `error`. */
  OnRateLimiterRejected: {
    readonly context: ResilienceContext;
    readonly reason: BulkheadRejectionReason;
    readonly active: number;
    readonly queued: number;
  };
  /** The whole-number limit of an adaptive limiter changed. Severity `information`. */
  OnLimitChanged: OnLimitChangedArgs;
  /**
   * Your own callback, predicate or limit algorithm threw; the outcome is untouched. Without anyone who hears
   * it, it becomes a process warning. Severity `error`.
   */
  CallbackError: {
    /** Which one: `'onTimeout'`, `'shouldDrop'`, … */
    readonly callback: string;
    readonly error: unknown;
  };
}

export type TelemetryEventName = keyof TelemetryEventArgs;

export type TelemetrySeverity = 'debug' | 'information' | 'warning' | 'error';

/**
 * One thing that happened in a pipeline. Narrow by `name` to know `args`.
 *
 * Given to the `telemetry` listener of the builder, and published on Node's `diagnostics_channel` under
 * `ylcnfrht.resilience.<event name>`. Costs nothing without a subscriber.
 *
 * @example
 * import diagnostics_channel from 'node:diagnostics_channel';
 *
 * diagnostics_channel.subscribe('ylcnfrht.resilience.OnTimeout', (event) => timeouts.inc());
 */
export type TelemetryEvent = {
  [N in TelemetryEventName]: {
    readonly name: N;
    readonly severity: TelemetrySeverity;
    readonly pipelineName?: string | undefined;
    readonly strategyName?: string | undefined;
    readonly operationKey?: string | undefined;
    readonly args: TelemetryEventArgs[N];
  };
}[TelemetryEventName];

// Pipelines -------------------------------------------------------------------------------------------------

/** The live timeout strategy of a pipeline. */
export interface TimeoutStrategy {
  readonly name: string;
  /** Callbacks that are still running although their deadline has passed. */
  readonly abandoned: number;
}

/** The live concurrency limiter of a pipeline. */
export interface ConcurrencyLimiterStrategy {
  readonly name: string;
  readonly permitLimit: number;
  /** Executions running now. */
  readonly inflight: number;
  /** Executions waiting for a permit now. */
  readonly queued: number;
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

/** The live fallback strategy of a pipeline. */
export interface FallbackStrategy {
  readonly name: string;
}

/** A live strategy of a pipeline. */
export type ResilienceStrategyView =
  | TimeoutStrategy
  | ConcurrencyLimiterStrategy
  | AdaptiveConcurrencyLimiterStrategy
  | FallbackStrategy;

/**
 * `E` and the error that one more strategy raises, unless an outer fallback catches it: `C` holds the codes
 * that are caught.
 */
export type WithErrors<E, C, New extends { code: string }> = E | (New['code'] extends C ? never : New);

/** The builder after adding a strategy that can raise `New`. */
export type Next<T, E, C extends string, New extends { code: string }> = ResiliencePipelineBuilder<
  T,
  WithErrors<E, C, New>,
  C
>;

// An optional parameter whose type mentions `T` is shown with `| undefined` behind it, unless that is part of
// a named type: this one is what makes the builder's signature read `options?:
// AdaptiveConcurrencyLimiterOptions<…>`.
type AdaptiveConcurrencyLimiterOptions<T> = AdaptiveOptions<T> | undefined;

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
 * Polly-style builder with a shortcut for every strategy: addTimeout(), addConcurrencyLimiter(),
 * addAdaptiveConcurrencyLimiter(), addFallback().
 *
 * The type parameters track which errors the pipeline can raise, for pipeline.settle() + Outcome.match().
 *
 * `T` is what the pipeline's executions produce, `E` the union of its typed errors, `C` the error codes that
 * a fallback catches. Strategies run in the order added: the first is the outermost. Every `add*` method
 * changes this builder and returns it, under a narrower type.
 *
 * @throws TypeError or RangeError (the constructor and every method) for an option that is unknown or outside
 * of its range; the message names the option, the value and the accepted range.
 *
 * @example
 * const pipeline = new ResiliencePipelineBuilder({ name: 'search' })
 *   .addAdaptiveConcurrencyLimiter({ maxLimit: 200, queueLimit: 20, queueTimeout: '100ms' })
 *   .addTimeout('2s')
 *   .build();
 *
 * const response = await pipeline.execute(({ signal }) => fetch(url, { signal }));
 */
export class ResiliencePipelineBuilder<T = any, E = never, C extends string = never> {
  constructor(options?: ResiliencePipelineBuilderOptions);

  /**
   * addTimeout(5000), addTimeout('5s') or addTimeout({ timeout: '5s', onTimeout }).
   *
   * At the deadline the execution rejects with {@link TimeoutRejectedError}, and `context.signal` aborts with
   * that error. What the callback does later is ignored.
   */
  addTimeout(options: Duration | TimeoutOptions): Next<T, E, C, TimeoutRejectedError>;

  /**
   * addConcurrencyLimiter(10), addConcurrencyLimiter(10, 50) or full options.
   *
   * Runs an execution if fewer than `permitLimit` run and nobody waits; else it waits, if the queue has room;
   * else it rejects with {@link BulkheadRejectedError}. A freed permit goes to the next waiter: no newcomer
   * overtakes it.
   */
  addConcurrencyLimiter(
    options: number | ConcurrencyLimiterOptions,
    queueLimit?: number,
  ): Next<T, E, C, BulkheadRejectedError>;

  /**
   * Concurrency limit that tunes itself from observed latency and failures (gradient2 / vegas / aimd), so you
   * don't have to guess the right number: it grows while the dependency keeps up and backs off when it
   * queues.
   *
   * Admits as the fixed limiter does, from a single FIFO queue, and rejects with {@link
   * BulkheadRejectedError}.
   */
  addAdaptiveConcurrencyLimiter(
    options?: AdaptiveConcurrencyLimiterOptions<T>,
  ): Next<T, E, C, BulkheadRejectedError>;

  /**
   * Without shouldHandle it catches every failure of the strategies added after it, so their errors leave the
   * error type.
   *
   * Only the caller's own abort passes.
   *
   * @example
   * const recommendations = new ResiliencePipelineBuilder<string[]>()
   *   .addFallback({ fallbackAction: () => [] })
   *   .addTimeout('300ms')
   *   .build();
   */
  addFallback(
    options: FallbackOptions<T> & { shouldHandle?: undefined },
  ): ResiliencePipelineBuilder<T, E, string>;
  /**
   * With shouldHandle the outcomes that it does not choose pass, so the errors of the strategies added after
   * it stay in the error type.
   */
  addFallback(options: FallbackOptions<T>): ResiliencePipelineBuilder<T, E, C>;

  /**
   * Makes a pipeline. May be called again: every pipeline has state of its own.
   *
   * @throws Error if a `limitProvider`, or a limit algorithm of your own, already serves another limiter.
   */
  build(): ResiliencePipeline<T, E>;
}

/**
 * Runs callbacks through its strategies. Made by {@link ResiliencePipelineBuilder.build}; reuse it: limits
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
   * The callback may return a value or a thenable, or throw.
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
   * The live strategy of that name (the `name` option, or its default); `undefined` if there is none.
   *
   * @example
   * const { inflight, queued } = pipeline.getStrategy('ConcurrencyLimiter')!;
   */
  getStrategy(name: 'Timeout'): TimeoutStrategy | undefined;
  getStrategy(name: 'ConcurrencyLimiter'): ConcurrencyLimiterStrategy | undefined;
  getStrategy(name: 'AdaptiveConcurrencyLimiter'): AdaptiveConcurrencyLimiterStrategy | undefined;
  getStrategy(name: 'Fallback'): FallbackStrategy | undefined;
  getStrategy(name: string): ResilienceStrategyView | undefined;

  /**
   * Ends the pipeline. Waiters reject with {@link BulkheadRejectedError}, reason `'disposed'`; later
   * executions reject with {@link PipelineDisposedError}; running callbacks finish. Calling it again does
   * nothing.
   */
  dispose(): void;
  /** {@link ResiliencePipeline.dispose}, for `using`. */
  [Symbol.dispose](): void;
}

// Only what is marked `export` is public.
export {};
