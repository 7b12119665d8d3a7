'use strict';

const { anyDuration, callback, name: readName, positiveDuration, readOptions, show } = require('../options.js');
const { Strategy, recallable } = require('../strategy.js');

const OPTIONS = /** @type {const} */ (['timeout', 'timeoutGenerator', 'onTimeout', 'name']);

/**
 * Ends an execution that takes longer than its timeout.
 *
 * @param {unknown} options A duration or `TimeoutOptions`.
 */
function timeoutStrategy(options) {
  const given = typeof options === 'object' ? options : { timeout: options };
  const { timeout, timeoutGenerator, onTimeout, name } = readOptions('addTimeout', given, OPTIONS);
  if ((timeout === undefined) === (timeoutGenerator === undefined)) {
    const both = 'either timeout or timeoutGenerator, and exactly one of them';
    throw new TypeError(`addTimeout takes ${both}, not ${show(given)}`);
  }
  callback('onTimeout', onTimeout);
  callback('timeoutGenerator', timeoutGenerator);
  const strategyName = readName('name', name, 'Timeout');
  const timeoutMs = timeoutGenerator === undefined ? positiveDuration('timeout', timeout) : Infinity;
  const check = (/** @type {unknown} */ value) =>
    value === Infinity ? Infinity : anyDuration('the result of timeoutGenerator', value);
  const generate = (/** @type {any} */ context) => {
    const value = timeoutGenerator({ context });
    // Not `Promise.resolve`: it hands a promise back whose own `then` is anybody's.
    if (typeof value?.then !== 'function') return check(value);
    return new Promise((resolve) => resolve(value)).then(check);
  };
  return new Strategy({
    gate: () => {
      const gate = {
        name: strategyName,
        timeoutMs,
        abandoned: 0,
        onTimeout,
        parameter: timeoutGenerator === undefined ? undefined : generate,
        addTo: (/** @type {any} */ builder) => builder.addTimeout(timeoutMs),
        view: {
          name: strategyName,
          get abandoned() {
            return gate.abandoned;
          },
        },
      };
      return gate;
    },
  });
}

module.exports = { timeoutStrategy: recallable('timeoutStrategy', timeoutStrategy) };
