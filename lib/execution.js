'use strict';

// One execution inside one segment: enters, waits, runs the callback, leaves, and settles its promise exactly
// once, whichever of outcome, deadline, rejection and abort comes first.
//
//   state     enters by                       leaves by
//   WAITING   the start                       the callback's start, a rejection, a deadline, an abort
//   RUNNING   the callback's start            its outcome, a deadline, an abort
//   DIRECT    the callback's start            its outcome: nothing else can end it
//   SETTLED   any of these; final             -

const { runFor } = require('./caller-stores.js');
const { ResilienceContext } = require('./context.js');
const { storage } = require('./current-context.js');
const { PLACE, afterCall, departed, executions, hasUntold } = require('./dispatch.js');
const { beginEntry } = require('./entry.js');
const { isTimeoutRejected } = require('./errors.js');
const { LENT, RUNNING, SETTLED, DIRECT, WAITING } = require('./execution-state.js');
const { exit, hot, report } = require('./native.js');
const { lost, recoverSoon } = require('./lost.js');
const nesting = require('./nesting.js');
const { outcomeOf } = require('./outcome.js');
const { Rejection, plain, rejectSoon } = require('./promises.js');
const { OUTCOME } = require('./role.js');
const { AT_ONCE, NO_SAMPLES } = require('./segment.js');
const { setClock } = require('./timer.js');
const { gateBehind } = require('./turned-away.js');

/** What a callback returns that will end its execution by `finish`, and spare the promise. */
const PENDING = Symbol('pending');

/** @typedef {(context: ResilienceContext) => unknown} Callback */
/** @typedef {import('./segment.js').Gate} Gate */
/** @typedef {import('./segment.js').Segment} Segment */

/**
 * An answer that is streamed, and hears of the end of the outermost execution in place of a promise.
 *
 * @typedef {object} Stream
 * @property {() => boolean} hasBegun Whether its first byte has left: from then on no deadline ends it.
 * @property {(outcome: import('./outcome.js').AnyOutcome) => void} settled
 * @property {boolean} [isHeard] Whether a function of the user's hears of it.
 * @property {() => number} [takeAnswer] What the core has said already when it was asked to let the execution into its
 *   first segment, once; 0 if it was not asked.
 * @property {number | undefined} [parameter] What it was told then.
 */

/** @type {(value?: any) => void} */
const none = () => {};

/** @type {(value: any) => void} */
let resolvePromise = none;
/** An executor shared by all promises, to save a closure each. @type {(resolve: any) => void} */
const capture = (resolve) => {
  resolvePromise = resolve;
};

/** What few executions have. */
class Rare {
  /** What it told the first gate. @type {number | undefined} */
  parameter;
  /** The timeout gate that gave up on the callback, which still runs. @type {Gate | undefined} */
  abandonedBy;
  /** Whether it has ended and its callback has not. */
  isAbandoned = false;
  /** Called once with whether the execution succeeded. @type {((ok: boolean) => void) | undefined} */
  onSettled;
  /** @type {Stream | undefined} */
  stream;
  /**
   * The caller's stores, where somebody hears how others end it.
   *
   * @type {import('./caller-stores.js').CallerScope | undefined}
   */
  caller;
}

class Execution {
  /**
   * @param {import('./role.js').Role} role
   * @param {ResilienceContext} context
   * @param {Callback} callback
   */
  constructor(role, context, callback) {
    this.role = role;
    this.context = context;
    this.callback = callback;
    this.state = WAITING;
    this.ticket = 0;
    /** Made when the start is over, in which many executions end. @type {Promise<any> | undefined} */
    this.promise = undefined;
    /** Settles the promise. There is no more: that of a rejection would be kept by each, and needed by few. */
    this.resolve = none;
    /** The stores of a caller who has had to wait. @type {import('./caller-stores.js').CallerStores | undefined} */
    this.stores = undefined;
    /** @type {Rare | undefined} */
    this.rare = undefined;
  }

  /** What few executions have, to set. */
  get more() {
    return (this.rare ??= new Rare());
  }

