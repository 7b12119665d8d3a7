'use strict';

// Acts on what the core brought about: reads the effects that it left in the channel and sets the timer.

const { runFor } = require('./caller-stores.js');
const {
  BACKLOG,
  EFFECT,
  HEADER,
  READ,
  RECORD,
  RECORDS,
  WRITTEN,
  channel,
  hot,
  report,
} = require('./native.js');
const { Segment } = require('./segment.js');
const { armFake, disarmFake, setClock, setTimer } = require('./timer.js');
const { refused, timedOut } = require('./turned-away.js');

/** @typedef {import('./execution.js').Execution} Execution */
/** @typedef {{ outcome: import('./outcome.js').AnyOutcome, context: import('./context.js').ResilienceContext,
 *   caller?: import('./caller-stores.js').CallerScope }} Departed */

/** The low bits of a ticket: its place in the core's table. */
const PLACE = 2 ** 26 - 1;
const REASONS = Object.freeze([
  '',
  'full',
  'queue-timeout',
  'dropped',
  'disposed',
  'broken',
  'isolated',
]);

/** What `knee` did in a window. @type {readonly import('../index.js').LimitRule[]} */
const RULES = Object.freeze([
  'hold',
  'grow',
  'trim',
  'cut',
  'undo',
  'probe',
  'probe-deeper',
  'probe-end',
  'loss-cut',
  'loss-not-ours',
  'outage',
  'recover',
  'headroom',
]);

/** The open executions by their ticket's place. @type {(Execution | undefined)[]} */
const executions = [];

/**
 * Executions that ended and that an effect may name, by ticket, until all effects are told: their end moved a
 * circuit, or came before it was told that they opened one half.
 *
 * @type {Map<number, Departed>}
 */
const departed = new Map();

/** The pauses under way, by their native key. @type {Map<number, { woken(): void }>} */
const sleepers = new Map();

let dispatching = false;
/** Whether a fresh turn will look whether that is so. */
let dispatchesSoon = false;

/** Whether something happened of which nobody was told yet. */
const hasUntold = () => channel[WRITTEN] !== channel[READ] || channel[BACKLOG] !== 0;

/** Must follow every call into the core. */
function afterCall() {
  setTimer(wake);
  if (channel[WRITTEN] === channel[READ]) return;
  if (dispatching) dispatchSoon();
  else dispatch();
}

/** In a fresh turn a dispatch that still seems under way was cut off, by a timeout of `vm`, say. */
function dispatchSoon() {
  if (dispatchesSoon) return;
  Promise.resolve().then(() => {
    dispatchesSoon = false;
    wake();
  });
  dispatchesSoon = true;
}

/** In a turn of its own: none is under way. */
function wake() {
  dispatching = false;
  afterCall();
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
        const kind = channel[at];
        const subject = channel[at + 1];
        const gate = channel[at + 2];
        const a = channel[at + 3];
        const b = channel[at + 4];
        const c = channel[at + 5];
        const d = channel[at + 6];
        const e = channel[at + 7];
        const f = channel[at + 8];
        const g = channel[at + 9];
        const h = channel[at + 10];
        const i = channel[at + 11];
        // Only now: from here on the core may write over the record.
        channel[READ] += 1;
        handle(kind, subject, gate, a, b, c, d, e, f, g, h, i);
      }
      if (channel[BACKLOG] === 0) {
        if (departed.size > 0) departed.clear();
        return;
      }
      // Also a call that failed brings what is left.
      if (report(hot.drain()) && channel[READ] === channel[WRITTEN]) return;
    }
  } finally {
    dispatching = false;
  }
}

/**
 * @param {number} kind
 * @param {number} subject A ticket, a segment, a timer or a sleep.
 * @param {number} gate
 * @param {number} a And the others: what belongs to the kind.
 * @param {number} b
 * @param {number} c
 * @param {number} d
 * @param {number} e
 * @param {number} f
 * @param {number} g
 * @param {number} h
 * @param {number} i
 */
