'use strict';

const { attemptsOf } = require('../attempts.js');
const { Backoff } = require('../backoff.js');
const { ResilienceContext } = require('../context.js');
const { notUsable, skillsOf } = require('../copies.js');
const {
  callback,
  name: readName,
  nonNegativeDuration,
  oneOf,
  rangeError,
  readOptions,
  typeError,
} = require('../options.js');
const { retryAfterOf } = require('../retry-after.js');
const { isHandled } = require('../should-handle.js');
const { Strategy, recallable } = require('../strategy.js');
const { now } = require('../timer.js');

/** @typedef {import('../outcome.js').AnyOutcome} AnyOutcome */
/** @typedef {ReturnType<typeof readRetry>} Settings */

const OPTIONS = /** @type {const} */ ([
  'maxRetryAttempts',
  'delay',
  'backoffType',
  'maxDelay',
  'useJitter',
  'delayGenerator',
  'shouldHandle',
  'onRetry',
  'budget',
  'respectRetryAfter',
  'name',
]);
const BACKOFF_TYPES = /** @type {const} */ (['constant', 'linear', 'exponential']);
const ATTEMPTS = 'an integer of at least 0, or Infinity';
/** How long another party's Retry-After can make a retry wait, where nothing else is said. */
const MAX_RETRY_AFTER_MS = 86_400_000;
/** Between so many attempts and the next is some delay in any case: timers and sockets get their turn. */
const BREATH_AFTER = 100;
const BREATH_MS = 1;

/** @param {unknown} options */
function readRetry(options) {
  const read = readOptions('addRetry', options, OPTIONS);
  const { maxRetryAttempts = 3, delay = 2000, backoffType = 'constant', maxDelay, budget } = read;
  if (typeof maxRetryAttempts !== 'number') throw typeError('maxRetryAttempts', ATTEMPTS, maxRetryAttempts);
  if (!(maxRetryAttempts === Infinity || (Number.isInteger(maxRetryAttempts) && maxRetryAttempts >= 0))) {
    throw rangeError('maxRetryAttempts', ATTEMPTS, maxRetryAttempts);
  }
  const delayMs = nonNegativeDuration('delay', delay);
  const type = oneOf('backoffType', backoffType, BACKOFF_TYPES);
  const ownMaxMs = maxDelay === undefined ? undefined : nonNegativeDuration('maxDelay', maxDelay);
  const skills = budget === undefined ? undefined : skillsOf(budget, 'RetryBudget');
  if (budget !== undefined && skills === undefined) {
    throw notUsable('budget', 'what retryBudget() returns', budget, 'RetryBudget');
  }
  const useJitter = boolean('useJitter', read.useJitter, false);
  return {
    maxRetryAttempts,
    rule: { type, delayMs, maxDelayMs: ownMaxMs ?? Number.MAX_SAFE_INTEGER, useJitter },
    maxRetryAfterMs: ownMaxMs ?? MAX_RETRY_AFTER_MS,
    delayGenerator: callback('delayGenerator', read.delayGenerator),
    shouldHandle: callback('shouldHandle', read.shouldHandle),
    onRetry: callback('onRetry', read.onRetry),
    budget: skills && { countFirst: () => skills.countFirst(budget), takeRetry: () => skills.takeRetry(budget) },
    respectRetryAfter: boolean('respectRetryAfter', read.respectRetryAfter, true),
    name: readName('name', read.name, 'Retry'),
  };
}

/**
 * @param {string} option
 * @param {unknown} value
 * @param {boolean} fallback
 */
function boolean(option, value, fallback) {
  if (value === undefined) return fallback;
  if (typeof value !== 'boolean') throw typeError(option, 'a boolean', value);
  return value;
}

class Retry {
  repeats = /** @type {const} */ (true);
  #settings;
  #telemetry;
  #delays;

  /**
   * @param {Settings} settings
   * @param {import('../strategy.js').Scope} scope
   */
  constructor(settings, { telemetry, delays }) {
    this.#settings = settings;
    this.#telemetry = telemetry;
    this.#delays = delays;
    this.name = settings.name;
    this.view = { name: settings.name };
  }

  /**
   * Whether a first attempt that succeeds is the result and no one hears of it.
   */
  passesSuccess() {
    const { onRetry, shouldHandle } = this.#settings;
    return shouldHandle === undefined && onRetry === undefined && !this.#isHeard();
  }

  /** Before the first attempt of an execution. */
  begin() {
    const { budget } = this.#settings;
    if (budget !== undefined) budget.countFirst();
  }

