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
  /** What `JSON.stringify` writes: all properties, name and message, and neither the stack nor the cause. */
  toJSON(): ErrorJSON;
}

/** What the errors of this package are as JSON. */
export interface ErrorJSON {
  name: string;
  code: string;
  message: string;
  [property: string]: unknown;
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

/**
 * Why a rate limiter rejected: no permit is due and the queue has no place, or still queued when the
 * pipeline was disposed.
 */
export type RateLimiterRejectionReason = 'full' | 'disposed';

/** A rate limiter had no permit left for the execution's key. */
export class RateLimiterRejectedError extends ExecutionRejectedError {
  /** @param options `retryAfter`: in how many ms a permit is due. */
  constructor(
    reason: RateLimiterRejectionReason,
    options?: RejectionOptions & { retryAfter?: number | undefined },
  );
  readonly code: 'RATE_LIMITED';
  readonly statusCode: 429;
  readonly reason: RateLimiterRejectionReason;
}

/**
 * Why an adapter with `overload` rejected a request: its wait would have been too long, it has waited too long, it made
 * room for one that is more important, or it still waited when the adapter was disposed of.
 */
export type OverloadRejectionReason = 'full' | 'queue-timeout' | 'dropped' | 'disposed';

/** The event loop has no time for the request. Made by the adapters of servers, for `onRejected`. */
export class OverloadRejectedError extends ExecutionRejectedError {
  /** @param options `retryAfter`: in how many ms another try makes sense. */
  constructor(
    reason: OverloadRejectionReason,
    options: RejectionOptions & { retryAfter?: number | undefined; delay: number; queued: number },
  );
  readonly code: 'OVERLOADED';
  readonly statusCode: 503;
  readonly reason: OverloadRejectionReason;
  /** How long a request would have waited for its start at that moment, in ms. */
  readonly delay: number;
  /** Requests waiting at that moment. */
  readonly queued: number;
}

/** The circuit is open, or all places of half-open are taken by probes. */
export class BrokenCircuitError extends ExecutionRejectedError {
  /** @param options `retryAfter`: in how many ms the break ends. */
  constructor(options?: RejectionOptions & { retryAfter?: number | undefined });
  readonly code: 'CIRCUIT_OPEN';
  readonly statusCode: 503;
}

/** The circuit was isolated by hand, until it is closed by hand: there is no `retryAfter`. */
export class IsolatedCircuitError extends ExecutionRejectedError {
  constructor(options?: RejectionOptions);
  readonly code: 'CIRCUIT_ISOLATED';
  readonly statusCode: 503;
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
  /** What `JSON.stringify` writes: name, code and message, and neither the stack nor the cause. */
  toJSON(): ErrorJSON;
}

/**
 * Whether `error` is a rejection of this package, also one that comes from another copy of it, from another realm,
 * thread or process, where `instanceof` fails.
 *
 * `structuredClone` and `postMessage` keep nothing of an error but its message and stack: such a clone is known by
 * these, and gets `name`, `code` and `statusCode` back by this call. `error.toJSON()` keeps the rest as well.
 *
 * @example
 * if (isExecutionRejected(error)) res.status(error.statusCode).end();
 */
export function isExecutionRejected(error: unknown): error is ExecutionRejectedError;