function handle(kind, subject, gate, a, b, c, d, e, f, g, h, i) {
  switch (kind) {
    case EFFECT.ADMITTED:
      find(subject)?.admitted();
      break;
    case EFFECT.REJECTED: {
      const waiter = find(subject);
      if (waiter !== undefined) runFor(waiter.rare?.caller, refused, waiter, gate, REASONS[a], b, c, d);
      break;
    }
    case EFFECT.TIMED_OUT: {
      const execution = find(subject);
      if (execution !== undefined) runFor(execution.rare?.caller, timedOut, execution, gate);
      break;
    }
    case EFFECT.LIMIT_CHANGED:
      limitChanged(subject, gate, { rtt: a, inflight: b, dropped: c !== 0, limit: d, now: e, startedAt: f }, g, h, i);
      break;
    case EFFECT.SAMPLED:
      sampled(subject, gate, { rtt: a, inflight: b, dropped: c !== 0, limit: d, now: e, startedAt: f }, g, h);
      break;
    case EFFECT.LIMIT_DECIDED:
      limitDecided(subject, gate, RULES[a], [b, c, d, e, f, g]);
      break;
    case EFFECT.ARMED:
      armFake(subject, a, afterCall);
      break;
    case EFFECT.DISARMED:
      disarmFake(subject);
      break;
    case EFFECT.CIRCUIT_OPENED: {
      const opening = { epoch: b, breakMs: c, failureRate: d, failureCount: e, halfOpenAttempts: f };
      const by = departed.get(a);
      runFor(by?.caller, () => Segment.find(subject)?.gates[gate].circuit?.opened(by, opening));
      break;
    }
    case EFFECT.CIRCUIT_HALF_OPENED: {
      const running = find(a);
      const probe = running ?? departed.get(a);
      if (probe === undefined) break;
      const caller = running === undefined ? departed.get(a)?.caller : running.rare?.caller;
      runFor(caller, () => Segment.find(subject)?.gates[gate].circuit?.halfOpened(probe.context));
      break;
    }
    case EFFECT.CIRCUIT_CLOSED: {
      const by = departed.get(a);
      runFor(by?.caller, () => Segment.find(subject)?.gates[gate].circuit?.closed(by));
      break;
    }
    case EFFECT.KEY_EVICTED:
      Segment.find(subject)?.gates[gate].keyEvicted?.();
      break;
    case EFFECT.WOKEN:
      sleepers.get(subject)?.woken();
      break;
  }
}

/**
 * The execution of a ticket, unless it has settled: then its place may be another's.
 *
 * @param {number} ticket
 */
function find(ticket) {
  const execution = executions[ticket & PLACE];
  return execution?.ticket === ticket ? execution : undefined;
}

/** @typedef {Omit<import('../index.js').LimitSample, 'operation'>} NativeSample */

/**
 * A sample with the key of its kind of operation in place of its number.
 *
 * @param {import('./segment.js').Gate} gate
 * @param {NativeSample} sample
 * @param {number} operation
 * @returns {import('../index.js').LimitSample}
 */
const withOperation = (gate, sample, operation) =>
  gate.operations === undefined ? sample : { ...sample, operation: gate.operations.keyOf(operation) };

/**
 * @param {number} key
 * @param {number} index
 * @param {NativeSample} native
 * @param {number} operation
 * @param {number} oldLimit
 * @param {number} newLimit
 */
function limitChanged(key, index, native, operation, oldLimit, newLimit) {
  const segment = Segment.find(key);
  if (segment === undefined) return;
  const gate = segment.gates[index];
  const args = { oldLimit, newLimit, sample: withOperation(gate, native, operation) };
  segment.telemetry.emit('OnLimitChanged', gate.name, undefined, args);
  segment.telemetry.notify(gate.name, 'onLimitChanged', gate.onLimitChanged, args);
}

/**
 * @param {number} key
 * @param {number} index
 * @param {import('../index.js').LimitRule} rule
 * @param {number[]} numbers
 */
function limitDecided(key, index, rule, [inflight, latencyRatio, targetRatio, dropRatio, oldLimit, newLimit]) {
  const segment = Segment.find(key);
  if (segment === undefined) return;
  segment.telemetry.emit('OnLimitDecision', segment.gates[index].name, undefined, {
    rule,
    inflight,
    latencyRatio: Number.isNaN(latencyRatio) ? undefined : latencyRatio,
    targetRatio,
    dropRatio,
    oldLimit,
    newLimit,
  });
}

/**
 * Asks an algorithm in JavaScript for the next limit.
 *
 * @param {number} key
 * @param {number} index
 * @param {NativeSample} native
 * @param {number} operation
 * @param {number} cuts
 */
function sampled(key, index, native, operation, cuts) {
  const segment = Segment.find(key);
  const gate = segment?.gates[index];
  if (segment === undefined || gate?.algorithm === undefined) return;
  // Another sample's answer may have moved the limit since this one was taken.
  const sample = { ...withOperation(gate, native, operation), limit: gate.exactLimit ?? native.limit };
  const { rtt, inflight, dropped, limit, now, startedAt } = sample;
  let next;
  try {
    next = gate.algorithm.onSample(sample);
  } catch (error) {
    segment.telemetry.reportError(gate.name, 'algorithm', error);
    return;
  }
  setClock();
  const answer = typeof next === 'number' ? next : NaN;
  const exactLimit = hot.applyLimit(
    key,
    index,
    answer,
    cuts,
    rtt,
    inflight,
    Number(dropped),
    limit,
    now,
    startedAt,
    operation,
  );
  if (!report(exactLimit)) gate.exactLimit = exactLimit;
  afterCall();
}

module.exports = { PLACE, REASONS, afterCall, departed, executions, hasUntold, sleepers };
