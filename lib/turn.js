'use strict';

// Node's own functions that run something later in this turn of the loop, captured before a test tool can put its
// own in their place.

const timers = require('node:timers');
const { promisify } = require('node:util');

/** @type {{ setImmediate: typeof setImmediate | undefined, setTimeout: typeof setTimeout | undefined }} */
const own = { setImmediate: undefined, setTimeout: undefined };
const { nextTick } = process;
const { queueMicrotask } = globalThis;
/** Its immediates go on and on without a look at its sockets; a timer of zero waits for one. */
const isDeno = 'Deno' in globalThis;
/** The others have none of its phases: what lies in their sockets is read within two timers of zero. */
const isNode = !isDeno && !('Bun' in globalThis);

/**
 * Whether a timer function is Node's own: then its promise form is an accessor.
 *
 * @param {unknown} schedule
 */
const isNodes = (schedule) =>
  typeof schedule === 'function' && Object.getOwnPropertyDescriptor(schedule, promisify.custom)?.get !== undefined;

/** Some environments of test tools have no global `setImmediate`, and some tools replace the exports as well. */
function find() {
  own.setImmediate = [globalThis.setImmediate, timers.setImmediate].find(isNodes);
  own.setTimeout = [globalThis.setTimeout, timers.setTimeout].find(isNodes);
}

find();

/**
 * Calls `work` when the loop has looked at its sockets once more: what lay in them comes first. While a test tool
 * that was there before this file hides Node's own functions, it does so at once.
 *
 * @template T
 * @param {(argument: T) => void} work
 * @param {T} argument
 */
function afterPoll(work, argument) {
  if (own.setImmediate === undefined || own.setTimeout === undefined) find();
  const { setImmediate, setTimeout } = own;
  if (setImmediate === undefined || setTimeout === undefined) work(argument);
  else if (isNode) setImmediate(work, argument);
  else setTimeout(() => setTimeout(work, 0, argument), 0);
}

/** @type {typeof setImmediate} */
const immediate = own.setImmediate ?? globalThis.setImmediate;

/**
 * Calls `work` in the next check phase of the loop, or in what comes closest to that.
 *
 * @param {() => void} work
 */
function inCheckPhase(work) {
  if (isDeno && own.setTimeout !== undefined) own.setTimeout(work, 0);
  else immediate(work);
}

/** Rounds of ticks, with the promise jobs after each, in which streams hand on what they have read already. */
const ROUNDS = 4;

/**
 * Calls `work` after all promise jobs of what is running now, and some rounds of ticks. Whether there are more nothing
 * tells, short of another phase of the loop.
 *
 * @param {() => void} work
 */
function afterJobs(work, rounds = ROUNDS) {
  queueMicrotask(() => {
    if (rounds === 1) nextTick(work);
    else nextTick(afterJobs, work, rounds - 1);
  });
}

module.exports = {
  afterJobs,
  afterPoll,
  clearInterval: timers.clearInterval,
  clearTimeout: timers.clearTimeout,
  inCheckPhase,
  isNode,
  isNodes,
  nextTick: nextTick.bind(process),
  setImmediate: immediate,
  setInterval: timers.setInterval,
  setTimeout: own.setTimeout ?? globalThis.setTimeout,
};
