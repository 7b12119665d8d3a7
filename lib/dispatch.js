'use strict';

// Acts on what the core brought about: reads the effects that it left in the channel and sets the timer.

const { BACKLOG, EFFECT, HEADER, READ, RECORD, RECORDS, WRITTEN, channel, hot } = require('./native.js');
const { Segment } = require('./segment.js');
const { armFake, disarmFake, setClock, setTimer } = require('./timer.js');

/** @typedef {import('./execution.js').Execution} Execution */

/** The low bits of a ticket: its place in the core's table. */
const PLACE = 2 ** 26 - 1;
const REASONS = Object.freeze(['', 'full', 'queue-timeout', 'dropped', 'disposed']);

/** The open executions by their ticket's place. @type {(Execution | undefined)[]} */
const executions = [];

let dispatching = false;

/** Must follow every call into the core. */
function afterCall() {
  setTimer(afterCall);
  if (channel[WRITTEN] !== channel[READ] && !dispatching) dispatch();
}

/**
 * Handles effects in order until none is left. Handlers call the core again, and user callbacks anything: what
 * that brings about is appended to the ring and handled here, not in the nested call.
 */
function dispatch() {
  dispatching = true;
  try {
    for (;;) {
      while (channel[READ] !== channel[WRITTEN]) {
        const at = HEADER + (channel[READ] % RECORDS) * RECORD;
        const record = channel.slice(at, at + RECORD);
        channel[READ] += 1;
        handle(record);
      }
      if (channel[BACKLOG] === 0) return;
      hot.drain();
    }
  } finally {
    dispatching = false;
  }
}

/** @param {Float64Array} record */
function handle([kind, subject, gate, a, b, c, d, e, f]) {
  switch (kind) {
    case EFFECT.ADMITTED:
      executions[subject & PLACE]?.admitted();
      break;
    case EFFECT.REJECTED:
      executions[subject & PLACE]?.rejected(gate, REASONS[a], b, c);
      break;
    case EFFECT.TIMED_OUT:
      executions[subject & PLACE]?.timedOut(gate);
      break;
    case EFFECT.LIMIT_CHANGED:
      limitChanged(subject, gate, { rtt: a, inflight: b, dropped: c !== 0, limit: d }, e, f);
      break;
    case EFFECT.SAMPLED:
      sampled(subject, gate, { rtt: a, inflight: b, dropped: c !== 0, limit: d }, e);
      break;
    case EFFECT.ARMED:
      armFake(subject, a, afterCall);
      break;
    case EFFECT.DISARMED:
      disarmFake(subject);
      break;
  }
}

/**
 * @param {number} key
 * @param {number} index
 * @param {{ rtt: number, inflight: number, dropped: boolean, limit: number }} sample
 * @param {number} oldLimit
 * @param {number} newLimit
 */
function limitChanged(key, index, sample, oldLimit, newLimit) {
  const segment = Segment.find(key);
  if (segment === undefined) return;
  const { name, onLimitChanged } = segment.gates[index];
  const args = { oldLimit, newLimit, sample };
  segment.telemetry.emit('OnLimitChanged', name, undefined, args);
  segment.telemetry.notify(name, 'onLimitChanged', onLimitChanged, args);
}

/**
 * Asks an algorithm in JavaScript for the next limit.
 *
 * @param {number} key
 * @param {number} index
 * @param {{ rtt: number, inflight: number, dropped: boolean, limit: number }} sample
 * @param {number} admitted
 */
function sampled(key, index, sample, admitted) {
  const segment = Segment.find(key);
  const gate = segment?.gates[index];
  if (segment === undefined || gate?.algorithm === undefined) return;
  const { rtt, inflight, dropped, limit } = sample;
  let next;
  try {
    next = gate.algorithm.onSample(sample);
  } catch (error) {
    segment.telemetry.reportError(gate.name, 'algorithm', error);
    return;
  }
  setClock();
  hot.applyLimit(key, index, typeof next === 'number' ? next : NaN, rtt, inflight, Number(dropped), limit, admitted);
  afterCall();
}

module.exports = { PLACE, REASONS, afterCall, executions };
