'use strict';

// One execution inside one segment: enters, waits, runs the callback, leaves, and settles its promise exactly
// once, whichever of outcome, deadline, rejection and abort comes first.
//
//   state     enters by                       leaves by
//   WAITING   the start                       the callback's start, a rejection, a deadline, an abort
//   RUNNING   the callback's start            its outcome, a deadline, an abort
//   SETTLED   any of these; final             -

const { ResilienceContext, storage } = require('./context.js');
const { PLACE, REASONS, afterCall, departed, executions, hasUntold } = require('./dispatch.js');
const {
  InternalError,
  PipelineDisposedError,
  TimeoutRejectedError,
  isTimeoutRejected,
} = require('./errors.js');
const { ACTIVE, QUEUED, RETRY_AFTER, channel, enter, exit, hot, report } = require('./native.js');
const nesting = require('./nesting.js');
const { OutcomeFailure, OutcomeSuccess } = require('./outcome.js');
const { plain, rejectSoon } = require('./promises.js');
const { OutcomeRefusal, makeError } = require('./refusal.js');
const { NO_SAMPLES } = require('./segment.js');
const { setClock } = require('./timer.js');

const WAITING = 0;
const RUNNING = 1;
const SETTLED = 2;

/** What an execution's promise settles with. */
const VALUE = 0;
const OUTCOME = 1;

/** In place of a ticket: holds a permit that the core has lent. */
const LENT = 1;

/** What a callback returns that will end its execution by `finish`, and spare the promise. */
const PENDING = Symbol('pending');

/** @typedef {(context: ResilienceContext) => unknown} Callback */
/** @typedef {import('./segment.js').Gate} Gate */
/** @typedef {{ hasBegun(): boolean }} Stream */
/** @typedef {{ settled(outcome: import('./outcome.js').AnyOutcome): void }} Listener */

/**
 * By a timeout's error, the gate whose deadline ended an execution around other stages. That gate counts the
 * callback which the error reaches further in.
 *
 * @type {WeakMap<object, Gate>}
 */
const abandoners = new WeakMap();

const none = () => {};

/** @type {(value: any) => void} */
let resolvePromise = none;
/** @type {(error: any) => void} */
let rejectPromise = none;
/** An executor shared by all promises, to save a closure each. @type {(resolve: any, reject: any) => void} */
const capture = (resolve, reject) => {
  resolvePromise = resolve;
  rejectPromise = reject;
};

/**
 * @param {boolean} ok
 * @param {unknown} value
 */
const outcomeOf = (ok, value) => (ok ? new OutcomeSuccess(value) : new OutcomeFailure(value));

class Execution {
  /**
   * @param {import('./segment.js').Segment | undefined} segment
   * @param {ResilienceContext} context
   * @param {Callback} callback
   * @param {boolean} ambient Whether the callback runs in the context's AsyncLocalStorage scope.
   * @param {boolean} nested Whether the callback gives an outcome: that of the strategies further in.
   * @param {0 | 1} form `VALUE` or `OUTCOME`.
   * @param {Listener} [listener] Hears of the end in place of a promise.
   */
  constructor(segment, context, callback, ambient, nested, form, listener) {
    this.segment = segment;
    this.context = context;
    this.callback = callback;
    this.ambient = ambient;
    this.nested = nested;
    this.form = form;
    this.state = WAITING;
    this.ticket = 0;
    /** What the execution told the first gate. @type {number | undefined} */
    this.parameter = undefined;
    /** Lets it go on in the caller's AsyncLocalStorage stores. @type {(() => void) | undefined} */
    this.resume = undefined;
    /** What goes on there, if it is not the callback. @type {(() => void) | undefined} */
    this.notice = undefined;
    /** The timeout gate that gave up on the callback, which still runs. @type {Gate | undefined} */
    this.abandonedBy = undefined;
    /** The answer that it streams: once begun, no deadline ends it. @type {Stream | undefined} */
    this.stream = undefined;
    /** Called once with whether the execution succeeded. @type {((ok: boolean) => void) | undefined} */
    this.onSettled = undefined;
    this.listener = listener;
    /** Made when the start is over, in which many executions end. @type {Promise<any> | undefined} */
    this.promise = undefined;
    /** @type {(value: any) => void} */
    this.resolve = none;
    /** @type {(error: any) => void} */
    this.reject = none;
    /** How it ended, if that was ahead of its promise. @type {import('./outcome.js').AnyOutcome | undefined} */
    this.early = undefined;
  }

