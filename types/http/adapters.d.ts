import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Inbound, InboundOptions } from './inbound.js';

/** What `skip`, `rateLimit.key` and the others of Express are given, as far as it takes no types of Express. */
export interface ExpressRequestLike extends IncomingMessage {
  get(name: string): string | undefined;
  readonly ip?: string | undefined;
  readonly path: string;
  readonly originalUrl: string;
}

/** What those of Koa are given. */
export interface KoaContextLike {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly ip: string;
  readonly path: string;
  readonly method: string;
  get(name: string): string;
}

/** What those of Hono are given. */
export interface HonoContextLike {
  readonly req: { header(name: string): string | undefined; readonly path: string; readonly method: string };
  readonly env: any;
}

/** Options of {@link resilienceMiddleware}. */
export type ResilienceMiddlewareOptions = InboundOptions<ExpressRequestLike>;

/** A request handler for Express 5, Express 4 and everything else that takes `(req, res, next)`. */
export interface ResilienceMiddleware extends Inbound {
  (req: IncomingMessage, res: ServerResponse, next: (error?: any) => void): void;
}

/**
 * Sheds load: runs each request inside a pipeline, so that it has a deadline, counts against a cap and a quota,
 * and everything it calls inherits its signal.
 *
 * A request past its client's quota is answered 429, one without a permit 503, one past its deadline 504, each
 * with JSON of exactly `{ statusCode, error, message }`; 429 and 503 have `Retry-After`. A client that
 * disconnects aborts its request's signal and gives its permit back. A permit is held until the handler has
 * ended the response, with `body: true` until the response has left.
 *
 * To the pipeline, a response with a status of 400 or more is a failure whose error has that `statusCode`.
 *
 * @throws TypeError or RangeError for an option that is unknown or outside of its range, for `pipeline`
 * together with what belongs into it, and for a pipeline that retries or hedges.
 *
 * @example
 * app.use(
 *   resilienceMiddleware({
 *     timeout: '5s',
 *     concurrency: { permitLimit: 200, queueLimit: 100, queueTimeout: '500ms' },
 *     rateLimit: { key: (req) => req.get('x-api-key') ?? req.ip, permitLimit: 600, window: '1m' },
 *     skip: (req) => req.path === '/healthz',
 *   }),
 * );
 */
export function resilienceMiddleware(options: ResilienceMiddlewareOptions): ResilienceMiddleware;

/**
 * The same for Koa 3 and 2.
 *
 * @throws what {@link resilienceMiddleware} throws.
 *
 * @example
 * app.use(koaResilience({ timeout: '5s', concurrency: { permitLimit: 200 } }));
 */
export function koaResilience(options: InboundOptions<KoaContextLike>): KoaResilience;

export interface KoaResilience extends Inbound {
  (ctx: any, next: () => Promise<any>): Promise<any>;
}

/**
 * The same for Hono 4 and 3, on `@hono/node-server` only.
 *
 * @throws what {@link resilienceMiddleware} throws.
 *
 * @example
 * app.use(honoResilience({ timeout: '5s', concurrency: { permitLimit: 200 } }));
 */
export function honoResilience(options: InboundOptions<HonoContextLike>): HonoResilience;

export interface HonoResilience extends Inbound {
  (c: any, next: () => Promise<void>): Promise<any>;
}

/** A request listener for a plain server. */
export interface ResilientListener extends Inbound {
  (req: IncomingMessage, res: ServerResponse): void;
  (req: Http2ServerRequest, res: Http2ServerResponse): void;
}

/**
 * The same around a plain listener, for `node:http` and for the compatibility API of `node:http2`. What the
 * listener throws, or rejects with, is answered 500 and becomes a process warning.
 *
 * @throws what {@link resilienceMiddleware} throws; TypeError if `listener` is no function.
 *
 * @example
 * createServer(withResilience((req, res) => res.end('hello'), { timeout: '5s' })).listen(3000);
 */
export function withResilience(
  listener: (req: any, res: any) => unknown,
  options: InboundOptions<IncomingMessage>,
): ResilientListener;