  #isHeard() {
    const telemetry = this.#telemetry;
    return telemetry.hears('ExecutionAttempt') || telemetry.hears('OnRetry');
  }

  /**
   * @param {(context: ResilienceContext) => Promise<AnyOutcome>} next
   * @param {ResilienceContext} context
   */
  execute(next, context) {
    this.begin();
    return this.goOn(next, context, undefined);
  }

  /**
   * @param {(context: ResilienceContext) => Promise<AnyOutcome>} next
   * @param {ResilienceContext} context
   * @param {AnyOutcome | undefined} first How the first attempt ended, if it was made already.
   */
  async goOn(next, context, first) {
    const { budget, maxRetryAttempts, name, onRetry, rule } = this.#settings;
    const telemetry = this.#telemetry;
    const attempts = attemptsOf(next);
    /** @type {Backoff | undefined} */
    let backoff;
    for (let attemptNumber = 0; ; attemptNumber += 1) {
      const made = attemptNumber === 0 ? first : undefined;
      const timed = made === undefined && (onRetry !== undefined || this.#isHeard());
      const started = timed ? now() : 0;
      const outcome = made ?? (await next(context));
      // The caller has its answer: what comes after is nobody's.
      if (ResilienceContext.isAborted(context)) return outcome;
      const duration = timed ? now() - started : 0;
      const verdict = this.#handles(outcome, context, attemptNumber);
      const handled = typeof verdict === 'boolean' ? verdict : await verdict;
      if (timed) {
        const args = { context, attemptNumber, duration, handled, outcome };
        const severity = attemptNumber >= maxRetryAttempts ? 'error' : 'warning';
        telemetry.emit('ExecutionAttempt', name, context, args, handled ? severity : 'information');
      }
      if (!handled || attemptNumber >= maxRetryAttempts || this.#isOver(context)) return outcome;
      if (attempts?.spent) return outcome;

      backoff ??= new Backoff(rule);
      const computed = backoff.after(attemptNumber);
      const retryDelay = await this.#delayAfter(computed, outcome, context, attemptNumber);
      if (this.#isOver(context)) return outcome;
      const { remaining } = context;
      if (isTooLate(retryDelay, remaining)) {
        telemetry.emit('OnRetrySkipped', name, context, { outcome, context, attemptNumber, retryDelay, remaining });
        return outcome;
      }
      if (budget !== undefined && !budget.takeRetry()) return outcome;
      if (timed) {
        const args = { outcome, context, attemptNumber, retryDelay, duration };
        telemetry.emit('OnRetry', name, context, args);
        await telemetry.notify(name, 'onRetry', onRetry, args);
        // It may have taken its time.
        if (this.#isOver(context) || isTooLate(retryDelay, context.remaining)) return outcome;
      }
      attempts?.discard?.(outcome);
      const breathMs = attemptNumber % BREATH_AFTER === BREATH_AFTER - 1 ? BREATH_MS : 0;
      const pauseMs = Math.max(retryDelay, breathMs);
      if (pauseMs > 0) {
        await this.#delays.wait(pauseMs, context);
        if (this.#isOver(context)) return outcome;
      }
    }
  }

  /**
   * Whether there can be no further attempt: an abort is the caller's will, after a dispose nothing starts.
   *
   * @param {ResilienceContext} context
   */
  #isOver(context) {
    return this.#delays.disposed || ResilienceContext.isAborted(context);
  }

  /**
   * @param {AnyOutcome} outcome
   * @param {ResilienceContext} context
   * @param {number} attemptNumber
   * @returns {boolean | Promise<boolean>}
   */
  #handles(outcome, context, attemptNumber) {
    const { name, shouldHandle } = this.#settings;
    if (shouldHandle === undefined) return !outcome.ok;
    return isHandled(this.#telemetry, name, shouldHandle, { outcome, context, attemptNumber });
  }

  /**
   * @param {number} computed
   * @param {AnyOutcome} outcome
   * @param {ResilienceContext} context
   * @param {number} attemptNumber
   */
  async #delayAfter(computed, outcome, context, attemptNumber) {
    const { delayGenerator, maxRetryAfterMs, name, respectRetryAfter } = this.#settings;
    if (delayGenerator !== undefined) {
      try {
        const generated = await delayGenerator({ outcome, context, attemptNumber });
        if (generated !== undefined) return nonNegativeDuration('the result of delayGenerator', generated);
      } catch (error) {
        this.#telemetry.reportError(name, 'delayGenerator', error, context);
      }
    }
    const retryAfter = respectRetryAfter ? retryAfterOf(outcome) : undefined;
    return retryAfter === undefined ? computed : Math.max(computed, Math.min(retryAfter, maxRetryAfterMs));
  }
}

/**
 * Whether a deadline of the execution, or of one around it, comes before the end of a delay: the outcome that is there
 * is worth more than that deadline's error.
 *
 * @param {number} delayMs
 * @param {number | undefined} remaining
 */
const isTooLate = (delayMs, remaining) => delayMs > 0 && remaining !== undefined && delayMs >= remaining;

/**
 * Runs what is inside again after a failure.
 *
 * @param {unknown} [options] `RetryOptions`.
 */
function retryStrategy(options = {}) {
  const settings = readRetry(options);
  return new Strategy({ combinator: (scope) => new Retry(settings, scope) });
}

module.exports = { retryStrategy: recallable('retryStrategy', retryStrategy) };
