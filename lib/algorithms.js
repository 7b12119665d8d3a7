'use strict';

// The built-in limit algorithms as objects: usable alone, and recognised by the adaptive limiter, which runs
// them natively.

const { binding, guard } = require('./native.js');
const { OperationKeys } = require('./operation-keys.js');
const { callback, immediate, number, oneOf, readOptions, typeError } = require('./options.js');

/** @typedef {{ rtt: number, inflight: number, dropped: boolean, limit: number }} Sample */
/** @typedef {Sample & { now: number, startedAt: number, operation?: string | undefined }} TimedSample */

const RATIO = /** @type {const} */ ([
  'above 0 and below 1',
  (/** @type {number} */ value) => value > 0 && value < 1,
]);
const AT_LEAST_ONE = /** @type {const} */ (['of at least 1', (/** @type {number} */ value) => value >= 1]);
const QUEUES = /** @type {const} */ (['short', 'balanced', 'long']);
const POSITIVE = /** @type {const} */ (['above 0', (/** @type {number} */ value) => value > 0]);

/**
 * A limiter's sample, or a user's. Numbers out of range give what they give: a limiter ignores what is not
 * finite.
 *
 * @param {unknown} sample
 * @returns {Sample}
 */
function readSample(sample) {
  if (typeof sample !== 'object' || sample === null) throw typeError('the sample', 'an object', sample);
  const { rtt, inflight, dropped, limit } = /** @type {Record<keyof Sample, unknown>} */ (sample);
  if (typeof rtt !== 'number') throw typeError('rtt', 'a number', rtt);
  if (typeof inflight !== 'number') throw typeError('inflight', 'a number', inflight);
  if (typeof dropped !== 'boolean') throw typeError('dropped', 'a boolean', dropped);
  if (typeof limit !== 'number') throw typeError('limit', 'a number', limit);
  return { rtt, inflight, dropped, limit };
}

class Gradient2 {
  #options;
  #native;

  /** @param {unknown} options */
  constructor(options) {
    const {
      tolerance = 1.5,
      shortWindow = 10,
      longWindow = 600,
      smoothing = 0.2,
      queueSize = Math.sqrt,
      backoffRatio = 0.9,
    } = readOptions('gradient2', options, [
      'tolerance',
      'shortWindow',
      'longWindow',
      'smoothing',
      'queueSize',
      'backoffRatio',
    ]);
    this.#options = { tolerance, shortWindow, longWindow, smoothing, queueSize, backoffRatio };
    number('tolerance', tolerance, ...AT_LEAST_ONE);
    number('shortWindow', shortWindow, ...AT_LEAST_ONE);
    number('longWindow', longWindow, ...AT_LEAST_ONE);
    number('smoothing', smoothing, 'above 0 and at most 1', (value) => value > 0 && value <= 1);
    number('backoffRatio', backoffRatio, ...RATIO);
    callback('queueSize', queueSize);
    this.#native = guard(
      () => new binding.Gradient2(tolerance, shortWindow, longWindow, smoothing, backoffRatio),
    );
  }

  /** @param {Sample} sample */
  onSample(sample) {
    const { rtt, inflight, dropped, limit } = readSample(sample);
    const queue = immediate('queueSize', 'a number', this.#options.queueSize(limit));
    if (typeof queue !== 'number') throw typeError('the result of queueSize', 'a number', queue);
    return guard(() => this.#native.sample(rtt, inflight, dropped, limit, queue));
  }

  /** The native form; undefined if a part of it is JavaScript. */
  get native() {
    return this.#options.queueSize === Math.sqrt ? this.#native : undefined;
  }

  fresh() {
    return new Gradient2(this.#options);
  }
}

class Vegas {
  #options;
  #native;

  /** @param {unknown} options */
  constructor(options) {
    const { alpha = 3, beta = 6 } = readOptions('vegas', options, ['alpha', 'beta']);
    number('alpha', alpha, ...POSITIVE);
    number('beta', beta, `above alpha (${alpha})`, (value) => value > alpha);
    this.#options = { alpha, beta };
    this.#native = guard(() => new binding.Vegas(alpha, beta));
  }

  /** @param {Sample} sample */
  onSample(sample) {
    const { rtt, inflight, dropped, limit } = readSample(sample);
    return guard(() => this.#native.sample(rtt, inflight, dropped, limit));
  }

  get native() {
    return this.#native;
  }

  fresh() {
    return new Vegas(this.#options);
  }
}

class Aimd {
  #options;
  #native;

  /** @param {unknown} options */
  constructor(options) {
    const { increase = 1, backoffRatio = 0.9 } = readOptions('aimd', options, ['increase', 'backoffRatio']);
    number('increase', increase, ...POSITIVE);
    number('backoffRatio', backoffRatio, ...RATIO);
    this.#options = { increase, backoffRatio };
    this.#native = guard(() => new binding.Aimd(increase, backoffRatio));
  }

  /** @param {Sample} sample */
  onSample(sample) {
    const { rtt, inflight, dropped, limit } = readSample(sample);
    return guard(() => this.#native.sample(rtt, inflight, dropped, limit));
  }

  get native() {
    return this.#native;
  }

  fresh() {
    return new Aimd(this.#options);
  }
}

class Knee {
  #options;
  #native;
  #operations = new OperationKeys();

  /** @param {unknown} options */
  constructor(options) {
    const { headroom = 4.5, queue = 'balanced' } = readOptions('knee', options, ['headroom', 'queue']);
    number('headroom', headroom, 'of at least 0', (value) => value >= 0);
    this.#options = { headroom, queue };
    const preset = QUEUES.indexOf(oneOf('queue', queue, QUEUES));
    this.#native = guard(() => new binding.Knee(headroom, preset));
  }

  /** @param {TimedSample} sample */
  onSample(sample) {
    const { rtt, inflight, dropped, limit } = readSample(sample);
    const { now, startedAt, operation } = sample;
    if (typeof now !== 'number') throw typeError('now', 'a number', now);
    if (typeof startedAt !== 'number') throw typeError('startedAt', 'a number', startedAt);
    if (operation !== undefined && typeof operation !== 'string') {
      throw typeError('operation', 'a string or undefined', operation);
    }
    const kind = this.#operations.numberOf(operation);
    return guard(() => this.#native.sample(rtt, inflight, dropped, limit, now, startedAt, kind));
  }

  get native() {
    return this.#native;
  }

  fresh() {
    return new Knee(this.#options);
  }
}

const gradient2 = (/** @type {unknown} */ options = {}) => new Gradient2(options);
const vegas = (/** @type {unknown} */ options = {}) => new Vegas(options);
const aimd = (/** @type {unknown} */ options = {}) => new Aimd(options);
const knee = (/** @type {unknown} */ options = {}) => new Knee(options);

const BUILT_IN = [Gradient2, Vegas, Aimd, Knee];

/** @param {unknown} value @returns {value is Gradient2 | Vegas | Aimd | Knee} */
const isBuiltIn = (value) => BUILT_IN.some((kind) => value instanceof kind);

module.exports = { aimd, gradient2, isBuiltIn, knee, vegas };
