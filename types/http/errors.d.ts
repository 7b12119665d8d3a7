import type { IncomingMessage, ServerResponse } from 'node:http';

/** Options of {@link expressErrors} and {@link koaErrors}. */
export interface ErrorsOptions {
  /** Answer with `application/problem+json` (RFC 9457). Default false. */
  problemDetails?: boolean | undefined;
}

/**
 * A handler of errors for Express 5 and 4, to be added last. A rejection of a pipeline that a handler has called is
 * answered as a refusal of `resilienceMiddleware`: the same status, JSON and `Retry-After`, without a line in
 * the log. So is an error with such a rejection behind its `cause`, unless one before it has a `status` or
 * `statusCode` of its own. What a handler fails by because its client has left, or was answered 504 in its place, is
 * dropped. Everything else, and what comes after the response has begun, goes on to the next handler of errors.
 *
 * @throws TypeError for an option that is unknown or no boolean.
 *
 * @example
 * app.use(expressErrors());
 */
export function expressErrors(
  options?: ErrorsOptions,
): (error: any, req: IncomingMessage, res: ServerResponse, next: (error?: any) => void) => void;

/**
 * The same as {@link expressErrors} for Koa 3 and 2: a middleware, to be added first. It throws everything else again.
 * A response that has begun is cut off, and its error thrown again.
 *
 * @throws what {@link expressErrors} throws.
 *
 * @example
 * app.use(koaErrors());
 */
export function koaErrors(options?: ErrorsOptions): (ctx: any, next: () => Promise<any>) => Promise<any>;

/** Options of {@link honoErrors}. */
export interface HonoErrorsOptions extends ErrorsOptions {
  /** Takes everything else. Default: what Hono does without `app.onError`. */
  onError?: ((error: Error, c: any) => any) | undefined;
}

/**
 * The same as {@link expressErrors} for Hono 4 and 3, for `app.onError`.
 *
 * @throws what {@link expressErrors} throws; TypeError if `onError` is no function.
 *
 * @example
 * app.onError(honoErrors({ onError: (error, c) => c.text(error.message, 500) }));
 */
export function honoErrors(options?: HonoErrorsOptions): (error: any, c: any) => any;
