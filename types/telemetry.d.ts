import type { ResilienceContext } from './context.js';
import type { BulkheadRejectionReason, RateLimiterRejectionReason } from './errors.js';
import type { OnOverloadArgs } from './overload.js';
import type { Outcome, OutcomeArgs } from './outcome.js';
import type { OnLimitChangedArgs, OnLimitDecisionArgs } from './strategies/adaptive-concurrency-limiter.js';
import type {
  OnCircuitClosedArgs,
  OnCircuitHalfOpenedArgs,
  OnCircuitOpenedArgs,
} from './strategies/circuit-breaker.js';
import type { OnHedgingArgs } from './strategies/hedging.js';
import type { OnRetryArgs, OnRetrySkippedArgs } from './strategies/retry.js';
import type { OnTimeoutArgs } from './strategies/timeout.js';

/** The argument of `OnAbandoned`. */
export interface OnAbandonedArgs {
  readonly context: ResilienceContext;
  /** Of the abort: the rejection of a deadline, or what the caller's signal or the client's leaving gave. */
  readonly reason: unknown;
  /** How many callbacks of the pipeline run on by now. */
  readonly abandoned: number;
}

/** The arguments of each telemetry event, by its name. */
export interface TelemetryEventArgs {
  /** An execution begins. Severity `debug`. */
  PipelineExecuting: { readonly context: ResilienceContext };
  /** An execution ended, after `duration` ms. Severity `information`. */
  PipelineExecuted: { readonly context: ResilienceContext; readonly duration: number; readonly ok: boolean };
  /**
   * An attempt of a retry or of hedging ended. Severity `information`; if it was handled `warning`, of a retry's
   * last attempt `error`.
   */
  ExecutionAttempt: {
    readonly context: ResilienceContext;
    /** 0 is the original call. */
    readonly attemptNumber: number;
    /** How long the attempt took, in ms. */
    readonly duration: number;
    /** Whether `shouldHandle` chose it. */
    readonly handled: boolean;
    readonly outcome: Outcome<unknown>;
  };
  /** Another attempt follows, after a delay of `retryDelay` ms. Severity `warning`. */
  OnRetry: OnRetryArgs<unknown>;
  /** No other attempt follows, because a deadline would pass before it. Severity `warning`. */
  OnRetrySkipped: OnRetrySkippedArgs<unknown>;
  /** A deadline passed; `timeout` is its length in ms. Severity `error`. */
  OnTimeout: OnTimeoutArgs;
  /**
   * An execution was aborted, and its callback runs on without its permit: it does not heed its signal. Told a turn of
   * the event loop later, if it still does. Of a deadline `OnTimeout` tells; only that of a request that a server has
   * answered in its handler's place brings this as well. Severity `warning`.
   */
  OnAbandoned: OnAbandonedArgs;
  /** A circuit opened, by itself or by hand. Severity `error`. */
  OnCircuitOpened: OnCircuitOpenedArgs<unknown>;
  /** The break has passed, and the first probe runs. Severity `warning`. */
  OnCircuitHalfOpened: OnCircuitHalfOpenedArgs;
  /** A circuit closed, by itself or by hand. Severity `information`. */
  OnCircuitClosed: OnCircuitClosedArgs<unknown>;
  /** An outcome is being replaced. Severity `warning`. */
  OnFallback: OutcomeArgs<unknown>;
  /** An additional attempt starts beside the others. Severity `warning`. */
  OnHedging: OnHedgingArgs;
  /** A limiter of any kind (rate, concurrency, adaptive) rejected an execution. Severity `error`. */
  OnRateLimiterRejected: {
    readonly context: ResilienceContext;
    readonly reason: BulkheadRejectionReason | RateLimiterRejectionReason;
    /** In how many ms a permit is due; `undefined` from a concurrency limiter, which cannot tell. */
    readonly retryAfter: number | undefined;
    /** Executions in flight at that moment; 0 from a rate limiter. */
    readonly active: number;
    /** Executions waiting at that moment. */
    readonly queued: number;
  };
  /**
   * An adapter with `overload` has begun to refuse requests because the event loop is overloaded; then once a second
   * while that lasts. Severity `error`.
   */
  OnOverload: OnOverloadArgs;
  /** It has refused nothing for a second. Severity `information`. */
  OnOverloadEnded: OnOverloadArgs;
  /** The whole-number limit of an adaptive limiter changed. Severity `information`. */
  OnLimitChanged: OnLimitChangedArgs;
  /** A window of samples has moved the limit of `knee`, or left it; with the reason. Severity `debug`. */
  OnLimitDecision: OnLimitDecisionArgs;
  /**
   * Your own callback, predicate or limit algorithm threw; the outcome is untouched. Without anyone who
   * hears it, it becomes a process warning. Severity `error`.
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
