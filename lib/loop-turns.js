'use strict';

// Lets the event loop of this thread turn for its gate: asks that in each check phase, starts whom it lets in, each
// after all jobs of the one before, and tells those whom it turns away.

const { performance } = require('node:perf_hooks');

const loop = require('./event-loop.js');
const { CLOSED, channel, report } = require('./native.js');
const { outsideOfRequests } = require('./timer.js');
// Requests wait in real time.
const { afterJobs, clearTimeout, inCheckPhase, setTimeout } = require('./turn.js');

const { END, TURN } = loop;
/** After a failure of the gate, it is asked again in so many milliseconds. */
const AGAIN_MS = 10;

const eventLoopUtilization = performance.eventLoopUtilization.bind(performance);

/**
 * A request at the gate.
 *
 * @typedef {object} Visitor
 * @property {(key: number) => void} wait It waits, under that key.
 * @property {() => void} start It has waited, and starts. It may throw.
 * @property {(reason: string) => void} refuse It has waited in vain.
 * @property {() => void} look It has started, and all jobs of that are done.
 */

/** Those that wait, by key. @type {Map<number, Visitor>} */
const waiting = new Map();
/** Those that have started since the last look at them. @type {Visitor[]} */
let started = [];
/** Whether the next check phase is ours. */
let isDue = false;
/** Connections since the last check phase that was. */
let connections = 0;
/** @type {WeakSet<object>} */
const servers = new WeakSet();
/** For when nothing but time passes. @type {NodeJS.Timeout | undefined} */
let timer;

/** How long the loop has slept in all. Bun and Deno answer 0 for ever. */
function idleTime() {
  const { idle, active } = eventLoopUtilization();
  return active === 0 ? -1 : idle;
}

/**
 * What is done for all requests is not done in the stores of one of them.
 *
 * @param {() => void} work
 */
const outside = (work) => outsideOfRequests.runInAsyncScope(work);

function awaitCheckPhase() {
  if (isDue) return;
  isDue = true;
  outside(scheduleTurn);
}

const scheduleTurn = () => inCheckPhase(turn);

/**
 * A request was read.
 *
 * @param {number} door
 * @param {number} level Its importance: from 0, the highest, to 7.
 * @param {number} patienceMs How long its client will wait.
 * @param {Visitor} visitor
 * @returns {number} More than 0 for one that starts now: its key. Less than 0 for one that waits, 0 for one that is
 *   refused, NaN for a failure.
 */
function offer(door, level, patienceMs, visitor) {
  const answer = loop.offer(door, level, patienceMs, isDue ? NaN : idleTime());
  awaitCheckPhase();
  if (answer > 0) {
    started.push(visitor);
  } else if (answer < 0) {
    waiting.set(-answer, visitor);
    visitor.wait(-answer);
  }
  tellRefused();
  return answer;
}

/**
 * A request has ended, or the first byte of its answer has left, or its client has left, also while it waits.
 *
 * @param {number} key
 */
function end(key) {
  waiting.delete(key);
  const answer = loop.end(key);
  if (report(answer) || answer === END.NOTHING) return;
  awaitCheckPhase();
  if (answer === END.ACKNOWLEDGE) afterJobs(acknowledge);
}

function acknowledge() {
  const key = loop.acknowledge();
  tellRefused();
  if (key > 0) start(key);
  else report(key);
}

/** The check phase. */
function turn() {
  isDue = false;
  lookAtStarted();
  const came = connections;
  connections = 0;
  const answer = loop.turn(idleTime(), came);
  tellRefused();
  if (answer === TURN.WORK) work();
  else if (answer === TURN.AGAIN) awaitCheckPhase();
  else if (answer > 0) sleep(answer);
  else if (report(answer)) sleep(AGAIN_MS);
}

/** Starts the next of a slice. */
function work() {
  lookAtStarted();
  const key = loop.next();
  tellRefused();
  if (key > 0) {
    try {
      start(key);
    } finally {
      outside(continueWork);
    }
  } else {
    report(key);
    awaitCheckPhase();
  }
}

const continueWork = () => afterJobs(work);

/** @param {number} ms */
function sleep(ms) {
  clearTimeout(timer);
  timer = outsideOfRequests.runInAsyncScope(setTimeout, undefined, awaitCheckPhase, ms);
}

/** @param {number} key */
function start(key) {
  const visitor = /** @type {Visitor} */ (waiting.get(key));
  waiting.delete(key);
  started.push(visitor);
  visitor.start();
}

function lookAtStarted() {
  if (started.length === 0) return;
  const last = started;
  started = [];
  for (const visitor of last) visitor.look();
}

function tellRefused() {
  if (!loop.hasRefused()) return;
  let key = loop.takeRefused();
  for (; key > 0; key = loop.takeRefused()) {
    const reason = loop.refusalReason();
    const visitor = waiting.get(key);
    waiting.delete(key);
    visitor?.refuse(reason);
  }
  report(key);
}

/**
 * Turns all away that wait at a door.
 *
 * @param {number} door
 */
function closeDoor(door) {
  loop.closeDoor(door);
  tellRefused();
}

/** @type {FinalizationRegistry<number>} */
const collected = new FinalizationRegistry((door) => {
  if (channel[CLOSED] === 0) loop.removeDoor(door);
});

/**
 * @param {object} owner For as long as it is there.
 * @param {number} targetMs
 * @param {number} maxMs
 */
function addDoor(owner, targetMs, maxMs) {
  const door = loop.addDoor(targetMs, maxMs);
  collected.register(owner, door);
  return door;
}

/**
 * Counts the connections of a server: those that have yet to be accepted come before any request is started.
 *
 * @param {any} server
 */
function watchServer(server) {
  if (typeof server?.on !== 'function' || servers.has(server)) return;
  servers.add(server);
  server.on('connection', connected);
}

function connected() {
  connections += 1;
  if (loop.queued() > 0) awaitCheckPhase();
}

/** What is to be told of a door's overload. @param {number} door */
const readOverload = (door) => loop.readOverload(door, idleTime());

module.exports = { addDoor, closeDoor, end, offer, outside, readOverload, watchServer };