  /** Starts the execution; what comes of it is in the promise, if nobody else is told. */
  start() {
    const { context, role } = this;
    const { segment } = role;
    try {
      if (ResilienceContext.isAborted(context)) {
        this.settle(false, ResilienceContext.reasonOf(context), false);
      } else if (segment === undefined) {
        // With no gate that could end it, and nobody above, nothing needs to find it.
        if (!this.#endsAlone()) ResilienceContext.attach(context, this);
        this.run();
      } else {
        ResilienceContext.attach(context, this);
        beginEntry(this, segment);
      }
      if (this.promise === undefined && !role.isTold) {
        this.promise = new Promise(capture);
        this.resolve = resolvePromise;
        // It would keep the promise alive, and with it the result and the caller's stores.
        resolvePromise = none;
      }
      return /** @type {Promise<any>} */ (this.promise);
    } catch (error) {
      // The stack is full: whatever it holds is given back when there is room.
      lost[lost.length] = this;
      recoverSoon();
      throw error;
    }
  }

  /** Ends what a full stack has kept from its end. Nobody has got its promise. */
  recover() {
    const { context, role, ticket } = this;
    this.promise ??= Promise.resolve();
    if (this.state !== SETTLED) {
      this.settle(false, new RangeError('Maximum call stack size exceeded'), false);
      return;
    }
    if (ticket === LENT) {
      /** @type {Segment} */ (role.segment).giveBack();
    } else if (ticket > LENT) {
      executions[ticket & PLACE] = undefined;
      setClock();
      report(exit(ticket, NO_SAMPLES));
    }
    this.ticket = 0;
    ResilienceContext.detach(context);
    afterCall();
  }

  /** Whether nothing but its callback can end it, once that runs. */
  #endsAlone() {
    const { context, role } = this;
    return !role.isTold && !role.segment?.hasDeadline && ResilienceContext.isAlone(context);
  }

  /** In the stores of the caller, who has had to wait. */
  goOn() {
    this.stores = undefined;
    if (this.state === WAITING) this.run();
  }

  /** Runs the callback. */
  run() {
    if (nesting.depth >= nesting.MAX_DEPTH && nesting.isTooDeep()) {
      this.#runSoon();
      return;
    }
    this.state = RUNNING;
    const { callback, context, role } = this;
    this.callback = none;
    const { depth } = nesting;
    nesting.depth = depth + 1;
    try {
      /** @type {any} */
      const result = role.ambient ? storage.run(context, callback, context) : callback(context);
      if (result === PENDING) return;
      if (result !== null && (typeof result === 'object' || typeof result === 'function')) {
        if (typeof result.then === 'function') {
          this.#follow(plain(result));
          return;
        }
      }
      this.returned(result, AT_ONCE);
    } catch (error) {
      this.finish(false, error, AT_ONCE);
    } finally {
      nesting.depth = depth;
    }
  }

