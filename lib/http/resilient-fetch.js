'use strict';

// fetch inside a pipeline: each call is one execution, each attempt one call of the fetch beneath.

const { withAttempts } = require('../attempts.js');
const { callback, hasOption, typeError } = require('../options.js');
const { budgetOf, isRepeatable, readOutbound } = require('./outbound-rules.js');
const { discardBody, followBody } = require('./response-body.js');

/** @typedef {import('../context.js').ResilienceContext} ResilienceContext */
/** @typedef {(input: any, init?: any) => any} Fetch */

/** One call, and every response that came of it. */
class Call {
  #send;
  #input;
  #init;
  #headers;
  #storage;
  #deadlineHeader;
  /** Those that may become the result, and whose they are. @type {Map<any, ResilienceContext>} */
  #responses = new Map();
  #isOver = false;
  /** What the call was made in. */
  #enclosing;
  /** Whether that aborts this call. */
  #isEnclosed = false;

  /**
   * @param {Fetch} send
   * @param {any} input
   * @param {any} init
   * @param {ReturnType<typeof readOutbound>} outbound
   */
  constructor(send, input, init, { deadlineHeader, skills }) {
    /** @type {any} */
    const request = typeof input?.clone === 'function' ? input : undefined;
    this.#storage = skills.storage;
    this.#enclosing = skills.currentContext();
    this.#send = send;
    this.#input = input;
    this.#init = ownInit(init);
    this.#deadlineHeader = deadlineHeader;
    const { method, headers, body, signal } = this.#init;
    this.#headers = new Headers(headers ?? request?.headers);
    this.signal = (signal === undefined ? request?.signal : signal) ?? undefined;
    this.repeatable = isRepeatable(
      String(method ?? request?.method ?? 'GET'),
      this.#headers.has('idempotency-key'),
      body ?? request?.body,
    );
  }

  /** What the pipeline runs. */
  get callback() {
    return withAttempts((/** @type {ResilienceContext} */ context) => this.#attempt(context), {
      discard: (outcome) => {
        if (outcome.ok && this.#responses.delete(outcome.result)) discardBody(outcome.result);
      },
    });
  }

  /** @param {ResilienceContext} context */
  async #attempt(context) {
    this.#isEnclosed = this.#storage.getStore() === context;
    const init = { ...this.#init, signal: context.signal };
    const header = this.#deadlineHeader;
    const budget = header === undefined || this.#headers.has(header) ? undefined : budgetOf(context);
    if (header !== undefined && budget !== undefined) {
      init.headers = new Headers(this.#headers);
      init.headers.set(header, budget);
    }
    const response = await this.#send(this.#input, init);
    if (this.#isOver || context.signal.aborted) discardBody(response);
    else this.#responses.set(response, context);
    return response;
  }

  /**
   * Lets go of what is not the result, and hands that out.
   *
   * @param {import('../outcome.js').AnyOutcome} outcome
   */
  end(outcome) {
    this.#isOver = true;
    /** @type {any} */
    const result = outcome.ok ? outcome.result : undefined;
    const body = result?.body ?? undefined;
    const context = this.#responses.get(result);
    for (const response of this.#responses.keys()) {
      // A fallback may have put a response's body into one of its own.
      if (response !== result && (body === undefined || response?.body !== body)) discardBody(response);
    }
    this.#responses.clear();
    if (!outcome.ok) throw outcome.error;
    if (context !== undefined) followBody(result, { context, input: this.#input }, this.#signals());
    return result;
  }

  #signals() {
    /** @type {AbortSignal[]} */
    const signals = this.signal === undefined ? [] : [this.signal];
    if (this.#isEnclosed && this.#enclosing !== undefined) signals.push(this.#enclosing.signal);
    return signals;
  }
}

/**
 * A copy of a caller's `init` that keeps what an instance has by its prototype: a `Request` can be one.
 *
 * @param {any} init
 */
function ownInit(init) {
  if (init === undefined || init === null) return {};
  if (typeof init !== 'object') throw typeError('the init of fetch', 'an object', init);
  /** @type {any} */
  const own = Object.create(null);
  for (const key in init) if (hasOption(init, key)) own[key] = init[key];
  return own;
}

/**
 * A fetch whose every call is an execution of `pipeline`.
 *
 * @param {unknown} pipeline
 * @param {unknown} [fetch] What sends the requests; default the global one, looked up at each call.
 * @param {unknown} [options] `OutboundOptions`.
 */
function resilientFetch(pipeline, fetch, options) {
  const outbound = readOutbound('resilientFetch', pipeline, options);
  /** @type {Fetch | undefined} */
  const given = callback('fetch', fetch);
  return async (/** @type {any} */ input, /** @type {any} */ init) => {
    const call = new Call(given ?? globalThis.fetch, input, init, outbound);
    const { signal, repeatable } = call;
    return call.end(await outbound.pipeline.settle(call.callback, { signal, repeatable }));
  };
}

module.exports = { resilientFetch };
