'use strict';

// The gate of this thread's event loop, natively: when a request may start, so that the loop keeps turning.
// Whoever calls these functions lets the loop turn; src/core/turns/ has the order of the calls in a turn.

const native = require('./native.js');

const { ANSWER, FIRST, FOURTH, LOOP_DELAY, LOOP_QUEUED, LOOP_REASON, LOOP_REFUSED, SECOND, THIRD } = native;
const { channel, hot } = native;

/** Why requests that waited were turned away, by the numbers that native code has for it. */
const REASONS = Object.freeze(['', 'full', 'queue-timeout', 'dropped', 'disposed']);

/** What `turn` answers; more than 0 are milliseconds until it is to be called again. */
const TURN = Object.freeze({ OFF: 0, AGAIN: -1, WORK: -2 });

/** What `end` answers. */
const END = Object.freeze({ NOTHING: 0, CHECK: 1, ACKNOWLEDGE: 2 });

/** What `readOverload` has as `news`. */
const NEWS = Object.freeze({ NOTHING: 0, BEGAN: 1, LASTS: 2, ENDED: 3 });

/**
 * A door has options and counters of its own; the queue is the thread's.
 *
 * @param {number} targetMs How long requests wait while more come than can be served.
 * @param {number} maxMs The longest wait at all, not below `targetMs`.
 * @returns {number} Its key.
 */
const addDoor = (targetMs, maxMs) => native.check(hot.addDoor(targetMs, maxMs));

/**
 * Turns all away that wait at a door, as disposed: `takeRefused` has them.
 *
 * @param {number} door
 */
const closeDoor = (door) => void native.report(hot.closeDoor(door));

/**
 * The same, and forgets the door.
 *
 * @param {number} door
 */
const removeDoor = (door) => void native.report(hot.removeDoor(door));

/**
 * A request was read. A call of `turn` in the next check phase is wanted then.
 *
 * @param {number} door
 * @param {number} level Its importance: rounded, from 0, the highest, to 7.
 * @param {number} patienceMs How long its client will wait; Infinity if that is not known.
 * @param {number} idleMs NaN if a call of `turn` is due already; else how long the loop has slept in all,
 *   negative if the runtime does not tell.
 * @returns {number} A key to start now, minus a key to wait, 0 for a refusal (see `refusalDelay`), NaN for a
 *   failure (see `report` in native.js).
 */
function offer(door, level, patienceMs, idleMs) {
  channel[FIRST] = door;
  channel[SECOND] = level;
  channel[THIRD] = patienceMs;
  channel[FOURTH] = idleMs;
  hot.loopOffer();
  return channel[ANSWER];
}

/** How many milliseconds the request that `offer` has just refused would have waited. */
const refusalDelay = () => channel[LOOP_DELAY];

/**
 * The check phase.
 *
 * @param {number} idleMs How long the loop has slept in all; negative if the runtime does not tell.
 * @param {number} connections How many came since the last call.
 * @returns {number} One of `TURN`, or in how many milliseconds it is to be called again, if `end` or a
 *   connection does not bring that about before; NaN for a failure.
 */
function turn(idleMs, connections) {
  channel[FIRST] = idleMs;
  channel[SECOND] = connections;
  hot.loopTurn();
  return channel[ANSWER];
}

/** @returns {number} The key of the next request of a slice, 0 when the slice is over, NaN for a failure. */
function next() {
  hot.loopNext();
  return channel[ANSWER];
}

/**
 * A request has ended, or the first byte of its answer has left, or its client has left; the first of these
 * counts. One that waits, waits no longer.
 *
 * @param {number} key
 * @returns {number} One of `END`, NaN for a failure.
 */
function end(key) {
  channel[FIRST] = key;
  hot.loopEnd();
  return channel[ANSWER];
}

/**
 * Called after all jobs of what has ended a request, where `end` says so.
 *
 * @returns {number} The key of a request to start, or 0, or NaN for a failure.
 */
function acknowledge() {
  hot.loopAcknowledge();
  return channel[ANSWER];
}

/** How many wait. */
const queued = () => channel[LOOP_QUEUED];

/** Whether requests that waited were turned away. Asked after each of the calls above. */
const hasRefused = () => channel[LOOP_REFUSED] > 0;

/** @returns {number} The key of the next of them (see `refusalReason`), 0 for none, NaN for a failure. */
function takeRefused() {
  hot.loopRefused();
  return channel[ANSWER];
}

/** Why the request was turned away that `takeRefused` has just given. */
const refusalReason = () => REASONS[channel[LOOP_REASON]];

/**
 * What the gate knows, and the counters of a door.
 *
 * @param {number} door
 */
const read = (door) => native.guard(() => native.thread.eventLoop(door));

/**
 * What is to be told of a door's overload: nothing without one, and each news once. Asked when a request was
 * refused and nobody has asked yet, and then as it says by `again`.
 *
 * @param {number} door
 * @param {number} idleMs As for `turn`.
 */
const readOverload = (door, idleMs) => native.guard(() => native.thread.overload(door, idleMs));

module.exports = {
  END,
  NEWS,
  TURN,
  acknowledge,
  addDoor,
  closeDoor,
  end,
  hasRefused,
  next,
  offer,
  queued,
  read,
  readOverload,
  refusalDelay,
  refusalReason,
  removeDoor,
  takeRefused,
  turn,
};
