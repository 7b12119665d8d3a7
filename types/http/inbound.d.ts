import type { Duration } from '../duration.js';
import type { ExecutionRejectedError } from '../errors.js';
import type { ResiliencePipeline } from '../pipeline.js';

/**
 * context.properties key of the inbound request (Express req, Hono c, Fastify request, Koa ctx, Node's request),
 * for your own partitioned limiters.
 *
 * @example
 * const priority = (context: ResilienceContext) =>
 *   (context.properties.get(HTTP_REQUEST) as Request).path.startsWith('/checkout') ? 0 : 5;
 */
export const HTTP_REQUEST: '@ylcnfrht/resilience.httpRequest';

/**
 * By what `rateLimit` knows a client that has no `key`: for a `key` of your own that takes an address from a header.
 *
 * Of an IPv6 address the first 64 bits, which are a single client's; an IPv4 address that is written as IPv6, or
 * translated by a NAT64 (`64:ff9b::/96`), is that IPv4 address. A port, brackets, quotes and a zone, which some
 * proxies write, are no part of it. Anything that is no address is given as it is. Never throws.
 *
 * @example
 * addressKey('192.0.2.1:49152'); // '192.0.2.1'
 * addressKey('[2001:db8:1:2::9]:49152'); // '2001:db8:1:2::/64'
 */
export function addressKey(address: string): string;
export function addressKey(address: string | undefined): string | undefined;

/** A callback, which may also ask for the type that the framework itself has for its request. */
export type InboundCallback<Argument, Result> = { bivariant(argument: Argument): Result }['bivariant'];

/** Options of the concurrency cap. */
export interface InboundConcurrency {
  /** Max requests running at once. An integer, 1 to 2^31-1. */
  permitLimit: number;
  /** Max requests waiting (FIFO) for a permit. Default 0. An integer, 0 to 2^31-1. */
  queueLimit?: number | undefined;
  /** Longest a queued request waits for a permit before it is answered 503. Default: no limit. > 0. */
  queueTimeout?: Duration | undefined;
}

/** Options of the rate limit. `Request` is the framework's own request object. */
export interface InboundRateLimit<Request = any> {
  /** Requests that a client may start per window. An integer, 1 to 2^31-1. */
  permitLimit: number;
  /** The window's length. > 0. */
  window: Duration;
  /**
   * By what a client is known. `undefined` is a key like any other. Default: its address as the framework has
   * it, by {@link addressKey}. One that throws, or gives anything else, is the framework's error to handle.
   */
  key?: InboundCallback<Request, string | number | undefined> | undefined;
  /** Default `'fixed-window'`. */
  algorithm?: 'fixed-window' | 'sliding-window' | 'token-bucket' | undefined;
  /** Permits of a full bucket, only with `'token-bucket'`. Default: permitLimit. An integer >= 1. */
  burst?: number | undefined;
  /** Clients kept in mind; past it the least recently seen is forgotten. Default 100 000. 1 to 2^26-1. */
  maxKeys?: number | undefined;
}

/**
 * Options of the protection against an overload of the event loop itself.
 *
 * @example
 * app.use(resilienceMiddleware({ overload: { priority: (req) => (req.path.startsWith('/orders') ? 0 : 5) } }));
 */
export interface InboundOverload<Request = any> {
  /**
   * How long requests wait for their start while more come than the loop can serve. Default `'100ms'`, or `maxDelay` if
   * that is shorter. > 0.
   */
  targetDelay?: Duration | undefined;
  /**
   * The longest that one waits at all, also after a burst or a pause. Default `'500ms'`, or `targetDelay` if that is
   * longer. At least `targetDelay`.
   */
  maxDelay?: Duration | undefined;
  /**
   * Lower goes first. Asked once, when the request comes; rounded and clamped to 0..7. Default: 0 for all. One that
   * throws, or gives no number, is the framework's error to handle.
   */
  priority?: InboundCallback<Request, number> | undefined;
}

/** What the gate of the event loop knows, live. But for the adapter's own options it is the same for a whole thread. */
export interface InboundOverloadState {
  /** Requests that wait for their start. */
  readonly queued: number;
  /** How long one that comes now would wait for its start, in ms. */
  readonly delay: number;
  /** The loop's time for each start, in ms; 0 before the first. */
  readonly pace: number;
  /** Requests offered, as a multiple of what the loop can serve: 2 is twice as many. */
  readonly load: number;
  /** How many may be in flight, of handlers that wait first and compute then. Infinity without a reason for one. */
  readonly limit: number;
}

/** The argument of `onRejected`. */
export interface OnInboundRejectedArgs<Request = any> {
  readonly request: Request;
  /** Why: its `code`, `statusCode` and `retryAfter`. */
  readonly error: ExecutionRejectedError;
}

/** The argument of `shouldDrop`. */
export interface InboundResponseArgs<Request = any> {
  readonly request: Request;
  /** The status of the handler's answer: 400 or more. */
  readonly statusCode: number;
}

