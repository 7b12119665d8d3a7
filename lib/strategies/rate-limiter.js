'use strict';

const { RateLimiterRejectedError } = require('../errors.js');
const { hashKey } = require('../key-hash.js');
const { check, hot } = require('../native.js');
const { callback, immediate, integer, name: readName, oneOf, positiveDuration, readOptions, show, typeError } =
  require('../options.js');
const { Strategy, recallable } = require('../strategy.js');
const { warn } = require('../telemetry.js');
const { setClock } = require('../timer.js');

const OPTIONS = /** @type {const} */ ([
  'permitLimit',
  'window',
  'algorithm',
  'burst',
  'key',
  'maxKeys',
  'queueLimit',
  'onRejected',
  'name',
]);
/** In the order of the native codes. */
const ALGORITHMS = /** @type {const} */ (['fixed-window', 'sliding-window', 'token-bucket']);
const DEFAULT_MAX_KEYS = 100_000;
const MAX_KEYS = 2 ** 26 - 1;
const KEY = 'a string, a number or undefined';
/** Of a limiter's view: what is left for a key, for those who tell it to a client. */
const QUOTA = Symbol('quota');
/** The key of an execution that needs no permit. */
const EXEMPT = Symbol('exempt');

/**
 * Caps how many executions start in a span of time, for each key.
 *
 * @param {unknown} options `RateLimiterOptions`.
 */
function rateLimiterStrategy(options) {
  const read = readOptions('addRateLimiter', options, OPTIONS);
  const permitLimit = integer('permitLimit', read.permitLimit, 1);
  const windowMs = positiveDuration('window', read.window);
  const { algorithm = 'fixed-window', maxKeys: most = DEFAULT_MAX_KEYS, queueLimit: places = 0 } = read;
  const rule = ALGORITHMS.indexOf(oneOf('algorithm', algorithm, ALGORITHMS));
  if (read.burst !== undefined && algorithm !== 'token-bucket') {
    const given = show({ burst: read.burst, algorithm });
    throw new TypeError(`addRateLimiter takes burst only with algorithm 'token-bucket', not ${given}`);
  }
  const burst = read.burst === undefined ? permitLimit : integer('burst', read.burst, 1);
  const maxKeys = integer('maxKeys', most, 1, MAX_KEYS);
  const queueLimit = integer('queueLimit', places, 0);
  const key = callback('key', read.key);
  const onRejected = callback('onRejected', read.onRejected);
  const name = readName('name', read.name, 'RateLimiter');
  return new Strategy({
    gate: () => {
      /** @type {import('../segment.js').GatePlace | undefined} */
      let place;
      const ask = (/** @type {'available' | 'reset' | 'keys' | 'evictions' | 'queued'} */ what, permitKey = 0) => {
        if (place === undefined) return what === 'available' ? permitLimit : 0;
        setClock();
        return check(hot[what](place.segment, place.gate, permitKey));
      };
      return {
        name,
        refuse: ({ reason, retryAfter, pipelineName, strategyName }) =>
          new RateLimiterRejectedError(/** @type {any} */ (reason), { retryAfter, pipelineName, strategyName }),
        isLimiter: true,
        onRejected,
        parameter: key && ((context) => numberOf(key(context), 'the result of key')),
        addTo: (builder) => builder.addRateLimiter(rule, permitLimit, windowMs, burst, maxKeys, queueLimit),
        attach: (own) => {
          place = own;
        },
        keyEvicted: () => {
          const error = new Error(
            `${name} keeps ${maxKeys} keys (maxKeys) and has begun to forget those that were used least recently`,
          );
          warn(error);
        },
        view: {
          name,
          permitLimit,
          get available() {
            return ask('available');
          },
          /** @param {unknown} of */
          availableFor: (of) => ask('available', numberOf(of, 'the key')),
          /** @param {unknown} of */
          [QUOTA]: (of) => {
            const permitKey = numberOf(of, 'the key');
            return { remaining: ask('available', permitKey), resetMs: ask('reset', permitKey), windowMs };
          },
          get queued() {
            return ask('queued');
          },
          get keys() {
            return ask('keys');
          },
          get evictions() {
            return ask('evictions');
          },
        },
      };
    },
  });
}

/**
 * @param {unknown} key
 * @param {string} option
 */
function numberOf(key, option) {
  if (key === undefined) return 0;
  if (key === EXEMPT) return -1;
  if (typeof key === 'string') return hashKey(key);
  if (typeof key === 'number') return hashKey(String(key));
  throw typeError(option, KEY, immediate('key', KEY, key));
}

module.exports = {
  EXEMPT,
  QUOTA,
  numberOf,
  rateLimiterStrategy: recallable('rateLimiterStrategy', rateLimiterStrategy),
};
