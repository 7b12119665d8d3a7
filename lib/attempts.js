'use strict';

// What the strategies that repeat have to know of the callback they lead to. It hangs on the callback and on
// each `next` that leads there, so that it reaches no execution but its own.

/**
 * @typedef {object} Attempts
 * @property {boolean} [single] Whether the callback may be started once only.
 * @property {boolean} [spent] Whether it was, and must not be again.
 * @property {() => boolean} [hasBegun] Whether items of a stream have been read: what fails then has no substitute.
 * @property {(outcome: import('./outcome.js').AnyOutcome) => void} [discard] Told by a strategy of an outcome
 *   that cannot become the result any more, ahead of the end. One that starts once has nothing to tell.
 */

/** The same in each copy of the package: a callback may come from one and a pipeline from another. */
const ATTEMPTS = Symbol.for('@ylcnfrht/resilience.attempts');

/** @param {Function} next A callback, or what leads to one. @returns {Attempts | undefined} */
const attemptsOf = (next) => /** @type {any} */ (next)[ATTEMPTS];

/**
 * @template {Function} F
 * @param {F} next
 * @param {Attempts | undefined} attempts
 * @returns {F}
 */
function withAttempts(next, attempts) {
  if (attempts !== undefined) /** @type {any} */ (next)[ATTEMPTS] = attempts;
  return next;
}

/**
 * A callback that starts once. The strategies here know and do not try; one of the user's own gets an error.
 *
 * @param {import('./execution.js').Callback} callback
 */
function startOnce(callback) {
  const attempts = { single: true, spent: false, hasBegun: attemptsOf(callback)?.hasBegun };
  return withAttempts((/** @type {import('./context.js').ResilienceContext} */ context) => {
    if (attempts.spent) throw new Error('the callback was started already, and is not repeatable');
    attempts.spent = true;
    return callback(context);
  }, attempts);
}

module.exports = { attemptsOf, startOnce, withAttempts };