  /** In a turn of its own. */
  #runSoon() {
    Promise.resolve().then(() => {
      // Nothing is on the stack: what is still counted was cut off, by a timeout of `vm`.
      nesting.depth = 0;
      if (this.state === WAITING) this.run();
    });
  }

  /** @param {Promise<any>} result */
  #follow(result) {
    // Bound functions cost less than closures, in time and in memory.
    if (this.promise === undefined && this.#endsAlone()) {
      this.state = DIRECT;
      this.promise = result.then(succeededDirectly.bind(this), failedDirectly.bind(this));
    } else {
      result.then(succeeded.bind(this), failed.bind(this));
    }
  }

  /**
   * @param {any} value
   * @param {true | number} [learn]
   */
  returned(value, learn) {
    if (!this.role.nested) this.finish(true, value, learn);
    else if (value.ok) this.finish(true, value.result);
    else this.finish(false, value.error);
  }

  /**
   * Ends the execution as its callback says.
   *
   * @param {boolean} ok
   * @param {unknown} value
   * @param {true | number} [learn] `AT_ONCE`, if it had ended when it returned.
   */
  finish(ok, value, learn = true) {
    if (this.state === SETTLED) this.#leave();
    else this.settle(ok, value, learn);
  }

  /** The callback has outlived the execution, and has ended now. */
  #leave() {
    const { rare } = this;
    ResilienceContext.leave(this.context);
    if (rare?.isAbandoned) this.role.telemetry.abandoned.delete(this);
    if (rare?.abandonedBy !== undefined) {
      rare.abandonedBy.abandoned = /** @type {number} */ (rare.abandonedBy.abandoned) - 1;
      rare.abandonedBy = undefined;
    }
  }

  /** A waiter passed every gate. */
  admitted() {
    /** @type {import('./caller-stores.js').CallerStores} */ (this.stores).resume();
  }

  /**
   * It is about to end, and the callback, if that runs, is not.
   *
   * @param {boolean} isTimeout Of which `OnTimeout` tells already.
   */
  outlive(isTimeout) {
    if (this.state !== RUNNING) return;
    const { context, role } = this;
    ResilienceContext.outlive(context);
    // The callback of a nested execution is the inner stages.
    if (role.nested) return;
    role.telemetry.abandoned.add(this);
    if (!isTimeout) role.telemetry.abandoned.tellSoon(this);
  }

  /**
   * A timeout gives up on the callback, if that runs.
   *
   * @param {Gate} gate
   */
  abandon(gate) {
    if (this.state !== RUNNING) return;
    gate.abandoned = /** @type {number} */ (gate.abandoned) + 1;
    this.more.abandonedBy = gate;
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
    if (this.state === SETTLED || this.ticket <= LENT || this.rare?.stream?.hasBegun()) return Infinity;
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
    this.outlive(isTimeout);
    if (isTimeout && !this.role.nested && this.state === RUNNING) {
      const gate = gateBehind(/** @type {object} */ (reason));
      if (gate !== undefined) this.abandon(gate);
    }
    runFor(this.rare?.caller, () => this.settle(false, reason, isTimeout));
  }

  /**
   * @param {boolean} ok
   * @param {unknown} value
   * @param {boolean} hasRun
   * @param {true | number} learn
   */
  #outcomes(ok, value, hasRun, learn) {
    const segment = /** @type {Segment} */ (this.role.segment);
    const isPlain = segment.learners.length === 0 || (ok && !segment.judgesSuccess);
    let outcomes = isPlain ? 0 : segment.outcomes(outcomeOf(ok, value), this.context);
    if (learn !== true) outcomes += learn;
    return segment.teller === undefined || !hasRun ? outcomes : segment.withOperation(outcomes, this.context);
  }

  /**
   * Gives back what the execution holds, then tells everyone who is concerned.
   *
   * @param {boolean} ok
   * @param {unknown} value
   * @param {boolean | number} learn Whether the gates learn from it, or `AT_ONCE`.
   * @param {boolean} [gaveUp] Whether what the callback started has to stop.
   * @param {() => void} [tell] Tells why, when every permit is back and before the end is told.
   */
  settle(ok, value, learn, gaveUp = false, tell = undefined) {
    const { context, role, state, ticket } = this;
    // First of all: `shouldDrop` is the user's code and may cancel this very execution.
    this.state = SETTLED;
    let called = ticket > LENT;
    // With no call between: a stack that is full afterwards must not make the permit seem lost.
    if (ticket === LENT) {
      called = /** @type {Segment} */ (role.segment).giveBack();
      this.ticket = 0;
    } else if (called) {
      executions[ticket & PLACE] = undefined;
      const outcomes = learn === false ? NO_SAMPLES : this.#outcomes(ok, value, state !== WAITING, learn);
      const untold = hasUntold();
      setClock();
      const moved = exit(ticket, outcomes);
      this.ticket = 0;
      // By a failure it is no number.
      if (moved !== 0 || untold) this.#depart(ticket, moved, outcomeOf(ok, value));
    }
    if (state !== DIRECT && !role.isTold) this.#settlePromise(ok, value);
    if (gaveUp) ResilienceContext.abort(context, value);
    ResilienceContext.detach(context);
    if (called) afterCall();
    if (tell !== undefined) tell();
    const { rare } = this;
    if (rare === undefined) return;
    if (rare.onSettled !== undefined) rare.onSettled(ok);
    if (role.isTold) this.#deliver(/** @type {Stream} */ (rare.stream), outcomeOf(ok, value));
  }

  /**
   * Its end may have moved a circuit, or came before somebody is told of it.
   *
   * @param {number} ticket
   * @param {number} moved The core's answer to the end.
   * @param {import('./outcome.js').AnyOutcome} outcome
   */
  #depart(ticket, moved, outcome) {
    const failed = report(moved);
    if (failed || moved === 1) /** @type {Segment} */ (this.role.segment).epoch = undefined;
    if (!failed) departed.set(ticket, { outcome, context: this.context, caller: this.rare?.caller });
  }

  /**
   * @param {boolean} ok
   * @param {unknown} value
   */
  #settlePromise(ok, value) {
    if (this.resolve !== none) this.resolve(this.resolution(ok, value));
    else if (this.promise !== undefined) return;
    else if (ok || this.role.form === OUTCOME) this.promise = Promise.resolve(this.resolution(ok, value));
    else this.promise = rejectSoon(value);
  }

  /**
   * What a promise has to be resolved with, to settle as the execution has ended.
   *
   * @param {boolean} ok
   * @param {unknown} value
   */
  resolution(ok, value) {
    if (this.role.form === OUTCOME) return outcomeOf(ok, value);
    return ok ? value : new Rejection(value);
  }

  /**
   * @param {Stream} stream
   * @param {import('./outcome.js').AnyOutcome} outcome
   */
  #deliver(stream, outcome) {
    // In the stores of the caller, if that has had to wait.
    if (this.stores === undefined) stream.settled(outcome);
    else this.stores.defer(() => stream.settled(outcome));
  }
}

// What follows a callback's promise, bound to the execution: a closure each would cost more time and memory.

/** @this {Execution} @param {any} value */
function succeeded(value) {
  this.returned(value);
}

/** @this {Execution} @param {unknown} error */
function failed(error) {
  this.finish(false, error);
}

/** @this {Execution} @param {any} value */
function succeededDirectly(value) {
  this.returned(value);
  if (!this.role.nested) return this.resolution(true, value);
  return value.ok ? this.resolution(true, value.result) : this.resolution(false, value.error);
}

/** @this {Execution} @param {unknown} error */
function failedDirectly(error) {
  this.finish(false, error);
  return this.resolution(false, error);
}

module.exports = { Execution, PENDING };
