'use strict';

// Makes this thread's native side: the closures that executions call, and the array that both sides read and
// write without a crossing (laid out in src/binding/channel.rs).

const { binding } = require('./addon.js');
const { mark } = require('./copies.js');
const { InternalError } = require('./errors.js');
const { refuseAssignment } = require('./read-only.js');

/** Numbers in front of the ring of effects. */
const HEADER = 20;
/** Numbers of one effect. */
const RECORD = 12;
/** Effects in the ring. */
const RECORDS = 128;

/** Indexes of the header. */
const CLOCK_OVERRIDE = 0;
const READ = 1;
const WRITTEN = 2;
const BACKLOG = 3;
const WAKE = 4;
const CLOCK = 5;
const ACTIVE = 6;
const QUEUED = 7;
const RETRY_AFTER = 8;
const FIRST = 9;
const SECOND = 10;
const ANSWER = 11;
const THIRD = 12;
const FOURTH = 13;
const CLOSED = 14;
const ARMED = 15;
const LOOP_QUEUED = 16;
const LOOP_REFUSED = 17;
const LOOP_REASON = 18;
const LOOP_DELAY = 19;

/** Kinds of effects: the first number of a record. */
const EFFECT = Object.freeze({
  ADMITTED: 1,
  REJECTED: 2,
  TIMED_OUT: 3,
  LIMIT_CHANGED: 4,
  SAMPLED: 5,
  ARMED: 6,
  DISARMED: 7,
  CIRCUIT_OPENED: 8,
  CIRCUIT_HALF_OPENED: 9,
  CIRCUIT_CLOSED: 10,
  KEY_EVICTED: 11,
  WOKEN: 12,
  LIMIT_DECIDED: 13,
});

/** The code of a refusal is its reason, and in units of this its gate. */
const REASONS_OF_GATE = 8;

/** The most gates that fit one segment. */
const MAX_GATES = 6;

const channel = new Float64Array(HEADER + RECORDS * RECORD);
channel[CLOCK_OVERRIDE] = NaN;

/**
 * What a native class threw, for users. A failure, a panic included, is a defect: all that they give is
 * validated before, except the object on which a getter is called.
 *
 * @param {any} error
 */
const translate = (error) =>
  error.code === 'GenericFailure'
    ? new InternalError(error.message, { cause: error })
    : new TypeError(error.message, { cause: error });

/**
 * Runs what calls native classes.
 *
 * @template T
 * @param {() => T} work
 * @returns {T}
 */
function guard(work) {
  try {
    return work();
  } catch (error) {
    throw translate(error);
  }
}

/** @typedef {{ readonly limit: number, readonly inflight: number, readonly queued: number }} Counts */

/** The native class, whose getters users read, with the errors that users are told of. */
class AdaptiveLimitProvider extends binding.AdaptiveLimitProvider {
  /** A limiter of another copy of the package. @type {Counts | undefined} */
  #counts;
  #isAttached = false;

