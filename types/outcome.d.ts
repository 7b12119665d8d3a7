import type { ResilienceContext } from './context.js';
import type {
  BrokenCircuitError,
  BulkheadRejectedError,
  IsolatedCircuitError,
  OverloadRejectedError,
  PipelineDisposedError,
  RateLimiterRejectedError,
  TimeoutRejectedError,
} from './errors.js';

/** The code of a typed error; `never` for an error without a literal `code`. */
type CodeOf<E> = E extends { code: infer K extends string } ? (string extends K ? never : K) : never;

/** The errors of this package that carry a code, by that code. */
interface RejectionByCode {
  TIMEOUT: TimeoutRejectedError;
  BULKHEAD_FULL: BulkheadRejectedError;
  OVERLOADED: OverloadRejectedError;
  RATE_LIMITED: RateLimiterRejectedError;
  CIRCUIT_OPEN: BrokenCircuitError;
  CIRCUIT_ISOLATED: IsolatedCircuitError;
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

// Only what is marked `export` is public.
export {};
