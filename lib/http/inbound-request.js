'use strict';

// One HTTP request inside the pipeline: from its arrival to the end of its response.
//
// The execution's callback starts the handler and ends with the response, so that the permit is held as long as
// the response takes. A connection that is lost aborts the execution, queued or running.

const { ResilienceContext, requests, storage } = require('../context.js');
const { respond } = require('./respond.js');
const { seal } = require('./seal.js');

/** The requests under way on each connection: also those whose response has no socket of its own yet, or any more. */
const REQUESTS = Symbol('requests');

class InboundRequest {
  /** @type {((result: Promise<never> | undefined) => void) | undefined} */
  #end;
  /** The handler's context, once it runs. @type {ResilienceContext | undefined} */
  #context;
  /** The pipeline's outermost context. @type {ResilienceContext | undefined} */
  #root;
  #socket;
  #firstByteSent = false;
  #answered = false;
  #over = false;

  /**
   * @param {import('./admission.js').Admission} admission
   * @param {import('node:http').IncomingMessage} req
   * @param {import('node:http').ServerResponse} res
   * @param {object} subject The framework's own request object.
   * @param {() => void} handle Starts the handler.
   * @param {(error: unknown) => void} fail Takes an error that is none of ours, if the handler was not started.
   */
  constructor(admission, req, res, subject, handle, fail) {
    this.admission = admission;
    this.req = req;
    this.res = res;
    // A pipeline of streams that ends with an error takes the request's socket away.
    this.#socket = req.socket;
    this.subject = subject;
    this.handle = handle;
    this.fail = fail;
  }

  /** @param {import('../execution.js').Execution} execution */
  run(execution) {
    const { res } = this;
    this.#root = execution.context;
    if (res.writableEnded) {
      // Answered before it got here: its handler may run, but there is no response to hold a permit for.
      this.#over = true;
    } else {
      res.once('close', () => this.closed());
      res.once('finish', () => this.closed());
      if (this.#socket) watch(this.#socket, this);
      if (this.#socket?.destroyed) this.closed();
    }
    execution.start().then((/** @type {any} */ outcome) => this.#settled(outcome));
  }

  /**
   * The execution's callback: lasts as long as the response.
   *
   * @param {ResilienceContext} context
   * @returns {Promise<unknown> | undefined}
   */
  start(context) {
    this.#context = context;
    requests.set(this.subject, context);
    ResilienceContext.onAbort(context, (reason) => this.#aborted(reason));
    if (storage.getStore() === context) this.#carryContext(context);
    this.#watchFirstByte();
    if (!this.admission.guardsBody) this.#watchEnd();
    this.handle();
    if (this.#over) return this.#result();
    return new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  /** The response or its connection has ended. */
  closed() {
    if (this.#over) return;
    this.#over = true;
    unwatch(this.#socket, this);
    if (this.res.writableEnded && this.#context !== undefined) this.#end?.(this.#result());
    else if (this.#root !== undefined) ResilienceContext.abort(this.#root, disconnected());
  }

  /** An error status is a failure, by which `shouldDrop` tells overload from what says nothing about it. */
  #result() {
    const { statusCode } = this.res;
    return statusCode < 400 ? undefined : Promise.reject(new ResponseError(statusCode));
  }

  /** Events of the request and the response come from the connection, outside of any AsyncLocalStorage scope. */
  #carryContext(/** @type {ResilienceContext} */ context) {
    for (const emitter of [this.req, this.res]) {
      const { emit } = emitter;
      emitter.emit = /** @type {any} */ (
        (/** @type {any[]} */ ...args) => storage.run(context, () => Reflect.apply(emit, emitter, args))
      );
    }
  }

  /** Every first byte goes through `writeHead`. */
  #watchFirstByte() {
    const { res } = this;
    const { writeHead } = res;
    res.writeHead = /** @type {any} */ (
      (/** @type {any[]} */ ...args) => {
        this.#firstByte();
        return Reflect.apply(writeHead, res, args);
      }
    );
  }

  /**
   * What is left of an ended response is up to the client, who may take for ever to read it: unless a deadline
   * guards that too, it needs no permit.
   */
  #watchEnd() {
    const { res } = this;
    const { end } = res;
    res.end = /** @type {any} */ (
      (/** @type {any[]} */ ...args) => {
        const result = Reflect.apply(/** @type {Function} */ (end), res, args);
        if (res.writableEnded) this.closed();
        return result;
      }
    );
  }

  #firstByte() {
    const context = this.#context;
    const root = this.#root;
    if (this.#firstByteSent || this.#over || context === undefined || root === undefined) return;
    this.#firstByteSent = true;
    ResilienceContext.visitExecutions(context, root, (execution) => execution.mark(this.admission.guardsBody));
  }

  /** A deadline has passed: the answer goes out before the handler's own abort listeners can interfere. */
  #aborted(/** @type {unknown} */ reason) {
    if (!this.#over) this.#answer(reason);
  }

  /** @param {import('../outcome.js').AnyOutcome} outcome */
  #settled(outcome) {
    const { admission, res } = this;
    if (this.#answered || this.#over || (outcome.ok && res.headersSent)) return;
    const error = outcome.ok ? undefined : outcome.error;
    if (this.#context === undefined && !admission.answers(error)) this.fail(error);
    else this.#answer(error);
  }

  /** Answers in the handler's place. */
  #answer(/** @type {unknown} */ error) {
    const { admission, res } = this;
    this.#answered = true;
    if (res.writableEnded) {
      if (admission.guardsBody) res.destroy();
      return;
    }
    const begun = res.headersSent;
    respond(res, error);
    if (begun || this.#context === undefined) return;
    const cutOff = () => seal(res, () => admission.swallow());
    // A middleware that delays the end still needs the response.
    if (res.headersSent) cutOff();
    else res.once('finish', cutOff);
  }
}

/**
 * @param {any} socket
 * @param {InboundRequest} request
 */
function watch(socket, request) {
  /** @type {Set<InboundRequest> | undefined} */
  let underWay = socket[REQUESTS];
  if (underWay === undefined) {
    const set = new Set();
    socket[REQUESTS] = underWay = set;
    socket.once('close', () => {
      for (const each of set) each.closed();
    });
  }
  underWay.add(request);
}

/**
 * @param {any} socket
 * @param {InboundRequest} request
 */
function unwatch(socket, request) {
  socket?.[REQUESTS]?.delete(request);
}

/** An answer with an error status. */
class ResponseError extends Error {
  /** @param {number} statusCode */
  constructor(statusCode) {
    super(`the handler answered ${statusCode}`);
    this.statusCode = statusCode;
  }
}

const disconnected = () => new DOMException('the client disconnected', 'AbortError');

module.exports = { InboundRequest };
