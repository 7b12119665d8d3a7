'use strict';

// One HTTP request inside the pipeline: from its arrival to the end of its response.
//
// The execution's callback starts the handler and ends with the response, so that the permit is held as long as
// the response takes. A connection that is lost aborts the execution, queued or running.

const { classOf } = require('../copies.js');
const { isExecutionRejected } = require('../errors.js');
const { OVERLOAD } = require('../should-drop.js');
const { warn } = require('../telemetry.js');
const { now } = require('../timer.js');
const { setImmediate } = require('../turn.js');
const { connectionOf, emits, isGone, streamOf, unwatch, watch } = require('./connection.js');
const { hasLeft, observeFirstByte } = require('./first-byte.js');
const { endIfDisposed } = require('./going-away.js');
const { isOwnAbort } = require('./handler-errors.js');
const { LATE_MS, LateHandler } = require('./late-handler.js');
const { quotasOf } = require('./layers.js');
const { carryContext, observeEnd } = require('./observe.js');
const { adoptHeaders, cutOff, respond, setHeaders } = require('./respond.js');
const { seal } = require('./seal.js');

/** @typedef {import('../context.js').ResilienceContext} ResilienceContext */
class InboundRequest {
  /** Under way as long as the response is. @type {any} */
  #execution;
  /** The handler's context, once it runs. @type {ResilienceContext | undefined} */
  context;
  /** The pipeline's outermost context. @type {ResilienceContext | undefined} */
  #root;
  /** When it began to hold what it was admitted by. */
  #startedAt = 0;
  /** @type {import('./door.js').Pass | undefined} */
  #pass;
  #answered = false;
  /** Whether its response has ended, and not only its connection. */
  #hasEnded = false;
  /** Whether the handler's work is under way; undefined as long as nothing tells. @type {boolean | undefined} */
  #works = undefined;
  #isStarted = false;
  /** Its handler, once the execution of that has ended before it. @type {LateHandler | undefined} */
  #late = undefined;
  /** Whether its response or its connection has ended. */
  isOver = false;
  /** Of HTTP/2: no code of a user runs inside Node's own callbacks, in which a stream must not be closed. */
  #isHttp2;
  /** Whether it did not start at once. */
  #hasWaited = false;

  /**
   * @param {import('./admission.js').Admission} admission
   * @param {import('./admission.js').Exchange} exchange
   * @param {InboundRequest | undefined} outermost The one that the first middleware of its response has made.
   * @param {import('./door.js').Pass | undefined} pass What it was told at the door, if it was asked for there.
   */
  constructor(admission, exchange, outermost, pass) {
    const { req, res, subject } = exchange;
    this.admission = admission;
    this.exchange = exchange;
    this.req = req;
    this.res = res;
    // Kept: a pipeline of streams that ends with an error takes the request's socket away.
    this.connection = connectionOf(req);
    this.#isHttp2 = streamOf(req) !== undefined;
    this.subject = subject;
    const counted = pass ?? exchange.visit;
    /** What its permits are counted by, once they are. @type {string | number | undefined | null} */
    this.rateKey = counted === undefined ? null : counted.rateKey;
    this.#pass = pass;
    if (exchange.visit !== undefined) exchange.visit.request = this;
    /** What its client has left. @type {import('./quota-headers.js').Quota | undefined} */
    this.quota = undefined;
    /** @type {InboundRequest} */
    this.outermost = outermost ?? this;
    /** Of the outermost: the one that the last middleware has made. @type {InboundRequest | undefined} */
    this.innermost = undefined;
    /** The one around it. @type {InboundRequest | undefined} */
    this.outer = undefined;
    /** Of the outermost: the context of the innermost handler. @type {ResilienceContext | undefined} */
    this.current = undefined;
    /** And what of it events carry: that of an ambient pipeline. @type {ResilienceContext | undefined} */
    this.carried = undefined;
    /** By which they carry it. @type {import('../pipeline.js').Skills['storage'] | undefined} */
    this.carrier = undefined;
  }

  /**
   * Listens to its end.
   *
   * @throws TypeError if nothing would tell it.
   */
  observe() {
    // Answered before it got here: its handler may run, but there is no response to hold a permit for.
    if (this.res.writableEnded) this.isOver = true;
    else observeEnd(this, this.admission.guardsBody);
    if (this.outermost === this) carryContext(this);
  }

  /** @param {import('../execution.js').Execution} execution */
  run(execution) {
    this.#root = execution.context;
    this.outer = this.outermost.innermost;
    this.outermost.innermost = this;
    if (!this.isOver) {
      watch(this.connection, this);
      this.admission.began(this);
      if (isGone(this.connection)) this.#close();
    }
    execution.start();
    this.#hasWaited = true;
  }

