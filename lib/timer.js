'use strict';

// One timer per thread wakes the native timer wheel. It keeps the process alive only while a deadline is armed.
//
// Where a test tool has replaced `setTimeout`, deadlines armed meanwhile get a timer of that tool each: some
// tools replace timers but no clock, so only the fired timer itself can say that its time has come.

const { AsyncLocalStorage } = require('node:async_hooks');

const { CLOCK, CLOCK_OVERRIDE, WAKE, channel, hot } = require('./native.js');

const MAX_DELAY_MS = 2 ** 31 - 1;

const realSetTimeout = globalThis.setTimeout;
const realPerformanceNow = globalThis.performance.now;
const realDateNow = Date.now;

// A timer made inside a request would keep that request's stores alive.
const outsideOfRequests = AsyncLocalStorage.snapshot();

/** @type {NodeJS.Timeout | undefined} */
let timer;
/** The wheel's millisecond that the timer is set for. */
let armedFor = Infinity;
let keepsAlive = false;

/** Timers of a test tool by native key. @type {Map<number, { clear: typeof clearTimeout, id: any }>} */
const fakeTimers = new Map();

/** Milliseconds on whatever clock the test tool has replaced, or else on the real one. */
function fakeNow() {
  if (globalThis.performance.now !== realPerformanceNow) return globalThis.performance.now();
  if (Date.now !== realDateNow) return Date.now();
  return realPerformanceNow.call(globalThis.performance);
}

/** Tells the core, before a call, which clock counts. */
function setClock() {
  if (globalThis.setTimeout !== realSetTimeout) channel[CLOCK_OVERRIDE] = fakeNow();
  else if (channel[CLOCK_OVERRIDE] === channel[CLOCK_OVERRIDE]) channel[CLOCK_OVERRIDE] = NaN;
}

/**
 * Sets the timer, after a call, for the wheel's next deadline.
 *
 * @param {() => void} afterCall
 */
function setTimer(afterCall) {
  const wake = channel[WAKE];
  if (wake < armedFor) {
    armedFor = wake;
    if (timer !== undefined) clearTimeout(timer);
    const delay = Math.min(Math.max(Math.ceil(wake - channel[CLOCK]), 1), MAX_DELAY_MS);
    timer = outsideOfRequests(() => realSetTimeout(onTimer, delay, afterCall));
    keepsAlive = true;
  }
  const pending = wake !== Infinity;
  if (pending !== keepsAlive && timer !== undefined) {
    keepsAlive = pending;
    if (pending) timer.ref();
    else timer.unref();
  }
}

/** @param {() => void} afterCall */
function onTimer(afterCall) {
  timer = undefined;
  armedFor = Infinity;
  keepsAlive = false;
  channel[CLOCK_OVERRIDE] = NaN;
  hot.tick();
  afterCall();
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
  const id = globalThis.setTimeout(() => {
    fakeTimers.delete(key);
    if (slice < delayMs) {
      armFake(key, delayMs - slice, afterCall);
      return;
    }
    setClock();
    hot.expire(key);
    afterCall();
  }, slice);
  fakeTimers.set(key, { clear: globalThis.clearTimeout, id });
}

/** @param {number} key */
function disarmFake(key) {
  const fake = fakeTimers.get(key);
  if (fake === undefined) return;
  fakeTimers.delete(key);
  fake.clear(fake.id);
}

module.exports = { armFake, disarmFake, setClock, setTimer };
