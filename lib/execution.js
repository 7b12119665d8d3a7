'use strict';

// One execution inside one segment: enters, waits, runs the callback, leaves, and settles its promise exactly
// once, whichever of outcome, deadline, rejection and abort comes first.
//
//   state     enters by                       leaves by
//   WAITING   the start                       the callback's start, a rejection, a deadline, an abort
//   RUNNING   the callback's start            its outcome, a deadline, an abort
//   SETTLED   any of these; final             -

const { ResilienceContext, storage } = require('./context.js');
const { PLACE, REASONS, afterCall, executions } = require('./dispatch.js');
const { BulkheadRejectedError, InternalError, TimeoutRejectedError, isTimeoutRejected } = require('./errors.js');
const { ACTIVE, QUEUED, channel, hot } = require('./native.js');
const { OutcomeFailure, OutcomeSuccess } = require('./outcome.js');
const { NO_SAMPLES } = require('./segment.js');
const { setClock } = require('./timer.js');

const WAITING = 0;
const RUNNING = 1;
const SETTLED = 2;

/** What an execution's promise settles with. */
const VALUE = 0;
const OUTCOME = 1;

/** @typedef {(context: ResilienceContext) => unknown} Callback */

/** @type {(value: any) => void} */
let resolvePromise;
/** @type {(error: unknown) => void} */
let rejectPromise;
/** An executor shared by all promises, to save a closure each. @type {(resolve: any, reject: any) => void} */
const capture = (resolve, reject) => {
  resolvePromise = resolve;
  rejectPromise = reject;
};

class Execution {
  /**
   * @param {import('./segment.js').Segment | undefined} segment
   * @param {ResilienceContext} context
   * @param {Callback} callback
   * @param {boolean} ambient Whether the callback runs in the context's AsyncLocalStorage scope.
   * @param {boolean} nested Whether the callback gives an outcome: that of the strategies further in.
   * @param {0 | 1} form `VALUE` or `OUTCOME`.
   */
  constructor(segment, context, callback, ambient, nested, form) {
    this.segment = segment;
    this.context = context;
    this.callback = callback;
    this.ambient = ambient;
    this.nested = nested;
    this.form = form;
    this.state = WAITING;
    this.ticket = 0;
    /** What the execution told the first gate. */
    this.parameter = NaN;
    /** Starts the callback of an execution that waited. @type {(() => void) | undefined} */
    this.grant = undefined;
    /** The timeout gate that gave up on a callback which still runs. @type {{ abandoned?: number } | undefined} */
    this.abandonedBy = undefined;
    /** Called once with whether the execution succeeded. @type {((ok: boolean) => void) | undefined} */
    this.onSettled = undefined;
    this.promise = new Promise(capture);
    this.resolve = resolvePromise;
    this.reject = rejectPromise;
  }

  /** Starts the execution; what comes of it is in the promise. */
  start() {
    const { context, segment } = this;
    if (ResilienceContext.isAborted(context)) {
      this.#settle(false, ResilienceContext.reasonOf(context), NO_SAMPLES);
    } else {
      ResilienceContext.attach(context, this);
      if (segment === undefined) this.#run();
      else if (segment.parameter === undefined) this.#enter(segment);
      else this.#computeParameter(segment, segment.parameter);
    }
    return this.promise;
  }