  /** Starts the execution; what comes of it is in the promise, if nobody listens. */
  start() {
    const { context, segment } = this;
    if (ResilienceContext.isAborted(context)) {
      this.#settle(false, ResilienceContext.reasonOf(context), false);
    } else if (segment === undefined) {
      // With no gate that could end it, and nobody above, nothing needs to find it.
      if (!this.#endsAlone()) ResilienceContext.attach(context, this);
      this.#run();
    } else {
      ResilienceContext.attach(context, this);
      if (segment.parameter === undefined) this.#enter(segment);
      else this.#computeParameter(segment, segment.parameter);
    }
    if (this.#isStarting()) this.#promise();
    return /** @type {Promise<any>} */ (this.promise);
  }

  #promise() {
    const { early } = this;
    if (early === undefined) {
      this.promise = new Promise(capture);
      this.resolve = resolvePromise;
      this.reject = rejectPromise;
      // They would keep the promise alive, and with it the result and the caller's stores.
      resolvePromise = rejectPromise = none;
    } else {
      this.early = undefined;
      if (this.form === OUTCOME) this.promise = Promise.resolve(early);
      else this.promise = early.ok ? Promise.resolve(early.result) : rejectSoon(early.error);
    }
  }

  /** Whether its promise is still to be made. */
  #isStarting() {
    return this.promise === undefined && this.listener === undefined;
  }

