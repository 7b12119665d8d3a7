'use strict';

// A request of an undici dispatcher, as an execution of a pipeline. Its outcome is decided by the head of a
// response; the attempt that wins is then connected to the handler that the request came with.

const { withAttempts } = require('../attempts.js');
const callerSignal = require('../caller-signal.js');
const { budgetOf, isRepeatable } = require('./outbound-rules.js');
const { UndiciAttempt } = require('./undici-attempt.js');

/** @typedef {import('../context.js').ResilienceContext} ResilienceContext */
/** @typedef {import('./undici-attempt.js').Head} Head */

class UndiciRequest {
  #dispatch;
  #request;
  #handler;
  #deadlineHeader;
  #headers;
  #storage;
  /** What the attempts tell of their requests' starts, under the eyes of the handler. */
  #requestContext = {};
  #controller = new Controller();
  /** Those that are not let go of, by the heads of their responses. @type {Map<Head, UndiciAttempt>} */
  #attempts = new Map();
  #isOver = false;
  /** What the dispatcher answered to the first attempt, if that began at once. */
  #canTakeMore = true;
  /** What the request was made in. */
  #enclosing;
  /** Whether that aborts this request. */
  #isEnclosed = false;

  /**
   * @param {(options: any, handler: any) => boolean} dispatch
   * @param {any} request What undici calls the options of a dispatch.
   * @param {any} handler
   * @param {ReturnType<typeof import('./outbound-rules.js').readOutbound>} outbound
   */
  constructor(dispatch, request, handler, { deadlineHeader, skills }) {
    this.#storage = skills.storage;
    this.#enclosing = skills.currentContext();
    this.#dispatch = dispatch;
    this.#request = request;
    this.#handler = handler;
    this.#deadlineHeader = deadlineHeader;
    this.#headers = listOf(request.headers);
  }

  /** @param {import('../pipeline.js').ResiliencePipeline} pipeline */
  run(pipeline) {
    const { method, body } = this.#request;
    const controller = this.#controller;
    // Before the first attempt: one that waits for its permit can be aborted as well.
    this.#handler.onRequestStart(controller, this.#requestContext);
    const callback = withAttempts((/** @type {ResilienceContext} */ context) => this.#attempt(context), {
      discard: (outcome) => {
        if (outcome.ok) this.#discard(/** @type {Head} */ (outcome.result));
      },
    });
    const repeatable = isRepeatable(String(method), this.#has('idempotency-key'), body);
    pipeline
      .settle(callback, { signal: controller.signal, repeatable })
      .then((outcome) => this.#end(outcome));
    return this.#canTakeMore;
  }

  /** @param {ResilienceContext} context */
  #attempt(context) {
    this.#isEnclosed = this.#storage.getStore() === context;
    const attempt = new UndiciAttempt(context, this.#requestContext, (head) => {
      if (this.#isOver) attempt.discard();
      else this.#attempts.set(head, attempt);
    });
    this.#canTakeMore = this.#dispatch(this.#withBudget(context), attempt);
    return attempt.head;
  }

  /** @param {ResilienceContext} context */
  #withBudget(context) {
    const header = this.#deadlineHeader;
    const budget = header === undefined || this.#has(header) ? undefined : budgetOf(context);
    if (header === undefined || budget === undefined) return this.#request;
    return { ...this.#request, headers: withHeader(this.#request.headers, header, budget) };
  }

  /** @param {string} name In lower case. */
  #has(name) {
    return this.#headers.some(([key]) => String(key).toLowerCase() === name);
  }

  /** @param {Head} head */
  #discard(head) {
    this.#attempts.get(head)?.discard();
    this.#attempts.delete(head);
  }

  /** @param {import('../outcome.js').AnyOutcome} outcome */
  #end(outcome) {
    this.#isOver = true;
    const head = /** @type {Head} */ (outcome.ok ? outcome.result : undefined);
    const winner = this.#attempts.get(head);
    this.#attempts.delete(head);
    for (const other of this.#attempts.keys()) this.#discard(other);
    if (winner !== undefined) {
      this.#controller.connect(winner);
      winner.deliver(this.#handler, this.#controller, this.#follow(winner));
    } else {
      const error = outcome.ok ? new TypeError(NO_RESPONSE) : outcome.error;
      this.#handler.onResponseError?.(this.#controller, error);
    }
  }

  /**
   * Lets what the request was made in abort the reading of its response.
   *
   * @param {UndiciAttempt} winner
   */
  #follow(winner) {
    if (!this.#isEnclosed || this.#enclosing === undefined) return () => {};
    const { signal } = this.#enclosing;
    if (signal.aborted) winner.abort(signal.reason);
    const followed = callerSignal.follow(signal, winner, (attempt, reason) => attempt.abort(reason));
    return () => followed.remove();
  }
}

const NO_RESPONSE = 'the pipeline of resilienceInterceptor must give a response of its own dispatcher';

/** What the handler controls the request by, whichever attempt it is about. */
class Controller {
  #aborting = new AbortController();
  /** @type {UndiciAttempt | undefined} */
  #attempt;
  paused = false;

  get signal() {
    return this.#aborting.signal;
  }

  get aborted() {
    return this.#aborting.signal.aborted;
  }

  get reason() {
    return this.#aborting.signal.reason ?? null;
  }

  get rawHeaders() {
    return this.#attempt?.controller?.rawHeaders ?? null;
  }

  // Other interceptors write them, too.
  set rawHeaders(headers) {
    if (this.#attempt?.controller) this.#attempt.controller.rawHeaders = headers;
  }

  get rawTrailers() {
    return this.#attempt?.controller?.rawTrailers ?? null;
  }

  set rawTrailers(trailers) {
    if (this.#attempt?.controller) this.#attempt.controller.rawTrailers = trailers;
  }

  /** @param {UndiciAttempt} attempt */
  connect(attempt) {
    this.#attempt = attempt;
  }

  /** @param {unknown} reason */
  abort(reason) {
    this.#aborting.abort(reason);
    this.#attempt?.abort(this.reason);
  }

  pause() {
    this.paused = true;
    this.#attempt?.controller?.pause();
  }

  resume() {
    this.paused = false;
    this.#attempt?.controller?.resume();
  }
}

/**
 * @param {any} headers
 * @param {string} name
 * @param {string} value
 */
function withHeader(headers, name, value) {
  const isPlain = typeof headers?.[Symbol.iterator] !== 'function';
  return isPlain ? { ...headers, [name]: value } : [...listOf(headers).flat(), name, value];
}

/**
 * The names and values of headers, in whichever of undici's forms they are.
 *
 * @param {any} headers
 * @returns {[string, any][]}
 */
function listOf(headers) {
  if (headers === undefined || headers === null) return [];
  if (!Array.isArray(headers)) {
    return typeof headers[Symbol.iterator] === 'function' ? [...headers] : Object.entries(headers);
  }
  if (Array.isArray(headers[0])) return [.../** @type {[string, any][]} */ (headers)];
  /** @type {[string, any][]} */
  const list = [];
  for (let at = 0; at < headers.length; at += 2) list.push([headers[at], headers[at + 1]]);
  return list;
}

module.exports = { UndiciRequest };