  /**
   * @param {import('./segment.js').Segment} segment
   * @param {(context: any) => unknown} compute
   */
  #computeParameter(segment, compute) {
    const proceed = (/** @type {unknown} */ value) => {
      if (this.state === SETTLED) return;
      this.parameter = /** @type {number} */ (value);
      const { timeoutMs } = segment.gates[0];
      if (timeoutMs !== undefined && this.parameter <= 0) this.timedOut(0);
      else this.#enter(segment);
    };
    const fail = (/** @type {unknown} */ error) => {
      if (this.state !== SETTLED) this.#settle(false, error, NO_SAMPLES);
    };
    try {
      const value = compute(this.context);
      if (value instanceof Promise) value.then(proceed).catch(fail);
      else proceed(value);
    } catch (error) {
      fail(error);
    }
  }

  /** @param {import('./segment.js').Segment} segment */
  #enter(segment) {
    setClock();
    const answer = hot.enter(segment.key, this.parameter);
    if (answer > 0) {
      this.ticket = answer;
      executions[answer & PLACE] = this;
      afterCall();
      // Effects of the call may have run user code that aborted this execution.
      if (this.state === WAITING) this.#run();
    } else if (answer < -PLACE) {
      this.ticket = -answer;
      executions[this.ticket & PLACE] = this;
      // A promise callback runs in the AsyncLocalStorage stores of the code that added it: the caller's.
      new Promise((resolve) => {
        this.grant = /** @type {() => void} */ (resolve);
      }).then(() => {
        if (this.state === WAITING) this.#run();
      });
      afterCall();
    } else if (answer < 0) {
      this.rejected(0, REASONS[-answer], channel[ACTIVE], channel[QUEUED]);
    } else {
      this.#settle(false, new InternalError(hot.fault()), NO_SAMPLES);
    }
  }

  #run() {
    this.state = RUNNING;
    const { callback, context } = this;
    try {
      /** @type {any} */
      const result = this.ambient ? storage.run(context, callback, context) : callback(context);
      if (result !== null && (typeof result === 'object' || typeof result === 'function')) {
        if (typeof result.then === 'function') {
          Promise.resolve(result).then(
            (value) => this.#returned(value),
            (error) => this.#ended(false, error),
          );
          return;
        }
      }
      this.#returned(result);
    } catch (error) {
      this.#ended(false, error);
    }
  }

  /** @param {any} value */
  #returned(value) {
    if (!this.nested) this.#ended(true, value);
    else if (value.ok) this.#ended(true, value.result);
    else this.#ended(false, value.error);
  }

  /**
   * @param {boolean} ok
   * @param {unknown} value
   */
  #ended(ok, value) {
    if (this.state === SETTLED) {
      const gate = this.abandonedBy;
      if (gate !== undefined) gate.abandoned = /** @type {number} */ (gate.abandoned) - 1;
      return;
    }
    this.#settle(ok, value, this.#outcomes(ok, value));
  }

  /** A waiter passed every gate. */
  admitted() {
    /** @type {() => void} */ (this.grant)();
  }

  /**
   * A limiter turned the execution away.
   *
   * @param {number} index
   * @param {string} reason
   * @param {number} active
   * @param {number} queued
   */
  rejected(index, reason, active, queued) {
    const { context } = this;
    const { gates, telemetry } = /** @type {import('./segment.js').Segment} */ (this.segment);
    const { name, onRejected } = gates[index];
    const { pipelineName } = telemetry;
    const error = new BulkheadRejectedError(/** @type {any} */ (reason), {
      active,
      queued,
      pipelineName,
      strategyName: name,
    });
    this.#settle(false, error, this.#outcomes(false, error));
    telemetry.emit('OnRateLimiterRejected', name, context, { context, reason, active, queued });
    telemetry.notify(name, 'onRejected', onRejected, { context, retryAfter: undefined, reason });
  }

  /**
   * A deadline passed.
   *
   * @param {number} index
   */
  timedOut(index) {
    const { context } = this;
    const { gates, telemetry } = /** @type {import('./segment.js').Segment} */ (this.segment);
    const gate = gates[index];
    const { name, onTimeout } = gate;
    const own = gate.parameter === undefined ? gate.timeoutMs : this.parameter;
    const timeout = /** @type {number} */ (own);
    const error = new TimeoutRejectedError(timeout, {
      pipelineName: telemetry.pipelineName,
      strategyName: name,
    });
    if (this.state === RUNNING) {
      gate.abandoned = /** @type {number} */ (gate.abandoned) + 1;
      this.abandonedBy = gate;
    }
    this.#settle(false, error, this.#outcomes(false, error), true);
    telemetry.emit('OnTimeout', name, context, { context, timeout });
    telemetry.notify(name, 'onTimeout', onTimeout, { context, timeout });
  }

  /**
   * The first byte of a streamed answer has left: its latency is known, and no deadline ends it any more.
   *
   * @param {boolean} keepDeadlines Whether the deadlines hold for the rest too.
   */
  mark(keepDeadlines) {
    if (this.state === SETTLED || this.ticket === 0) return;
    setClock();
    hot.mark(this.ticket, keepDeadlines ? 1 : 0);
    afterCall();
  }

  /**
   * The caller or an enclosing execution gave up. That of a timeout is a sign of overload, any other is none.
   *
   * @param {unknown} reason
   */
  cancel(reason) {
    if (this.state === SETTLED) return;
    this.#settle(false, reason, isTimeoutRejected(reason) ? this.#outcomes(false, reason) : NO_SAMPLES);
  }

  /**
   * @param {boolean} ok
   * @param {unknown} value
   */
  #outcomes(ok, value) {
    const { segment } = this;
    if (segment === undefined || segment.learners.length === 0) return 0;
    return segment.outcomes(ok ? new OutcomeSuccess(value) : new OutcomeFailure(value), this.context);
  }

  /**
   * @param {boolean} ok
   * @param {unknown} value
   * @param {number} outcomes What the gates learn.
   * @param {boolean} [gaveUp] Whether what the callback started has to stop.
   */
  #settle(ok, value, outcomes, gaveUp = false) {
    this.state = SETTLED;
    const { context, ticket } = this;
    if (ticket !== 0) {
      executions[ticket & PLACE] = undefined;
      setClock();
      hot.exit(ticket, outcomes);
    }
    if (this.form === OUTCOME) this.resolve(ok ? new OutcomeSuccess(value) : new OutcomeFailure(value));
    else if (ok) this.resolve(value);
    else this.reject(value);
    if (gaveUp) ResilienceContext.abort(context, value);
    ResilienceContext.detach(context);
    if (ticket !== 0) afterCall();
    if (this.onSettled !== undefined) this.onSettled(ok);
  }
}

module.exports = { Execution, OUTCOME, VALUE };