  /** What was said at the door, once. */
  takeAnswer() {
    return this.#pass?.take() ?? 0;
  }

  /** What was told there. */
  get parameter() {
    return this.#pass?.parameter;
  }

  /**
   * The execution's callback: lasts as long as the response.
   *
   * @param {ResilienceContext} context
   * @returns {unknown}
   */
  start(context) {
    this.context = context;
    const { PENDING, ResilienceContext, storage } = this.admission.skills;
    ResilienceContext.onAbort(context, this);
    this.outermost.current = context;
    if (storage.getStore() === context) {
      this.outermost.carried = context;
      this.outermost.carrier = storage;
    }
    if (this.admission.measures) observeFirstByte(this.res, () => this.#mark());
    if (this.admission.hasQuota) this.#tellQuota(undefined);
    this.#execution = ResilienceContext.executionOf(context);
    if (!this.isOver) this.#startedAt = this.admission.drainTime.started();
    if (this.#isHttp2 && this.#hasWaited) setImmediate(() => this.#beginSoon());
    else this.#begin();
    return PENDING;
  }

  /** A waiter in a turn of its own. */
  #beginSoon() {
    const context = /** @type {ResilienceContext} */ (this.context);
    if (classOf(context).isAborted(context)) return;
    try {
      this.#begin();
    } catch (error) {
      this.#execution.finish(false, error);
    }
  }

  #begin() {
    const wasOver = this.isOver;
    this.#isStarted = true;
    const handled = this.#handle();
    if (handled !== undefined) this.follow(handled);
    if (wasOver) this.#finish();
  }

  /** Starts the handler. */
  #handle() {
    try {
      const handled = /** @type {any} */ (this.exchange.handle());
      return typeof handled?.then === 'function' ? handled : undefined;
    } catch (error) {
      this.#works = false;
      if (this.isOver && !this.#answered) this.#tellLate(error);
      throw error;
    }
  }

  /**
   * Learns from a promise when the handler's work ends.
   *
   * @param {PromiseLike<unknown>} handled Rejects with what no framework has caught.
   */
  follow(handled) {
    this.#works = true;
    const ended = () => {
      this.#works = false;
      const context = /** @type {ResilienceContext} */ (this.context);
      classOf(context).lateUntil(context, -Infinity);
      this.#late?.leave();
    };
    handled.then(ended, (/** @type {unknown} */ error) => {
      ended();
      if (!this.isOver) {
        this.#execution.finish(false, error);
      } else if (this.#answered) {
        // What a framework would have answered it by comes too late.
        this.admission.swallowed += 1;
      } else {
        this.#tellLate(error);
      }
    });
  }

