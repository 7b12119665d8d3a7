'use strict';

const { aimd, gradient2, isBuiltIn, knee, vegas } = require('../algorithms.js');
const { notUsable, skillsOf } = require('../copies.js');
const { thread } = require('../native.js');
const { OperationKeys } = require('../operation-keys.js');
const { callback, immediate, integer, name: readName, readOptions, typeError } = require('../options.js');
const { defaultShouldDrop } = require('../should-drop.js');
const { Strategy, recallable } = require('../strategy.js');
const { NO_SAMPLE } = require('../segment.js');
const { liveCounts, readQueue, refuseForFull } = require('./concurrency-limiter.js');

const OPTIONS = /** @type {const} */ ([
  'algorithm',
  'initialLimit',
  'minLimit',
  'maxLimit',
  'queueLimit',
  'queueTimeout',
  'priority',
  'overflow',
  'shouldDrop',
  'operation',
  'limitProvider',
  'onLimitChanged',
  'onRejected',
  'name',
]);
const DEFAULT_INITIAL_LIMIT = 20;
const BY_NAME = { gradient2, vegas, aimd, knee };
const ALGORITHM = "'gradient2', 'vegas', 'aimd', 'knee' or an object with onSample(sample)";

/** @typedef {{ onSample(sample: import('../algorithms.js').Sample): number }} Algorithm */

/** Users' own algorithms that serve a limiter: they have state, so one serves no other. */
const taken = new WeakSet();

/**
 * Caps how many executions run at once, at a limit that follows the measured latency.
 *
 * @param {unknown} [options] `AdaptiveConcurrencyLimiterOptions`.
 */
function adaptiveConcurrencyLimiterStrategy(options = {}) {
  const read = readOptions('addAdaptiveConcurrencyLimiter', options, OPTIONS);
  const { minLimit: min = 1, algorithm = 'gradient2' } = read;
  const minLimit = integer('minLimit', min, 1);
  const { maxLimit: max = Math.max(1000, minLimit) } = read;
  const maxLimit = integer('maxLimit', max, minLimit);
  const initialLimit =
    read.initialLimit === undefined
      ? Math.min(Math.max(DEFAULT_INITIAL_LIMIT, minLimit), maxLimit)
      : integer('initialLimit', read.initialLimit, minLimit, maxLimit);
  const { queueLimit, queueTimeoutMs, overflow, parameter } = readQueue(read);
  const makeAlgorithm = readAlgorithm(algorithm);
  const ownShouldDrop = callback('shouldDrop', read.shouldDrop);
  const shouldDrop =
    ownShouldDrop === undefined
      ? defaultShouldDrop
      : (/** @type {any} */ args) => immediate('shouldDrop', 'a boolean', ownShouldDrop(args));
  const operation = callback('operation', read.operation);
  const { limitProvider } = read;
  const provider = skillsOf(limitProvider, 'AdaptiveLimitProvider');
  if (limitProvider !== undefined && provider === undefined) {
    throw notUsable('limitProvider', 'an AdaptiveLimitProvider', limitProvider, 'AdaptiveLimitProvider');
  }
  const onLimitChanged = callback('onLimitChanged', read.onLimitChanged);
  const onRejected = callback('onRejected', read.onRejected);
  const name = readName('name', read.name, 'AdaptiveConcurrencyLimiter');
  return new Strategy({
    gate: () => {
      const live = liveCounts();
      const { native, algorithm, claim } = makeAlgorithm();
      return {
        name,
        judge: {
          option: 'shouldDrop',
          meets: shouldDrop,
          judgesSuccess: ownShouldDrop !== undefined && ownShouldDrop !== defaultShouldDrop,
          otherwise: NO_SAMPLE,
        },
        hears: operation !== undefined || (ownShouldDrop !== undefined && ownShouldDrop !== defaultShouldDrop),
        measures: true,
        operation,
        operations: operation === undefined ? undefined : new OperationKeys(),
        refuse: refuseForFull,
        isLimiter: true,
        queueTimeoutMs,
        onLimitChanged,
        onRejected,
        parameter,
        algorithm,
        addTo: (builder) =>
          builder.addAdaptiveConcurrencyLimiter(
            native,
            initialLimit,
            minLimit,
            maxLimit,
            queueLimit,
            queueTimeoutMs,
            overflow,
          ),
        attach: (place) => {
          const { segment, gate } = place;
          claim?.();
          if (provider !== undefined && !provider.attach(limitProvider, live, thread, segment, gate)) {
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
          get abandoned() {
            return live.abandoned;
          },
        },
      };
    },
  });
}

/**
 * What makes the algorithm of one limiter: in the core, or here.
 *
 * @param {any} value
 * @returns {() => { native?: any, algorithm?: Algorithm, claim?: () => void }}
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
  return () => ({
    algorithm: { onSample: (sample) => immediate('onSample', 'a number', value.onSample(sample)) },
    claim: () => {
      if (taken.has(value)) throw new TypeError('algorithm serves another limiter already: make one for each');
      taken.add(value);
    },
  });
}

module.exports = {
  adaptiveConcurrencyLimiterStrategy: recallable(
    'adaptiveConcurrencyLimiterStrategy',
    adaptiveConcurrencyLimiterStrategy,
  ),
};