  /** Whether nothing but its callback can end it, once that runs. */
  #endsAlone() {
    const { context, listener, segment } = this;
    return listener === undefined && !segment?.hasDeadline && ResilienceContext.isAlone(context);
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
      if (this.state !== SETTLED) this.#settle(false, error, false);
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
    if (segment.disposed) {
      const { pipelineName } = segment.telemetry;
      this.#settle(false, new PipelineDisposedError({ pipelineName }), false);
      return;
    }
    if (segment.permits > 0) {
      segment.permits -= 1;
      this.ticket = LENT;
      this.#run();
      return;
    }
    setClock();
    const answer = enter(segment.key, this.parameter ?? NaN);
    if (answer > PLACE) {
      this.ticket = answer;
      executions[answer & PLACE] = this;
      if (segment.hearsTimeouts) this.#keepStores();
      afterCall();
      // Effects of the call may have run user code that aborted this execution.
      if (this.state === WAITING) this.#run();
    } else if (answer > 0) {
      segment.permits = answer - 1;
      this.ticket = LENT;
      afterCall();
      if (this.state === WAITING) this.#run();
    } else if (answer < -PLACE) {
      segment.contended = true;
      this.ticket = -answer;
      executions[this.ticket & PLACE] = this;
      this.#keepStores();
      afterCall();
    } else if (answer < 0) {
      this.rejected(0, REASONS[-answer], channel[ACTIVE], channel[QUEUED], channel[RETRY_AFTER]);
    } else {
      const error = new InternalError(hot.fault());
      afterCall();
      this.#settle(false, error, false);
    }
  }

  /** A promise callback runs in the AsyncLocalStorage stores of whoever added it: here, the caller. */
  #keepStores() {
    new Promise((resolve) => {
      this.resume = /** @type {() => void} */ (resolve);
    }).then(() => this.#resumed());
  }

  #resumed() {
    this.resume = undefined;
    if (this.notice !== undefined) {
      this.notice();
    } else if (this.state === WAITING) {
      if (/** @type {import('./segment.js').Segment} */ (this.segment).hearsTimeouts) this.#keepStores();
      this.#run();
    }
  }

  /**
   * Leaves a notification to the caller's stores, ahead of what the execution's promise brings about.
   *
   * @param {() => void} notice
   * @returns {boolean} False if this turn is the caller's own.
   */
  #defer(notice) {
    if (this.resume === undefined) return false;
    this.notice = notice;
    this.resume();
    return true;
  }

  #run() {
    if (nesting.depth >= nesting.MAX_DEPTH) {
      Promise.resolve().then(() => {
        if (this.state === WAITING) this.#run();
      });
      return;
    }
    this.state = RUNNING;
    const { callback, context } = this;
    nesting.depth += 1;
    try {
      /** @type {any} */
      const result = this.ambient ? storage.run(context, callback, context) : callback(context);
      if (result === PENDING) return;
      if (result !== null && (typeof result === 'object' || typeof result === 'function')) {
        if (typeof result.then === 'function') {
          this.#follow(plain(result));
          return;
        }
      }
      this.#returned(result);
    } catch (error) {
      this.#ended(false, error);
    } finally {
      nesting.depth -= 1;
    }
  }

  /** @param {Promise<any>} result */
  #follow(result) {
    const direct = this.promise === undefined && this.#endsAlone();
    const ended = result.then(
      (value) => {
        this.#returned(value);
        return direct ? this.#early() : undefined;
      },
      (error) => {
        this.#ended(false, error);
        return direct ? this.#early() : undefined;
      },
    );
    if (direct) this.promise = ended;
  }

  /** What its promise is to settle with, which nothing else has settled. */
  #early() {
    const early = /** @type {import('./outcome.js').AnyOutcome} */ (this.early);
    if (this.form === OUTCOME) return early;
    if (early.ok) return early.result;
    throw early.error;
  }

  /**
   * Ends what returned `PENDING`.
   *
   * @param {boolean} ok
   * @param {unknown} value
   */
  finish(ok, value) {
    this.#ended(ok, value);
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
      this.abandonedBy = undefined;
      if (gate !== undefined) gate.abandoned = /** @type {number} */ (gate.abandoned) - 1;
      return;
    }
    this.#settle(ok, value, true);
  }

  /** A waiter passed every gate. */
  admitted() {
    /** @type {() => void} */ (this.resume)();
  }

  /**
   * A gate turned the execution away.
   *
   * @param {number} index
   * @param {string} reason
   * @param {number} active
   * @param {number} queued
   * @param {number} retryAfterMs NaN if nobody knows.
   */
  rejected(index, reason, active, queued, retryAfterMs) {
    const { context } = this;
    const { gates, telemetry } = /** @type {import('./segment.js').Segment} */ (this.segment);
    const gate = gates[index];
    const { name, isLimiter, onRejected } = gate;
    const { pipelineName } = telemetry;
    const retryAfter = Number.isNaN(retryAfterMs) ? undefined : Math.max(Math.ceil(retryAfterMs), 1);
    const refusal = { reason, active, queued, retryAfter, pipelineName, strategyName: name };
    /** @type {Error | undefined} */
    let error;
    if (this.ticket === 0 && this.form === OUTCOME && this.#isStarting()) {
      this.early = new OutcomeRefusal(gate, refusal);
    } else {
      error = makeError(gate, refusal);
    }
    if (!isLimiter) {
      this.#settle(false, error, true);
      return;
    }
    const notice = () => {
      telemetry.notify(name, 'onRejected', onRejected, { context, retryAfter, reason });
    };
    const deferred = this.#defer(notice);
    this.#settle(false, error, true, false, () => {
      telemetry.emit('OnRateLimiterRejected', name, context, { context, reason, active, queued, retryAfter });
      if (!deferred) notice();
    });
  }

  /**
   * A deadline passed.
   *
   * @param {number} index
   */
  timedOut(index) {
    const { context } = this;
    const { gates, telemetry } = /** @type {import('./segment.js').Segment} */ (this.segment);
    // Its deadlines are disarmed by now, and its permits held: it goes on.
    if (this.stream?.hasBegun()) return;
    const gate = gates[index];
    const { name, onTimeout } = gate;
    const own = gate.parameter === undefined ? gate.timeoutMs : this.parameter;
    const timeout = /** @type {number} */ (own);
    const error = new TimeoutRejectedError(timeout, {
      pipelineName: telemetry.pipelineName,
      strategyName: name,
    });
    const notice = () => telemetry.notify(name, 'onTimeout', onTimeout, { context, timeout });
    const deferred = this.#defer(notice);
    // The callback of a nested execution is the inner stages: the user's is theirs, and is cancelled below.
    if (this.nested) abandoners.set(error, gate);
    else this.#abandon(gate);
    this.#settle(false, error, true, true, () => {
      telemetry.emit('OnTimeout', name, context, { context, timeout });
      if (!deferred) notice();
    });
  }

  /** @param {Gate} gate The timeout that gives up on the callback. */
  #abandon(gate) {
    if (this.state !== RUNNING) return;
    gate.abandoned = /** @type {number} */ (gate.abandoned) + 1;
    this.abandonedBy = gate;
  }

  /** The first byte of a streamed answer has left: that is its latency. */
  mark() {
    if (this.state === SETTLED || this.ticket <= LENT) return;
    setClock();
    report(hot.mark(this.ticket));
    afterCall();
  }

  /** Milliseconds until its first deadline, Infinity for none. */
  remaining() {
    if (this.state === SETTLED || this.ticket <= LENT) return Infinity;
    setClock();
    const remaining = hot.remaining(this.ticket);
    return report(remaining) ? Infinity : remaining;
  }

  /**
   * The caller or an enclosing execution gave up. That of a timeout is a sign of overload, any other is none.
   *
   * @param {unknown} reason
   */
  cancel(reason) {
    if (this.state === SETTLED) return;
    const isTimeout = isTimeoutRejected(reason);
    const gate = isTimeout && !this.nested ? abandoners.get(/** @type {object} */ (reason)) : undefined;
    if (gate !== undefined && this.state === RUNNING) {
      abandoners.delete(/** @type {object} */ (reason));
      this.#abandon(gate);
    }
    this.#settle(false, reason, isTimeout);
  }

  /**
   * @param {boolean} ok
   * @param {unknown} value
   * @param {boolean} hasRun
   */
  #outcomes(ok, value, hasRun) {
    const segment = /** @type {import('./segment.js').Segment} */ (this.segment);
    const isPlain = segment.learners.length === 0 || (ok && !segment.judgesSuccess);
    const outcomes = isPlain ? 0 : segment.outcomes(outcomeOf(ok, value), this.context);
    return segment.teller === undefined || !hasRun ? outcomes : segment.withOperation(outcomes, this.context);
  }

  /**
   * @param {boolean} ok
   * @param {unknown} value
   * @param {boolean} learn Whether the gates learn from it.
   * @param {boolean} [gaveUp] Whether what the callback started has to stop.
   * @param {() => void} [tell] Tells why, when every permit is back and before the end is told.
   */
  #settle(ok, value, learn, gaveUp = false, tell = undefined) {
    const { context, state, ticket } = this;
    // First of all: `shouldDrop` is the user's code and may cancel this very execution.
    this.state = SETTLED;
    let called = ticket > LENT;
    if (ticket === LENT) {
      called = /** @type {import('./segment.js').Segment} */ (this.segment).giveBack();
    } else if (called) {
      executions[ticket & PLACE] = undefined;
      const outcomes = learn ? this.#outcomes(ok, value, state === RUNNING) : NO_SAMPLES;
      const untold = hasUntold();
      setClock();
      const moved = exit(ticket, outcomes);
      if (report(moved) || moved === 1) {
        /** @type {import('./segment.js').Segment} */ (this.segment).epoch = undefined;
      }
      if (moved === 1 || untold) {
        departed.set(ticket, { outcome: outcomeOf(ok, value), context });
      }
    }
    if (this.listener === undefined) {
      if (this.resolve === none) this.early ??= outcomeOf(ok, value);
      else if (this.form === OUTCOME) this.resolve(outcomeOf(ok, value));
      else if (ok) this.resolve(value);
      else this.reject(value);
    }
    if (gaveUp) ResilienceContext.abort(context, value);
    ResilienceContext.detach(context);
    if (called) afterCall();
    if (tell !== undefined) tell();
    if (this.onSettled !== undefined) this.onSettled(ok);
    if (this.listener !== undefined) this.#deliver(this.listener, outcomeOf(ok, value));
  }

  /**
   * @param {Listener} listener
   * @param {import('./outcome.js').AnyOutcome} outcome
   */
  #deliver(listener, outcome) {
    const { notice, resume } = this;
    if (resume === undefined) {
      listener.settled(outcome);
      return;
    }
    // In the stores of the caller, who has had to wait.
    this.notice = () => {
      if (notice !== undefined) notice();
      listener.settled(outcome);
    };
    resume();
  }
}

module.exports = { Execution, OUTCOME, PENDING, VALUE };
