'use strict';

const { attemptsOf } = require('../attempts.js');
const { ResilienceContext } = require('../context.js');
const { callback, hasOption, name: readName, readOptions, show } = require('../options.js');
const { OutcomeFailure, OutcomeSuccess } = require('../outcome.js');
const { isHandled } = require('../should-handle.js');
const { Strategy, recallable } = require('../strategy.js');

const OPTIONS = /** @type {const} */ ([
  'fallbackValue',
  'fallbackAction',
  'shouldHandle',
  'onFallback',
  'name',
]);

/**
 * Replaces a failure by a substitute.
 *
 * @param {unknown} options `FallbackOptions`.
 */
function fallbackStrategy(options) {
  const { fallbackValue, fallbackAction, shouldHandle, onFallback, name } = readOptions(
    'addFallback',
    options,
    OPTIONS,
  );
  // The substitute may well be undefined: beside no action, naming the option is enough.
  const hasValue =
    fallbackAction === undefined
      ? hasOption(/** @type {object} */ (options), 'fallbackValue')
      : fallbackValue !== undefined;
  if (hasValue === (fallbackAction !== undefined)) {
    const both = 'either fallbackValue or fallbackAction, and exactly one of them';
    throw new TypeError(`addFallback takes ${both}, not ${show(options)}`);
  }
  callback('fallbackAction', fallbackAction);
  callback('shouldHandle', shouldHandle);
  callback('onFallback', onFallback);
  const strategyName = readName('name', name, 'Fallback');
  return new Strategy({
    combinator: ({ telemetry }) => {
      /** @type {NonNullable<import('../pipeline.js').Combinator['goOn']>} */
      const goOn = async (next, context, first) => {
        const outcome = first ?? (await next(context));
        if (attemptsOf(next)?.hasBegun?.()) return outcome;
        const args = { outcome, context };
        if (shouldHandle === undefined) {
          // An abort is the caller's will and no failure of what is inside.
          if (outcome.ok || ResilienceContext.isAborted(context)) return outcome;
        } else if (
          !(await isHandled(telemetry, strategyName, shouldHandle, args)) ||
          ResilienceContext.isAborted(context)
        ) {
          return outcome;
        }
        telemetry.emit('OnFallback', strategyName, context, args);
        telemetry.notify(strategyName, 'onFallback', onFallback, args);
        if (fallbackAction === undefined) return new OutcomeSuccess(fallbackValue);
        try {
          return new OutcomeSuccess(await fallbackAction(args));
        } catch (error) {
          return new OutcomeFailure(error);
        }
      };
      return {
        name: strategyName,
        view: { name: strategyName },
        passesSuccess: () => shouldHandle === undefined,
        execute: (next, context) => goOn(next, context, undefined),
        goOn,
      };
    },
  });
}

module.exports = { fallbackStrategy: recallable('fallbackStrategy', fallbackStrategy) };
