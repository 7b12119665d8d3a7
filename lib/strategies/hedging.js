'use strict';

const { attemptsOf } = require('../attempts.js');
const { ResilienceContext } = require('../context.js');
const { storage } = require('../current-context.js');
const { callback, immediate, integer, name: readName, nonNegativeDuration, readOptions } = require('../options.js');
const { OutcomeFailure, OutcomeSuccess } = require('../outcome.js');
const { isHandled } = require('../should-handle.js');
const { Strategy, recallable } = require('../strategy.js');
const { now } = require('../timer.js');

/** @typedef {import('../outcome.js').AnyOutcome} AnyOutcome */
/** @typedef {(context: ResilienceContext) => Promise<AnyOutcome>} Next */
/** @typedef {ReturnType<typeof readHedging>} Settings */

const OPTIONS = /** @type {const} */ ([
  'maxHedgedAttempts',
  'delay',
  'actionGenerator',
  'shouldHandle',
  'onHedging',
  'name',
]);
const MAX_HEDGED_ATTEMPTS = 10;

/** @param {unknown} options */
function readHedging(options) {
  const read = readOptions('addHedging', options, OPTIONS);
  const { maxHedgedAttempts = 1, delay = 2000 } = read;
  return {
    maxHedgedAttempts: integer('maxHedgedAttempts', maxHedgedAttempts, 1, MAX_HEDGED_ATTEMPTS),
    delayMs: delay === Infinity ? Infinity : nonNegativeDuration('delay', delay),
    actionGenerator: callback('actionGenerator', read.actionGenerator),
    shouldHandle: callback('shouldHandle', read.shouldHandle),
    onHedging: callback('onHedging', read.onHedging),
    name: readName('name', read.name, 'Hedging'),
  };
}

/**
 * The attempts of one execution. Everything but `cancel` runs in the caller's AsyncLocalStorage stores.
 *
 *   an attempt ends         not handled: it wins, and the others are aborted
 *                           handled: the next one starts; if none can and no other runs, it is the result
 *   the delay passes        the next one starts
 *   the caller gives up     nothing starts, and what comes later is nobody's
 */
class Race {
  /** What runs, by its context. @type {Set<ResilienceContext>} */
  #running = new Set();
  #started = 0;
  #isOver = false;
  /** Whether the user's generator has no more actions. */
  #exhausted = false;
  /** @type {{ cancel(): void } | undefined} */
  #delay;
  #settings;
  #scope;
  #next;
  #attempts;
  #context;
  #timed;
  #startedAt;
  #resolve = (/** @type {AnyOutcome} */ _outcome) => {};

