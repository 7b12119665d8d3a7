import assert from 'node:assert/strict';
import { deferred } from './deferred.mjs';
import { turn } from './hold.mjs';

/**
 * A callback that runs until the test ends it, anew for each attempt.
 *
 * @returns {any} The callback; `callback.attempts` are those under way or over, each with its `context` and
 *   the ends of its promise.
 */
export function attempted() {
  const attempts = [];
  const callback = (context) => {
    const { promise, resolve, reject } = deferred();
    attempts.push({ context, finish: resolve, fail: reject });
    return promise;
  };
  return Object.assign(callback, { attempts });
}

/** A callback that throws or returns one step after the other, the last one for ever. */
export function scripted(...steps) {
  const callback = () => {
    const step = steps[Math.min(callback.calls, steps.length - 1)];
    callback.calls += 1;
    if (step instanceof Error) throw step;
    return step;
  };
  callback.calls = 0;
  return callback;
}

/** Lets everything happen that is due, then simulated time pass, and what comes of that happen. */
export async function advance(t, ms) {
  await turn();
  t.mock.timers.tick(ms);
  await turn();
}

/** That an attempt was told to stop because another was faster. */
export function assertLost({ context: { signal } }) {
  assert.equal(signal.aborted, true);
  assert.ok(signal.reason instanceof DOMException);
  assert.deepEqual([signal.reason.name, signal.reason.message], ['AbortError', 'another attempt was faster']);
}
