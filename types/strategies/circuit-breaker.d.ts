import type { MaybePromise, ResilienceContext } from '../context.js';
import type { Duration } from '../duration.js';
import type { BrokenCircuitError, IsolatedCircuitError } from '../errors.js';
import type { Outcome, OutcomeArgs } from '../outcome.js';
import type { ResilienceStrategy } from '../strategy.js';

/**
 * The state of a circuit breaker. 'closed': executions run. 'open': they reject, until the break has passed.
 * 'half-open': some run as probes. 'isolated': they reject, until someone closes it by hand.
 */
export type CircuitState = 'closed' | 'open' | 'half-open' | 'isolated';

/** What {@link CircuitBreakerStrategy.exportState} saves, as JSON can hold it. */
export interface CircuitBreakerState {
  readonly state: CircuitState;
  /** How much of the break was left, in ms; 0 unless 'open'. */
  readonly breakRemaining: number;
  /** When it was exported: `Date.now()`. */
  readonly exportedAt: number;
}

/** The argument of `onOpened`. */
export interface OnCircuitOpenedArgs<T> {
  /** What opened it; `undefined` if it was isolated by hand. */
  readonly outcome: Outcome<T> | undefined;
  /** The execution that opened it; `undefined` if it was isolated by hand. */
  readonly context: ResilienceContext | undefined;
  /** How long it stays open, in ms; Infinity if it was isolated by hand. */
  readonly breakDuration: number;
  /** Whether it was isolated by hand. */
  readonly isManual: boolean;
}

/** The argument of `onClosed`. */
export interface OnCircuitClosedArgs<T> {
  /** What the last probe produced; `undefined` if it was closed by hand. */
  readonly outcome: Outcome<T> | undefined;
  /** The execution that closed it; `undefined` if it was closed by hand. */
  readonly context: ResilienceContext | undefined;
  /** Whether it was closed by hand. */
  readonly isManual: boolean;
}

/** The argument of `onHalfOpened`. */
export interface OnCircuitHalfOpenedArgs {
  /** The first probe. */
  readonly context: ResilienceContext;
}

/** The argument of `breakDurationGenerator`. */
export interface BreakDurationArgs {
  /** Handled failures per execution over the sampling duration, 0 to 1. */
  readonly failureRate: number;
  /** Handled failures over the sampling duration. */
  readonly failureCount: number;
  /** How often it opened from half-open since it was last closed. */
  readonly halfOpenAttempts: number;
  /** The execution that opened it. */
  readonly context: ResilienceContext;
}

/** Options of the circuit breaker. */
export interface CircuitBreakerOptions<T = any> {
  /** Share of failures from which the circuit opens. Default 0.1. In (0, 1]. */
  failureRatio?: number | undefined;
  /** Fewest executions over samplingDuration that a ratio is judged by. Default 100. An integer >= 1. */
  minimumThroughput?: number | undefined;
  /** How far back the ratios look. Default 30 s. > 0. Counted in tenths of it. */
  samplingDuration?: Duration | undefined;
  /** How long the circuit stays open. Default 5 s. > 0. */
  breakDuration?: Duration | undefined;
  /**
   * Computes how long the circuit stays open, each time it opens. After a throw, and for an answer that is no
   * duration above 0 (a promise is none), breakDuration counts; telemetry reports these as `CallbackError`.
   */
  breakDurationGenerator?: ((args: BreakDurationArgs) => Duration) | undefined;
  /**
   * Executions that run when the break has passed; the circuit closes if all of them succeed. Default 1. An
   * integer >= 1.
   *
   * A probe that is cancelled, or fails with what shouldHandle does not choose, gives its place back. Probes
   * that do not end make way for others after one more breakDuration.
   */
  halfOpenProbes?: number | undefined;
  /**
   * From this time on an execution is slow; a slow probe opens the circuit. Default: none is slow. > 0.
   *
   * Time for which the thread stood still (one long piece of work, a frozen process) is no time of the call, from
   * 120 ms on and except for what a callback does before it returns.
   */
  slowCallDuration?: Duration | undefined;
  /**
   * Share of slow executions from which the circuit opens. Default 1. In (0, 1]; with slowCallDuration only.
   */
  slowCallRatio?: number | undefined;
  /** Failures in a row that open the circuit, whatever the throughput. Default: none do. An integer >= 1. */
  consecutiveFailures?: number | undefined;
  /**
   * Which outcomes are failures. Default: any failure but the caller's own abort, which counts as nothing.
   *
   * Everything else counts as a success. The outcome of a predicate that throws counts as nothing; telemetry
   * reports that as `CallbackError`.
   */
  shouldHandle?: ((args: OutcomeArgs<T>) => boolean) | undefined;
  /**
   * Called when the circuit opens. One that throws changes nothing; telemetry reports it as `CallbackError`.
   */
  onOpened?: ((args: OnCircuitOpenedArgs<T>) => MaybePromise<void>) | undefined;
  /**
   * Called when the circuit closes. One that throws changes nothing; telemetry reports it as
   * `CallbackError`.
   */
  onClosed?: ((args: OnCircuitClosedArgs<T>) => MaybePromise<void>) | undefined;
  /**
   * Called when the first probe runs. One that throws changes nothing; telemetry reports it as
   * `CallbackError`.
   */
  onHalfOpened?: ((args: OnCircuitHalfOpenedArgs) => MaybePromise<void>) | undefined;
  /** Isolates and closes the circuit by hand. May serve several breakers. */
  manualControl?: CircuitBreakerManualControl | undefined;
  /** Read the state from outside. */
  stateProvider?: CircuitBreakerStateProvider | undefined;
  /** Strategy name. Default `'CircuitBreaker'`. */
  name?: string | undefined;
}