/** Options of every adapter, whatever its pipeline. */
export interface InboundCommonOptions<Request = any> {
  /** Requests to leave alone, such as health checks: they run at once, outside of the pipeline. */
  skip?: InboundCallback<Request, boolean> | undefined;
  /**
   * Called when a request is answered in the handler's place (429, 503, 504). One that throws becomes a process
   * warning.
   */
  onRejected?: InboundCallback<OnInboundRejectedArgs<Request>, void | PromiseLike<void>> | undefined;
  /**
   * Which error statuses of the handler are a sign of overload to an adaptive limiter that has no `shouldDrop`
   * of its own; the others give no sample. Default: 503 and 504.
   */
  shouldDrop?: InboundCallback<InboundResponseArgs<Request>, boolean> | undefined;
  /**
   * Keep the event loop turning: while more requests come than it can serve, they wait in a queue in front of
   * everything else, and those that would wait too long are answered 503. `true` is `{}`. Default false.
   */
  overload?: boolean | InboundOverload<Request> | undefined;
  /** Answer with `application/problem+json` (RFC 9457). Default false. */
  problemDetails?: boolean | undefined;
  /**
   * In which form clients are told their quota, by the drafts of "RateLimit header fields for HTTP". Default:
   * both `RateLimit-Limit`, `-Remaining`, `-Reset` (draft 6) and `RateLimit`, `RateLimit-Policy` (draft 8).
   * `'legacy'`: `X-RateLimit-*`. false: none; `Retry-After` is set in any case.
   */
  headers?: 'draft-8' | 'draft-7' | 'draft-6' | 'legacy' | false | undefined;
  /**
   * How long a client may take nothing of what is pending for it before its connection is cut off (over HTTP/2 its
   * stream), > 0. One for whom nothing is pending never is. Default: 60 s beside a timeout, in a `pipeline` as well;
   * without any timeout there is no such limit, and to give one is a TypeError.
   *
   * @example
   * withResilience(listener, { timeout: '5s', stallTimeout: '20s' });
   */
  stallTimeout?: Duration | undefined;
}

/**
 * Options of an adapter that builds its own pipeline: rate limiter, the caller's deadline, concurrency limiter,
 * timeout, then the handler. At least one of them is needed, or `overload`.
 */
export interface InboundLimits<Request = any> extends InboundCommonOptions<Request> {
  /**
   * Time until a request is answered 504, > 0. Default: no deadline.
   *
   * It guards the time to the first byte: a response that has begun goes on. With `body: true` (default
   * false) it guards the whole response until the client has taken it, and destroys the socket at the deadline:
   * the guard against a client that stops reading a stream.
   */
  timeout?: Duration | { timeout: Duration; body?: boolean | undefined } | undefined;
  /** Requests past this cap wait, or are answered 503. Default: no cap. */
  concurrency?: InboundConcurrency | undefined;
  /** Requests past a client's quota are answered 429. A preflight of CORS takes no permit. Default: no quota. */
  rateLimit?: InboundRateLimit<Request> | undefined;
  /**
   * The name of a header in which a caller gives the whole milliseconds that it will wait, such as
   * `'x-request-timeout-ms'`. They count from the request's arrival, the queue included; past them it is answered
   * 504. Anything but digits is ignored. Default: no such header. Only from callers that you trust.
   */
  deadlineHeader?: string | undefined;
  /** Labels telemetry events, and the quota in headers. Not empty. Default 'http'. */
  name?: string | undefined;
  pipeline?: undefined;
}

/** Options of an adapter with a pipeline built by hand; what belongs into that is then an error. */
export interface InboundPipeline<Request = any> extends InboundCommonOptions<Request> {
  /** Each request is one execution of it. It must not retry nor hedge: a handler runs once. */
  pipeline: ResiliencePipeline<any, any>;
  timeout?: undefined;
  concurrency?: undefined;
  rateLimit?: undefined;
  deadlineHeader?: undefined;
  name?: undefined;
}

export type InboundOptions<Request = any> = InboundLimits<Request> | InboundPipeline<Request>;

/** What every adapter gives its user. */
export interface Inbound {
  /** The pipeline that requests run in: read in flight and queued from its strategies. */
  readonly pipeline: ResiliencePipeline<any, any>;
  /** What the gate of the event loop knows; `undefined` without the option `overload`. */
  readonly overload: InboundOverloadState | undefined;
  /** Writes that were ignored because they came after a 504, also those of an error handler. */
  readonly swallowed: number;
  /**
   * How many requests were answered in their handlers' place, by error code and reason (the code where there is none):
   * `{ BULKHEAD_FULL: { full: 12, 'queue-timeout': 3 }, TIMEOUT: { TIMEOUT: 1 } }`. Each reading is a copy.
   */
  readonly rejected: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /**
   * Handlers that run on although their client has left, or was answered 504 in their place. Their permits are back:
   * so many run beside those that the limit lets in. Until their promise settles or, where a framework does not tell
   * that, as Express, until they end their response, at the latest after 30 s.
   */
  readonly abandoned: number;
  /** Call it on SIGTERM: waiting and later requests are answered 503, running ones finish. */
  dispose(): void;
}
