import type { ResiliencePipeline } from '../pipeline.js';

/** Options of {@link resilientFetch} and {@link resilienceInterceptor}. */
export interface OutboundOptions {
  /**
   * The header that tells the other side how long this one still waits: the whole milliseconds until the
   * first deadline of the call and of everything around it, at least 1. A request that has the header keeps
   * its own; one without a deadline gets none. Default `'x-request-timeout-ms'`; false: no such header.
   */
  deadlineHeader?: string | false | undefined;
}

/**
 * A fetch whose every call is one execution of `pipeline`: it rejects with what the pipeline rejects with.
 *
 * The signal of a call (`init.signal`, or the request's own) is that of the execution. As with plain fetch
 * it also aborts the reading of the body afterwards, and so does an enclosing execution. The pipeline is
 * done when the head of the response is there: no deadline of its own ends the reading of a body.
 *
 * A call is repeated, by a retry or by hedging, only if its method is idempotent (GET, HEAD, OPTIONS, TRACE,
 * PUT, DELETE) or it has an `Idempotency-Key` header, and if its body can be sent again: a string, a buffer,
 * URLSearchParams, FormData or a Blob. A stream or an iterable cannot, and neither can the body of a
 * `Request`, which is a stream to everyone else: give url and `init` instead.
 *
 * The body of each response that is not the result is cancelled, one before a retry after `onRetry` and
 * ahead of the delay; `shouldHandle`, `delayGenerator` and `onRetry` may read it. After `dispose()` in such
 * a delay the result is that response, without its body.
 *
 * @param fetch Sends the requests. Default: `globalThis.fetch`, looked up at each call.
 * @throws TypeError if an argument is none of these.
 *
 * @example
 * const fetch = resilientFetch(standardPipeline({ name: 'search' }));
 * const response = await fetch('https://search.internal/?q=permits');
 */
export function resilientFetch<F extends (input: any, init?: any) => Promise<any> = typeof globalThis.fetch>(
  pipeline: ResiliencePipeline<any, any>,
  fetch?: F | undefined,
  options?: OutboundOptions | undefined,
): F;

/**
 * What the pipeline of {@link resilienceInterceptor} has for a result: the head of a response.
 *
 * @example
 * builder.addRetry({ shouldHandle: ({ outcome }) => !outcome.ok || outcome.result.statusCode === 503 });
 */
export interface InterceptedResponse {
  readonly statusCode: number;
  /** The same, by the name that a `Response` has for it: {@link isTransient} reads it. */
  readonly status: number;
  /** By lower-case names. */
  readonly headers: Record<string, string | string[] | undefined>;
}

/** An interceptor for `compose()` of a dispatcher of undici 7. */
export type ResilienceInterceptor = (
  dispatch: (options: any, handler: any) => boolean,
) => (options: any, handler: any) => boolean;

/**
 * The same for the dispatchers of undici 7: each request is one execution of `pipeline`, whose result is the
 * head of a response ({@link InterceptedResponse}). Its body goes to the caller alone; that of another
 * response is read as far as it has arrived, and its connection closed if that is not all.
 *
 * The rules for repeating are those of {@link resilientFetch}. An upgrade or a CONNECT passes by the
 * pipeline. A request that undici's own fetch sends has an iterable for a body, if any: then it is not
 * repeated; use {@link resilientFetch} for that. A fallback can give no response here: its value makes the
 * request fail with a TypeError.
 *
 * @throws TypeError if an argument is none of these.
 *
 * @example
 * const agent = new Agent().compose(resilienceInterceptor(standardPipeline({ name: 'search' })));
 * const { statusCode, body } = await request('https://search.internal/?q=permits', { dispatcher: agent });
 */
export function resilienceInterceptor(
  pipeline: ResiliencePipeline<any, any>,
  options?: OutboundOptions | undefined,
): ResilienceInterceptor;
