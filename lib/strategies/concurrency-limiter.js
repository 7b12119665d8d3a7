'use strict';

const { BulkheadRejectedError } = require('../errors.js');
const { check, hot } = require('../native.js');
const {
  callback,
  immediate,
  integer,
  name: readName,
  oneOf,
  positiveDuration,
  readOptions,
  show,
  typeError,
} = require('../options.js');
const { Strategy, recallable } = require('../strategy.js');

const OPTIONS = /** @type {const} */ ([
  'permitLimit',
  'queueLimit',
  'queueTimeout',
  'priority',
  'overflow',
  'onRejected',
  'name',
]);
/** In the order of the native codes. */
const OVERFLOWS = /** @type {const} */ (['reject-new', 'drop-oldest', 'drop-lowest-priority']);

/**
 * Caps how many executions run at once.
 *
 * @param {unknown} options A number of permits or `ConcurrencyLimiterOptions`.
 * @param {unknown} [secondQueueLimit] The queue limit beside a number of permits.
 */
function concurrencyLimiterStrategy(options, secondQueueLimit) {
  const short = typeof options !== 'object';
  if (!short && secondQueueLimit !== undefined) {
    const given = show(secondQueueLimit);
    throw new TypeError(`addConcurrencyLimiter takes queueLimit among its options, not beside them as ${given}`);
  }
  const given = short ? { permitLimit: options, queueLimit: secondQueueLimit } : options;
  const read = readOptions('addConcurrencyLimiter', given, OPTIONS);
  const permitLimit = integer('permitLimit', read.permitLimit, 1);
  const { queueLimit, queueTimeoutMs, overflow, parameter } = readQueue(read);
  const onRejected = callback('onRejected', read.onRejected);
  const name = readName('name', read.name, 'ConcurrencyLimiter');
  return new Strategy({
    gate: () => {
      const live = liveCounts();
      return {
        name,
        refuse: refuseForFull,
        isLimiter: true,
        queueTimeoutMs,
        lends: true,
        onRejected,
        parameter,
        addTo: (builder) => builder.addConcurrencyLimiter(permitLimit, queueLimit, queueTimeoutMs, overflow),
        attach: live.attach,
        view: {
          name,
          permitLimit,
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

/** @param {import('../segment.js').Refusal} refusal */
const refuseForFull = (refusal) => new BulkheadRejectedError(/** @type {any} */ (refusal.reason), refusal);

/**
 * The options that both concurrency limiters have for their queue.
 *
 * @param {{ queueLimit?: unknown, queueTimeout?: unknown, priority?: unknown, overflow?: unknown }} options
 */
function readQueue({ queueLimit = 0, queueTimeout, priority, overflow = 'reject-new' }) {
  const compute = callback('priority', priority);
  return {
    queueLimit: integer('queueLimit', queueLimit, 0),
    queueTimeoutMs: queueTimeout === undefined ? Infinity : positiveDuration('queueTimeout', queueTimeout),
    overflow: OVERFLOWS.indexOf(oneOf('overflow', overflow, OVERFLOWS)),
    parameter: compute && ((/** @type {any} */ context) => checkPriority(compute(context))),
  };
}

/** @param {unknown} value */
function checkPriority(value) {
  const accepted = 'a number other than NaN';
  const priority = immediate('priority', accepted, value);
  if (typeof priority !== 'number' || Number.isNaN(priority)) {
    throw typeError('the result of priority', accepted, priority);
  }
  return priority;
}

/** The counts of a native limiter, once it exists. */
function liveCounts() {
  /** @type {import('../segment.js').GatePlace | undefined} */
  let reader;
  /** @param {'limit' | 'inflight' | 'queued'} what */
  const read = (what) => {
    if (reader === undefined) return 0;
    const { segment, gate, owner } = reader;
    const count = check(hot[what](segment, gate));
    return what === 'inflight' ? count - owner.permits : count;
  };
  return {
    /** @param {import('../segment.js').GatePlace} place */
    attach: (place) => {
      reader = place;
    },
    get limit() {
      return read('limit');
    },
    get inflight() {
      return read('inflight');
    },
    get queued() {
      return read('queued');
    },
    get abandoned() {
      return reader?.owner.telemetry.abandoned.count ?? 0;
    },
  };
}

module.exports = {
  concurrencyLimiterStrategy: recallable('concurrencyLimiterStrategy', concurrencyLimiterStrategy),
  liveCounts,
  readQueue,
  refuseForFull,
};
