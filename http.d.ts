/// <reference types="node" />

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duration, ResiliencePipeline } from './index.js';

/**
 * context.properties key of the inbound request (Express req), for your own partitioned limiters.
 *
 * @example
 * const priority = (context: ResilienceContext) =>
 *   (context.properties.get(HTTP_REQUEST) as Request).path.startsWith('/checkout') ? 0 : 5;
 */
export const HTTP_REQUEST: '@ylcnfrht/resilience.httpRequest';

/** Options of the concurrency cap. */
export interface ResilienceMiddlewareConcurrency {
  /** Max requests running at once. An integer, 1 to 2^31-1. */
  permitLimit: number;
  /** Max requests waiting (FIFO) for a permit. Default 0. An integer, 0 to 2^31-1. */
  queueLimit?: number | undefined;
  /** Longest a queued request waits for a permit before it is answered 503. Default: no limit. > 0. */
  queueTimeout?: Duration | undefined;
}

/**
 * Options of a middleware that builds its own pipeline: concurrency limiter, then timeout, then the handler.
 */
export interface ResilienceMiddlewareLimits {
  /**
   * Time until a request is answered 504, > 0. Default: no deadline.
   *
   * It guards the time to the first byte: a response that has begun goes on. With `body: true` (default
   * false) it guards the whole response until the client has taken it, and destroys the socket at the deadline:
   * the guard against a client that stops reading a stream.
   */
  timeout?: Duration | { timeout: Duration; body?: boolean | undefined } | undefined;
  /** Requests past this cap wait, or are answered 503. Default: no cap. */
  concurrency?: ResilienceMiddlewareConcurrency | undefined;
  /** Labels telemetry events. Not empty. Default 'http'. */
  name?: string | undefined;
  pipeline?: undefined;
}

/** Options of a middleware with a pipeline built by hand; the other options are then an error. */
export interface ResilienceMiddlewarePipeline {
  /** Each request is one execution of it. It must not retry nor hedge: a handler runs once. */
  pipeline: ResiliencePipeline<any, any>;
  timeout?: undefined;
  concurrency?: undefined;
  name?: undefined;
}

export type ResilienceMiddlewareOptions = ResilienceMiddlewareLimits | ResilienceMiddlewarePipeline;

/** A request handler for Express 5, Express 4 and everything else that takes `(req, res, next)`. */
export interface ResilienceMiddleware {
  (req: IncomingMessage, res: ServerResponse, next: (error?: any) => void): void;
  /** The pipeline that requests run in: read in flight and queued from its strategies. */
  readonly pipeline: ResiliencePipeline<any, any>;
  /** Writes that were ignored because they came after a 504, also those of an error handler. */
  readonly swallowed: number;
  /** Call it on SIGTERM: waiting and later requests are answered 503, running ones finish. */
  dispose(): void;
}

/**
 * Sheds load: runs each request inside a pipeline, so that it has a deadline, counts against a cap, and
 * everything it calls inherits its signal.
 *
 * A request without a permit is answered 503, one past its deadline 504, both with JSON of exactly `{
 * statusCode, error, message }`; a 503 has `Retry-After`. A client that disconnects aborts its request's
 * signal and gives its permit back. A permit is held until the handler has ended the response, with `body: true`
 * until the response has left.
 *
 * To the pipeline, a response with a status of 400 or more is a failure whose error has that `statusCode`. By
 * default an adaptive limiter takes 408 and 5xx for drops, and no sample of other client errors.
 *
 * @throws TypeError or RangeError for an option that is unknown or outside of its range, for `pipeline`
 * together with another option, and for a pipeline that retries or hedges.
 *
 * @example
 * app.get('/healthz', (_req, res) => res.send('ok')); // before the middleware: never shed
 * app.use(
 *   resilienceMiddleware({
 *     timeout: '5s',
 *     concurrency: { permitLimit: 200, queueLimit: 100, queueTimeout: '500ms' },
 *   }),
 * );
 */
export function resilienceMiddleware(options: ResilienceMiddlewareOptions): ResilienceMiddleware;