  /**
   * @param {Settings} settings
   * @param {import('../strategy.js').Scope} scope
   * @param {Next} next
   * @param {ResilienceContext} context
   */
  constructor(settings, scope, next, context) {
    this.#settings = settings;
    this.#scope = scope;
    this.#next = next;
    this.#attempts = attemptsOf(next);
    this.#context = context;
    const { telemetry } = scope;
    this.#timed =
      settings.onHedging !== undefined || telemetry.hears('ExecutionAttempt') || telemetry.hears('OnHedging');
    this.#startedAt = this.#timed ? now() : 0;
    /** @type {Promise<AnyOutcome>} */
    this.promise = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#start(this.#enter(), next);
    if (settings.delayMs === 0) while (this.#hedge());
  }

  /**
   * As a part of the context's tree: the caller, or an execution further out, gave up.
   *
   * @param {unknown} reason
   */
  cancel(reason) {
    if (!this.#isOver) this.#finish(new OutcomeFailure(reason));
  }

  /** Further in are executions of their own to hear of a first byte, */
  mark() {}

  /** and to have deadlines. */
  remaining() {
    return Infinity;
  }

  /** Gives an attempt a context of its own, which can be aborted. */
  #enter() {
    const own = new ResilienceContext(this.#context, undefined, this.#context.operationKey);
    ResilienceContext.attach(own, this);
    this.#running.add(own);
    return own;
  }

  /**
   * Starts the next attempt, if there can be one.
   *
   * @returns {boolean} Whether it has.
   */
  #hedge() {
    const { maxHedgedAttempts, actionGenerator, name, onHedging } = this.#settings;
    const { telemetry, delays } = this.#scope;
    if (this.#exhausted || this.#started > maxHedgedAttempts || delays.disposed) return false;
    if (this.#isOver || ResilienceContext.isAborted(this.#context)) return false;
    // What starts once has one attempt at a time: two could both get as far as to start it.
    if (this.#attempts?.spent || (this.#attempts?.single && this.#running.size > 0)) return false;
    const attemptNumber = this.#started;
    const own = this.#enter();
    const run = actionGenerator === undefined ? this.#next : this.#generate(attemptNumber, own);
    if (run !== undefined && this.#timed) {
      const context = this.#context;
      const args = { context, attemptNumber, duration: now() - this.#startedAt };
      telemetry.emit('OnHedging', name, context, args);
      telemetry.notify(name, 'onHedging', onHedging, args);
    }
    // The user's functions may have ended everything.
    if (run === undefined || this.#isOver || delays.disposed) {
      this.#exhausted = true;
      this.#leave(own);
      return false;
    }
    this.#start(own, run);
    return true;
  }

  /**
   * What runs in place of the inside.
   *
   * @param {number} attemptNumber
   * @param {ResilienceContext} own
   * @returns {Next | undefined}
   */
  #generate(attemptNumber, own) {
    const next = this.#next;
    const { actionGenerator, name } = this.#settings;
    const args = {
      primaryContext: this.#context,
      actionContext: own,
      attemptNumber,
      /** Runs the inside. @param {ResilienceContext} context */
      callback: (context) => {
        const result = next(context).then((outcome) => {
          if (outcome.ok) return outcome.result;
          throw outcome.error;
        });
        // An action that looks at something else does not make it an unhandled rejection.
        result.catch(() => {});
        return result;
      },
    };
    try {
      const action = readAction(actionGenerator(args));
      if (action === undefined) return undefined;
      // Only where the pipeline is ambient: then this runs inside its context.
      const isAmbient = storage.getStore() === this.#context;
      return async () => new OutcomeSuccess(await (isAmbient ? storage.run(own, action) : action()));
    } catch (error) {
      this.#scope.telemetry.reportError(name, 'actionGenerator', error, this.#context);
      return undefined;
    }
  }

  /**
   * @param {ResilienceContext} own
   * @param {Next} run
   */
  #start(own, run) {
    const attemptNumber = this.#started;
    const started = attemptNumber + 1;
    this.#started = started;
    this.#delay?.cancel();
    this.#delay = undefined;
    this.#attempt(attemptNumber, own, run);
    const { maxHedgedAttempts, delayMs } = this.#settings;
    if (this.#isOver || started > maxHedgedAttempts || delayMs === 0 || delayMs === Infinity) return;
    // A promise, and not the bare wake-up: that comes from the timer, outside of the caller's stores.
    new Promise((resolve) => {
      this.#delay = this.#scope.delays.start(delayMs, this.#context, () => resolve(undefined));
    }).then(
      () => {
        // A failure at the same instant has started one in its place.
        if (this.#started === started) this.#hedge();
      },
      (error) => this.cancel(error),
    );
  }

  /**
   * @param {number} attemptNumber
   * @param {ResilienceContext} own
   * @param {Next} run
   * @returns {Promise<void>}
   */
  async #attempt(attemptNumber, own, run) {
    const started = this.#timed ? now() : 0;
    /** @type {AnyOutcome} */
    let outcome;
    try {
      outcome = await run(own);
    } catch (error) {
      outcome = new OutcomeFailure(error);
    }
    if (this.#isOver) return ResilienceContext.leave(own);
    const duration = this.#timed ? now() - started : 0;
    const verdict = this.#handles(outcome, attemptNumber);
    const handled = typeof verdict === 'boolean' ? verdict : await verdict;
    if (this.#isOver) return ResilienceContext.leave(own);
    if (this.#timed) {
      const context = this.#context;
      const args = { context, attemptNumber, duration, handled, outcome };
      const severity = handled ? 'warning' : 'information';
      this.#scope.telemetry.emit('ExecutionAttempt', this.#settings.name, context, args, severity);
    }
    this.#leave(own);
    if (!handled) this.#finish(outcome);
    else if (!this.#hedge() && this.#running.size === 0) this.#finish(outcome);
    else this.#attempts?.discard?.(outcome);
  }

  /**
   * @param {AnyOutcome} outcome
   * @param {number} attemptNumber
   * @returns {boolean | Promise<boolean>}
   */
  #handles(outcome, attemptNumber) {
    const { name, shouldHandle } = this.#settings;
    if (shouldHandle === undefined) return !outcome.ok;
    const context = this.#context;
    return isHandled(this.#scope.telemetry, name, shouldHandle, { outcome, context, attemptNumber });
  }

  /** @param {ResilienceContext} own */
  #leave(own) {
    this.#running.delete(own);
    ResilienceContext.detach(own);
  }

  /** @param {AnyOutcome} outcome */
  #finish(outcome) {
    this.#isOver = true;
    this.#delay?.cancel();
    this.#resolve(outcome);
    if (this.#running.size === 0) return;
    const reason = new DOMException('another attempt was faster', 'AbortError');
    for (const own of this.#running) {
      ResilienceContext.outlive(own);
      ResilienceContext.abort(own, reason);
      this.#leave(own);
    }
  }
}

/** @param {unknown} answer */
const readAction = (answer) =>
  callback('the result of actionGenerator', immediate('actionGenerator', 'a function or undefined', answer));

/**
 * Runs what is inside again while the first attempt is slow or has failed, and takes whatever is good first.
 *
 * @param {unknown} [options] `HedgingOptions`.
 */
function hedgingStrategy(options = {}) {
  const settings = readHedging(options);
  const { name } = settings;
  return new Strategy({
    combinator: (scope) => ({
      name,
      view: { name },
      repeats: true,
      execute: (next, context) => new Race(settings, scope, next, context).promise,
    }),
  });
}

module.exports = { hedgingStrategy: recallable('hedgingStrategy', hedgingStrategy) };
