'use strict';

// One timer per thread wakes the native timer wheel. It keeps the process alive only while a deadline is
// armed. What is due by then is decided when the loop has polled: after a long block of the loop, or after the whole
// process stood still, answers that came in time lie in the sockets, and timers are run before those are read.
//
// Where a test tool has replaced `setTimeout`, deadlines armed meanwhile get a timer of that tool each: some
// tools replace timers but no clock, so only the fired timer itself can say that its time has come.

const { ARMED, CLOCK, CLOCK_OVERRIDE, CLOSED, WAKE, channel, hot, report } = require('./native.js');
const { Outside } = require('./outside.js');
const { afterPoll, isNodes, nextTick } = require('./turn.js');

const MAX_DELAY_MS = 2 ** 31 - 1;

// Node's own functions, undefined as long as a tool that was there before this file hides them.
/** @type {typeof setTimeout} */
let realSetTimeout;
/** @type {typeof clearTimeout} */
let realClearTimeout;
/** @type {(() => number) | undefined} */
let realPerformanceNow;
/** @type {(() => number) | undefined} */
let realDateNow;

// A timer made inside a request would keep that request's stores alive.
const outsideOfRequests = new Outside('ResilienceTimer');

/** @type {NodeJS.Timeout | undefined} */
let timer;
/** The millisecond that the timer is set for. */
let armedFor = Infinity;
let keepsAlive = false;
/** Whether it will be asked soon whether the timer may let go of the process. */
let letsGoSoon = false;
/** Whether what is due is decided at the end of this turn: until then there is nothing to set a timer for. */
let isDeciding = false;

/** The global `setTimeout` at the last look: each replacement has its own clock. @type {typeof setTimeout} */
let knownSetTimeout;
/** What makes the time of a test tool go on where the time before it stopped. */
let fakeOffset = 0;

/** Timers of a test tool by native key. @type {Map<number, { clear: typeof clearTimeout, id: any }>} */
const fakeTimers = new Map();

/**
 * The engine's own `Date.now` has no source. `node:timers` is no help for the others: some tools replace its exports
 * too.
 */
function findReal() {
  const { setTimeout, clearTimeout, performance, Date } = globalThis;
  if (Function.prototype.toString.call(Date.now).includes('[native code]')) realDateNow = Date.now;
  if (!isNodes(setTimeout)) return;
  realSetTimeout = setTimeout;
  realClearTimeout = clearTimeout;
  realPerformanceNow = performance.now;
}

findReal();

/** Where the core's clock begins, which that of a test tool goes on from. */
const origin = performance.now();

/** Milliseconds on whatever clock the test tool has replaced, or else on the real one. */
function fakeNow() {
  const { performance, Date } = globalThis;
  if (Date.now === realDateNow) return performance.now();
  // Where both are replaced: tests set the date, also back.
  const steady = realPerformanceNow !== undefined && performance.now !== realPerformanceNow;
  return steady ? performance.now() : Date.now();
}

/** Milliseconds on a clock that never goes back, except where a test tool's does. */
function now() {
  setClock();
  const fake = channel[CLOCK_OVERRIDE];
  return Number.isNaN(fake) ? performance.now() - origin : fake;
}

/** Tells the core, before a call, which clock counts. */
function setClock() {
  const { setTimeout } = globalThis;
  if (setTimeout !== realSetTimeout || setTimeout !== knownSetTimeout) changeClock(setTimeout);
}

/** @param {typeof setTimeout} setTimeout The global one. */
function changeClock(setTimeout) {
  if (setTimeout !== knownSetTimeout) {
    if (realSetTimeout === undefined) findReal();
    const last = channel[CLOCK_OVERRIDE];
    // A whole number, so that differences are exact where the tool's clock has whole milliseconds.
    fakeOffset = Math.ceil((Number.isNaN(last) ? channel[CLOCK] : last) - fakeNow());
    channel[CLOCK_OVERRIDE] = NaN;
    knownSetTimeout = setTimeout;
  }
  if (setTimeout !== realSetTimeout) {
    const fake = fakeNow();
    // Put back to before the first look, it goes on from 0: the core knows no time before that.
    fakeOffset = Math.max(fakeOffset, -fake);
    channel[CLOCK_OVERRIDE] = fake + fakeOffset;
  }
}