  /** What the handler fails by after its response has ended, nobody else tells. @param {unknown} error */
  #tellLate(error) {
    if (!isOwnAbort(this.req, error)) warn(error);
  }

  /** The response has ended, which one that was made up does not always tell itself. */
  ended() {
    this.#hasEnded = true;
    this.closed();
  }

  /** The response or its connection has ended. */
  closed() {
    if (this.isOver) return;
    this.isOver = true;
    if (this.#isHttp2) setImmediate(() => this.#close());
    else this.#close();
  }

  #close() {
    this.isOver = true;
    unwatch(this.connection, this);
    if (this.connection.session) unwatch(this.connection.session, this);
    this.admission.ended(this);
    if (this.context !== undefined) this.admission.drainTime.ended(this.#startedAt);
    if (this.#isAnswered && this.context !== undefined) this.#finish();
    else if (this.#root !== undefined) classOf(this.#root).abort(this.#root, disconnected());
  }

  /** Whether its connection has ended before its response: over HTTP/2 its context hears of that a turn later. */
  get isLost() {
    return this.isOver && !this.#isAnswered;
  }

  /** Whether its response has come to its end. */
  get #isAnswered() {
    return this.res.writableEnded || this.#hasEnded;
  }

  /** An error status is a failure, by which `shouldDrop` tells overload from what says nothing about it. */
  #finish() {
    // Of one that was aborted, the handler's end is told by that itself.
    const context = /** @type {ResilienceContext} */ (this.context);
    if (classOf(context).isAborted(context)) return;
    const { statusCode } = this.res;
    if (!(statusCode >= 400)) {
      this.#execution.finish(true, undefined);
      return;
    }
    const isDrop = this.admission.isDrop(this.subject, statusCode);
    this.#execution.finish(false, new ResponseError(statusCode, isDrop));
  }

  /** An adaptive limiter measures the time to it. */
  #mark() {
    if (this.isOver) return;
    const context = /** @type {ResilienceContext} */ (this.context);
    classOf(context).markFirstByte(context, /** @type {ResilienceContext} */ (this.#root));
  }

  /** Whether the user hears of a rejection. */
  get isHeard() {
    return this.admission.hearsRejections;
  }

  /**
   * Whether a deadline has nothing to say any more: it guards the time to the handler's first byte. Headers
   * that were sent before the handler started are none of its own.
   */
  hasBegun() {
    return this.context !== undefined && !this.admission.guardsBody && hasLeft(this.req, this.res);
  }

  /**
   * The handler's context was aborted. By a deadline: the answer goes out before the handler's own abort
   * listeners can interfere.
   *
   * @param {unknown} reason
   */
  aborted(reason) {
    const context = /** @type {ResilienceContext} */ (this.context);
    if (this.#works === undefined) classOf(context).lateUntil(context, now() + LATE_MS);
    else classOf(context).lateUntil(context, this.#works ? Infinity : -Infinity);
    this.exchange.aborted?.(reason);
    if (!this.isOver) this.#answer(reason);
    if (this.#isStarted) this.#late = new LateHandler(this, this.#execution, reason, this.#works);
  }

  /** @param {import('../outcome.js').AnyOutcome} outcome */
  settled(outcome) {
    const { res } = this;
    if (this.#answered) return;
    if (this.isOver) {
      // Its client left the queue, or had its answer from elsewhere: nothing will come of it.
      if (this.context === undefined) this.exchange.answered?.();
      return;
    }
    if (outcome.ok && res.headersSent) return;
    const error = outcome.ok ? undefined : outcome.error;
    // Without an error, a fallback took the handler's place.
    if (error === undefined || isExecutionRejected(error)) {
      this.#answer(error);
    } else if (this.context === undefined) {
      this.exchange.fail(error);
    } else {
      // No framework has caught what the handler threw, and the client is not told.
      warn(error);
      this.#answer(error);
    }
  }

  /** There is no execution of it. @param {unknown} error */
  refuse(error) {
    this.#answer(error);
  }

  /**
   * Tells the client what it has left, by this middleware and by those before.
   *
   * @param {any} error Of a request that is refused.
   * @returns {number} The seconds for which it has nothing left.
   */
  #tellQuota(error) {
    const { admission } = this;
    this.quota = admission.quotaOf(this.rateKey, error) ?? this.quota;
    const quotas = quotasOf(this.outermost);
    const { res } = this;
    if (typeof res.setHeader === 'function' && !res.headersSent) {
      setHeaders(res, admission.quotaHeaders(quotas, error));
    }
    return Math.max(0, ...quotas.map(({ remaining, resetS }) => (remaining === 0 ? resetS : 0)));
  }

  /** Answers in the handler's place: at a deadline from a timer, where nobody would catch a failure. */
  #answer(/** @type {unknown} */ error) {
    this.#answered = true;
    if (isExecutionRejected(error)) {
      const { code, reason } = /** @type {any} */ (error);
      this.admission.count(code, reason);
      this.admission.tellRejected(this.subject, error);
    }
    try {
      if (!this.res.writableEnded) this.#write(error);
      else if (this.admission.guardsBody) cutOff(this.req, this.res);
      this.exchange.answered?.();
    } catch (failure) {
      warn(failure);
    }
  }

  #write(/** @type {unknown} */ error) {
    const { admission, req, res } = this;
    const begun = res.headersSent;
    if (!begun) {
      adoptHeaders(this.exchange);
      endIfDisposed(admission.pipeline, req, res);
    }
    respond(req, res, error, admission, begun ? 0 : this.#tellQuota(error), this.context !== undefined);
    if (begun || this.context === undefined) return;
    const close = () => {
      seal(req, res, (name) => {
        admission.swallowed += 1;
        if (name === 'end') this.#late?.leave();
      });
    };
    // A middleware that delays the end still needs the response.
    if (res.headersSent || this.isOver || !emits(res)) close();
    else res.once('finish', close);
  }
}

/** An answer with an error status. */
class ResponseError extends Error {
  /**
   * @param {number} statusCode
   * @param {boolean} isDrop Whether it is a sign of overload.
   */
  constructor(statusCode, isDrop) {
    super(`the handler answered ${statusCode}`);
    this.statusCode = statusCode;
    Object.defineProperty(this, OVERLOAD, { value: isDrop });
  }
}

const disconnected = () => new DOMException('the client disconnected', 'AbortError');

module.exports = { InboundRequest };
