'use strict';

const { aimd, gradient2, isBuiltIn, vegas } = require('../algorithms.js');
const { binding, thread } = require('../native.js');
const { callback, integer, name: readName, readOptions, typeError } = require('../options.js');
const { defaultShouldDrop } = require('../should-drop.js');
const { liveCounts, readQueue } = require('./concurrency-limiter.js');

const OPTIONS = /** @type {const} */ ([
  'algorithm',
  'initialLimit',
  'minLimit',
  'maxLimit',
  'queueLimit',
  'queueTimeout',
  'shouldDrop',
  'limitProvider',
  'onLimitChanged',
  'onRejected',
  'name',
]);
const DEFAULT_INITIAL_LIMIT = 20;
const BY_NAME = { gradient2, vegas, aimd };
const ALGORITHM = "'gradient2', 'vegas', 'aimd' or an object with onSample(sample)";

/** Users' own algorithms that serve a limiter: they have state, so one serves no other. */
const taken = new WeakSet();

/**
 * Caps how many executions run at once, at a limit that follows the measured latency.
 *
 * @param {unknown} [options] `AdaptiveConcurrencyLimiterOptions`.
 * @returns {import('../builder.js').Strategy}
 */
function adaptiveConcurrencyLimiterStrategy(options = {}) {
  const read = readOptions('addAdaptiveConcurrencyLimiter', options, OPTIONS);
  const minLimit = integer('minLimit', read.minLimit ?? 1, 1);
  const maxLimit = integer('maxLimit', read.maxLimit ?? Math.max(1000, minLimit), minLimit);
  const initialLimit =
    read.initialLimit === undefined
      ? Math.min(Math.max(DEFAULT_INITIAL_LIMIT, minLimit), maxLimit)
      : integer('initialLimit', read.initialLimit, minLimit, maxLimit);
  const { queueLimit, queueTimeoutMs } = readQueue(read);
  const makeAlgorithm = readAlgorithm(read.algorithm ?? 'gradient2');
  const shouldDrop = callback('shouldDrop', read.shouldDrop) ?? defaultShouldDrop;
  const { limitProvider } = read;
  if (limitProvider !== undefined && !(limitProvider instanceof binding.AdaptiveLimitProvider)) {
    throw typeError('limitProvider', 'an AdaptiveLimitProvider', limitProvider);
  }
  const onLimitChanged = callback('onLimitChanged', read.onLimitChanged);
  const onRejected = callback('onRejected', read.onRejected);
  const name = readName('name', read.name, 'AdaptiveConcurrencyLimiter');
  return {
    gate: () => {
      const live = liveCounts();
      const { native, algorithm } = makeAlgorithm();
      return {
        name,
        shouldDrop,
        onLimitChanged,
        onRejected,
        algorithm,
        addTo: (builder) =>
          builder.addAdaptiveConcurrencyLimiter(
            native,
            initialLimit,
            minLimit,
            maxLimit,
            queueLimit,
            queueTimeoutMs,
          ),
        attach: (place) => {
          if (limitProvider !== undefined && !thread.attach(limitProvider, place.segment, place.gate)) {
            throw new TypeError('limitProvider is attached to another limiter already');
          }
          live.attach(place);
        },
        view: {
          name,
          get limit() {
            return live.limit;
          },
          get inflight() {
            return live.inflight;
          },
          get queued() {
            return live.queued;
          },
        },
      };
    },
  };
}

/**
 * @param {any} value
 * @returns {() => { native?: any, algorithm?: any }} Makes the algorithm of one limiter: in the core, or here.
 */
function readAlgorithm(value) {
  if (typeof value === 'string' && Object.hasOwn(BY_NAME, value)) {
    const make = BY_NAME[/** @type {keyof typeof BY_NAME} */ (value)];
    return () => ({ native: make().native });
  }
  if (isBuiltIn(value)) {
    return () => {
      const fresh = value.fresh();
      return fresh.native === undefined ? { algorithm: fresh } : { native: fresh.native };
    };
  }
  if (typeof value !== 'object' || value === null || typeof value.onSample !== 'function') {
    throw typeError('algorithm', ALGORITHM, value);
  }
  return () => {
    if (taken.has(value)) throw new TypeError('algorithm serves another limiter already: make one for each');
    taken.add(value);
    return { algorithm: value };
  };
}

module.exports = { adaptiveConcurrencyLimiterStrategy };
