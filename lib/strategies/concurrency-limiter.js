'use strict';

const { InternalError } = require('../errors.js');
const { hot } = require('../native.js');
const {
  callback,
  immediate,
  integer,
  name: readName,
  oneOf,
  positiveDuration,
  readOptions,
  typeError,
} = require('../options.js');

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
 * @returns {import('../builder.js').Strategy}
 */
function concurrencyLimiterStrategy(options, secondQueueLimit) {
  const short = typeof options !== 'object';
  if (!short && secondQueueLimit !== undefined) {
    throw new TypeError('addConcurrencyLimiter takes queueLimit among its options, not beside them');
  }
  const given = short ? { permitLimit: options, queueLimit: secondQueueLimit } : options;
  const read = readOptions('addConcurrencyLimiter', given, OPTIONS);
  const permitLimit = integer('permitLimit', read.permitLimit, 1);
  const { queueLimit, queueTimeoutMs } = readQueue(read);
  const { overflow: policy = 'reject-new' } = read;
  const overflow = OVERFLOWS.indexOf(oneOf('overflow', policy, OVERFLOWS));
  const priority = callback('priority', read.priority);
  const onRejected = callback('onRejected', read.onRejected);
  const name = readName('name', read.name, 'ConcurrencyLimiter');
  return {
    gate: () => {
      const live = liveCounts();
      return {
        name,
        onRejected,
        parameter: priority === undefined ? undefined : (context) => checkPriority(priority(context)),
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
        },
      };
    },
  };
}

/**
 * The options that every limiter with a queue has.
 *
 * @param {{ queueLimit?: unknown, queueTimeout?: unknown }} options
 */
function readQueue({ queueLimit = 0, queueTimeout }) {
  return {
    queueLimit: integer('queueLimit', queueLimit, 0),
    queueTimeoutMs: queueTimeout === undefined ? Infinity : positiveDuration('queueTimeout', queueTimeout),
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
  /** @type {import('../segment.js').Reader | undefined} */
  let reader;
  /** @param {'limit' | 'inflight' | 'queued'} what */
  const read = (what) => {
    if (reader === undefined) return 0;
    const count = hot[what](reader.segment, reader.gate);
    if (Number.isNaN(count)) throw new InternalError(hot.fault());
    return count;
  };
  return {
    /** @param {import('../segment.js').Reader} place */
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
  };
}

module.exports = { concurrencyLimiterStrategy, liveCounts, readQueue };