/**
 * Sets the timer, after a call, for the wheel's next deadline, or for the next look at the clock that tells of
 * pauses while latency is measured.
 *
 * @param {() => void} afterCall
 */
function setTimer(afterCall) {
  if (channel[WAKE] < armedFor || (channel[ARMED] !== 0) !== keepsAlive) changeTimer(afterCall);
}

/** @param {() => void} afterCall */
function changeTimer(afterCall) {
  if (isDeciding) return;
  const wake = channel[WAKE];
  if (wake < armedFor) {
    armedFor = wake;
    if (timer !== undefined) realClearTimeout(timer);
    const delay = Math.min(Math.max(Math.ceil(wake - channel[CLOCK]), 1), MAX_DELAY_MS);
    timer = outsideOfRequests.runInAsyncScope(realSetTimeout, undefined, onTimer, delay, afterCall);
    keepsAlive = true;
  }
  const pending = channel[ARMED] !== 0;
  if (pending === keepsAlive || timer === undefined) return;
  if (pending) {
    keepsAlive = true;
    timer.ref();
  } else if (!letsGoSoon) {
    letsGoSoon = true;
    nextTick(letGo);
  }
}

/** When all that runs now has run: most deadlines are armed and disarmed by turns. */
function letGo() {
  letsGoSoon = false;
  if (channel[ARMED] !== 0 || timer === undefined) return;
  keepsAlive = false;
  timer.unref();
}

/** @param {() => void} afterCall */
function onTimer(afterCall) {
  if (channel[CLOSED] !== 0) return;
  timer = undefined;
  armedFor = Infinity;
  keepsAlive = false;
  // Only that: what becomes due while the sockets are read has a poll of its own to wait for.
  const due = onRealClock(hot.due);
  report(due);
  if (due === 0) {
    afterCall();
  } else {
    isDeciding = true;
    afterPoll(decide, afterCall);
  }
}

/** @param {() => void} afterCall */
function decide(afterCall) {
  isDeciding = false;
  if (channel[CLOSED] !== 0) return;
  report(onRealClock(hot.tick));
  afterCall();
}

/** @param {() => number} call */
function onRealClock(call) {
  const last = channel[CLOCK_OVERRIDE];
  channel[CLOCK_OVERRIDE] = NaN;
  const answer = call();
  channel[CLOCK_OVERRIDE] = last;
  return answer;
}

/**
 * Gives a deadline of the core a timer of the test tool.
 *
 * @param {number} key
 * @param {number} delayMs
 * @param {() => void} afterCall
 */
function armFake(key, delayMs, afterCall) {
  const slice = Math.min(delayMs, MAX_DELAY_MS);
  const armedAt = fakeNow();
  const id = globalThis.setTimeout(() => {
    fakeTimers.delete(key);
    // A tool may run a timer late, when its clock has gone past it.
    const remaining = delayMs - Math.max(slice, fakeNow() - armedAt);
    if (remaining > 0) {
      armFake(key, remaining, afterCall);
      return;
    }
    setClock();
    report(hot.expire(key));
    afterCall();
  }, slice);
  fakeTimers.set(key, { clear: globalThis.clearTimeout, id });
}

/** @param {number} key */
function disarmFake(key) {
  const fake = fakeTimers.get(key);
  if (fake === undefined) return;
  fakeTimers.delete(key);
  const { clear, id } = fake;
  clear(id);
}

module.exports = { armFake, disarmFake, now, outsideOfRequests, setClock, setTimer };