/**
 * Isolates and closes circuits by hand: for maintenance, a feature flag, a signal of the platform.
 *
 * @example
 * const control = new CircuitBreakerManualControl();
 * const pipeline = new ResiliencePipelineBuilder().addCircuitBreaker({ manualControl: control }).build();
 * control.isolate(); // every execution rejects with IsolatedCircuitError
 * control.close();
 */
export class CircuitBreakerManualControl {
  /** @param isIsolated Whether circuits start isolated. Default false. */
  constructor(isIsolated?: boolean);
  /** Whether its circuits are isolated. */
  readonly isIsolated: boolean;
  /** Rejects every execution with {@link IsolatedCircuitError}, until `close()`. Running ones finish. */
  isolate(): void;
  /** Closes its circuits, isolated or open, with counts that begin anew. */
  close(): void;
}

/**
 * Reads the state of one circuit breaker (health checks, dashboards).
 *
 * Attaches to one breaker: building a second one with it throws.
 *
 * @example
 * const provider = new CircuitBreakerStateProvider();
 * const pipeline = new ResiliencePipelineBuilder().addCircuitBreaker({ stateProvider: provider }).build();
 * console.log(provider.state);
 */
export class CircuitBreakerStateProvider {
  constructor();
  /** The state now; 'closed' until it is attached. */
  readonly state: CircuitState;
}

/** The live circuit breaker of a pipeline. */
export interface CircuitBreakerStrategy {
  readonly name: string;
  /** The state now: 'half-open' as soon as the break has passed, without a call. */
  readonly state: CircuitState;
  /** Saves the state, without the counts: for a restart of the process. */
  exportState(): CircuitBreakerState;
  /**
   * Takes over a saved state, without calling any callback. The time since the export counts as part of the
   * break; 'half-open' comes back as open with no break left.
   *
   * @throws TypeError or RangeError for what is no saved state.
   */
  restoreState(saved: CircuitBreakerState): void;
}

/**
 * The circuit breaker, for `PipelineBuilder.add()`: stops calling what keeps failing, or keeps being slow,
 * and tries it again after a break.
 *
 * While open, executions reject with {@link BrokenCircuitError}; while isolated by hand, with {@link
 * IsolatedCircuitError}. The outcome of an execution that began in an earlier state decides nothing.
 *
 * @throws TypeError or RangeError for an option that is unknown or outside of its range.
 *
 * @example
 * const pipeline = new PipelineBuilder<Response>()
 *   .add(circuitBreakerStrategy({ failureRatio: 0.5, minimumThroughput: 20, breakDuration: '10s' }))
 *   .build();
 */
export function circuitBreakerStrategy<T = any>(
  options?: CircuitBreakerOptions<T>,
): ResilienceStrategy<T, BrokenCircuitError | IsolatedCircuitError>;