  static {
    mark('AdaptiveLimitProvider', {
      is: (value) => typeof value === 'object' && value !== null && #counts in value,
      /**
       * @param {AdaptiveLimitProvider} provider
       * @param {Counts} counts
       * @param {unknown} by The native side of the limiter.
       * @param {number} segment
       * @param {number} gate
       */
      attach: (provider, counts, by, segment, gate) => {
        if (provider.#isAttached) return false;
        if (by !== thread) provider.#counts = counts;
        // After a failure it may be attached again.
        provider.#isAttached = by !== thread || guard(() => thread.attach(provider, segment, gate));
        return provider.#isAttached;
      },
    });
  }

  constructor() {
    try {
      super();
    } catch (error) {
      throw translate(error);
    }
    if (new.target === AdaptiveLimitProvider) Object.freeze(this);
  }

  get limit() {
    return this.#counts === undefined ? guard(() => super.limit) : this.#counts.limit;
  }

  set limit(_) {
    refuseAssignment('limit', 'a limit provider');
  }

  get inflight() {
    return this.#counts === undefined ? guard(() => super.inflight) : this.#counts.inflight;
  }

  set inflight(_) {
    refuseAssignment('inflight', 'a limit provider');
  }

  get queued() {
    return this.#counts === undefined ? guard(() => super.queued) : this.#counts.queued;
  }

  set queued(_) {
    refuseAssignment('queued', 'a limit provider');
  }
}

const thread = guard(() => new binding.Thread(channel));

/**
 * The native functions; an answer of NaN is a failure, told by `fault()`. Those that every execution calls have
 * their arguments and their answer in the channel, see `enter` and `exit` below: half the price.
 *
 * @type {{
 *   enter(): void,
 *   exit(): void,
 *   giveBack(): void,
 *   leave(): void,
 *   closedEpoch(segment: number): number,
 *   mark(ticket: number): number,
 *   due(): number,
 *   tick(): number,
 *   expire(timer: number): number,
 *   applyLimit(segment: number, gate: number, next: number, cuts: number, rtt: number, inflight: number,
 *     dropped: number, limit: number, now: number, startedAt: number, operation: number): number,
 *   drain(): number,
 *   sleep(delayMs: number): number,
 *   wake(sleep: number): number,
 *   remaining(ticket: number): number,
 *   dispose(segment: number): number,
 *   remove(segment: number): number,
 *   fault(): string,
 *   limit(segment: number, gate: number): number,
 *   inflight(segment: number, gate: number): number,
 *   queued(segment: number, gate: number): number,
 *   circuit(segment: number, gate: number): number,
 *   breakRemaining(segment: number, gate: number): number,
 *   setBreak(segment: number, gate: number, epoch: number, breakMs: number): number,
 *   isolate(segment: number, gate: number): number,
 *   close(segment: number, gate: number): number,
 *   restore(segment: number, gate: number, circuit: number, breakMs: number): number,
 *   available(segment: number, gate: number, key: number): number,
 *   reset(segment: number, gate: number, key: number): number,
 *   keys(segment: number, gate: number): number,
 *   evictions(segment: number, gate: number): number,
 *   loopOffer(): void,
 *   loopTurn(): void,
 *   loopNext(): void,
 *   loopEnd(): void,
 *   loopAcknowledge(): void,
 *   loopRefused(): void,
 *   addDoor(targetMs: number, maxMs: number): number,
 *   closeDoor(door: number): number,
 *   removeDoor(door: number): number,
 * }}
 */
// A copy: the engine keeps the original, to which so many properties were added, as a table to search in.
const hot = /** @type {any} */ ({ ...guard(() => thread.hot()) });

/**
 * @param {number} segment
 * @param {number} parameter NaN for none.
 * @returns {number} A ticket to run, minus a ticket to wait, minus the code of a refusal (a small integer), or
 *   the number of permits lent, one of which is for this execution (a small integer as well).
 */
function enter(segment, parameter) {
  channel[FIRST] = segment;
  channel[SECOND] = parameter;
  hot.enter();
  return channel[ANSWER];
}

/**
 * @param {number} ticket
 * @param {number} outcomes Two bits a gate.
 * @returns {number} 1 if it moved a circuit, else 0.
 */
function exit(ticket, outcomes) {
  channel[FIRST] = ticket;
  channel[SECOND] = outcomes;
  hot.exit();
  return channel[ANSWER];
}

/**
 * @param {number} segment
 * @returns {number} 1 if somebody still waits, else 0.
 */
function giveBack(segment) {
  channel[FIRST] = segment;
  hot.giveBack();
  return channel[ANSWER];
}

/**
 * @param {number} segment
 * @param {number} epoch
 * @param {number} outcome
 * @param {number} name In place of a ticket.
 * @returns {number} 1 if it moved the circuit, else 0.
 */
function leave(segment, epoch, outcome, name) {
  channel[FIRST] = segment;
  channel[SECOND] = epoch;
  channel[THIRD] = outcome;
  channel[FOURTH] = name;
  hot.leave();
  return channel[ANSWER];
}

/**
 * Reports a failure of a native function whose answer decides nothing: the outcome that is being delivered
 * matters more.
 *
 * @param {number} answer
 * @returns {boolean} Whether it failed.
 */
function report(answer) {
  const failed = answer !== answer;
  if (failed) process.emitWarning(new InternalError(hot.fault()));
  return failed;
}

/**
 * The answer of a native function that a user waits for.
 *
 * @param {number} answer
 */
function check(answer) {
  if (answer !== answer) throw new InternalError(hot.fault());
  return answer;
}

module.exports = {
  ACTIVE,
  ANSWER,
  ARMED,
  AdaptiveLimitProvider,
  BACKLOG,
  CLOCK,
  CLOCK_OVERRIDE,
  CLOSED,
  EFFECT,
  FIRST,
  FOURTH,
  HEADER,
  LOOP_DELAY,
  LOOP_QUEUED,
  LOOP_REASON,
  LOOP_REFUSED,
  MAX_GATES,
  QUEUED,
  READ,
  REASONS_OF_GATE,
  RECORD,
  RECORDS,
  RETRY_AFTER,
  SECOND,
  THIRD,
  WAKE,
  WRITTEN,
  binding,
  channel,
  check,
  enter,
  exit,
  giveBack,
  guard,
  hot,
  leave,
  report,
  thread,
};
