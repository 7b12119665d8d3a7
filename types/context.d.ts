/** A value, or a promise (or any other thenable) of it. */
export type MaybePromise<T> = T | PromiseLike<T>;

/** What an execution knows about itself; the argument of every callback. */
export interface ResilienceContext {
  /**
   * Aborted when the caller cancels, or when a strategy (timeout, hedging) gives up on this execution.
   *
   * `signal.reason` is the caller's own reason, or the strategy's error. It also aborts when an enclosing
   * execution does, and never because of a success: a returned stream stays readable. Every attempt of a
   * retry or of hedging has a signal of its own. Created only when read.
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
  /**
   * Milliseconds until the first deadline of this and all enclosing executions; `undefined` if there is none.
   * Ask it for the timeout of a call that takes no signal.
   */
  readonly remaining: number | undefined;
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
  /**
   * Whether the callback may be started more than once. Default true. false: once it was started, no retry
   * and no hedging starts it again; what failed before that, such as a refusal by a limiter further in, is
   * retried as ever. Hedging then makes its attempts one after the other. Holds for this execution alone,
   * and for none inside of it.
   *
   * @example
   * await pipeline.execute(({ signal }) => chargeCard(order, signal), { repeatable: false });
   */
  repeatable?: boolean | undefined;
  /**
   * Whether the execution begins for itself: no deadline and no abort of the enclosing execution reaches it, also
   * if that has ended already. For work that has to be done although the client has left. The properties are the
   * enclosing execution's all the same. Default false.
   *
   * @example
   * await pipeline.execute(() => refund(order), { detached: true });
   */
  detached?: boolean | undefined;
}

/** What the callback of `executeStream` may give: also a `Readable`, a `ReadableStream` or an async generator. */
export type ItemSource<Item> = AsyncIterable<Item> | AsyncIterator<Item> | Iterable<Item>;

/** Options of one `executeStream`. */
export interface ExecuteStreamOptions extends ExecuteOptions {
  /** Whether the deadlines of the pipeline guard the whole stream, and not only its first item. Default false. */
  body?: boolean | undefined;
}

/**
 * The context of the execution that the calling code runs in; `undefined` outside of one.
 *
 * Inside an inbound request it also holds in the request's and the response's own events.
 *
 * @param request The request as its adapter is given it (Express's `req`, Fastify's `request`, Koa's `ctx`, Hono's
 * `c`), or Node's: finds the context of that request from anywhere.
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

/**
 * Calls `fn` outside of every execution, at once, and returns what it returns: what it makes (a timer, a pool, a
 * server) belongs to none, whoever asked for it first. Other AsyncLocalStorage stores stay.
 *
 * @throws TypeError if `fn` is not a function; and what `fn` throws.
 *
 * @example
 * const refresher = detached(() => setInterval(refreshToken, 60_000));
 */
export function detached<R>(fn: () => R): R;
