// When refused clients come back: by how fast the queue drains, and not all at once.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import test from 'node:test';
import { forEachAdapter, allAdapters } from './support/http-adapters.mjs';
import { nativeHeldRoute } from './support/http-native-route.mjs';
import { serve, until } from './support/http-server.mjs';

const { DrainTime, spread } = createRequire(import.meta.url)('../lib/http/drain-time.js');

/** A drain time under the test's clock. */
function drainTime(t) {
  const clock = { now: 1000 };
  t.mock.method(performance, 'now', () => clock.now);
  const drain = new DrainTime();
  const ends = (count, everyMs) => {
    for (let index = 0; index < count; index++) {
      clock.now += everyMs;
      drain.ended();
    }
  };
  return { clock, drain, ends };
}

test('nothing is known before a request has ended', (t) => {
  const { clock, drain } = drainTime(t);
  assert.equal(drain.seconds(10), 0);
  clock.now += 5000;
  assert.equal(drain.seconds(10), 0);
});

test('it converges to the time between two ends, times the queue', (t) => {
  const { drain, ends } = drainTime(t);
  ends(200, 100);
  assert.ok(Math.abs(drain.seconds(0) - 0.1) < 1e-6, `${drain.seconds(0)}`);
  assert.ok(Math.abs(drain.seconds(49) - 5) < 1e-4);
  ends(200, 400);
  assert.ok(Math.abs(drain.seconds(9) - 4) < 1e-4);
});

test('while none ends, the time since the last one counts', (t) => {
  const { clock, drain, ends } = drainTime(t);
  ends(100, 10);
  clock.now += 3000;
  assert.equal(drain.seconds(1), 6);
  drain.ended();
  // One long interval among many short ones.
  assert.ok(drain.seconds(0) > 0.3 && drain.seconds(0) < 0.32, `${drain.seconds(0)}`);
});

for (const [seconds, least, most] of [
  [0, 1, 3],
  [0.2, 1, 3],
  [1, 1, 3],
  [1.1, 2, 4],
  [3, 3, 5],
  [10, 10, 19],
  [60, 60, 119],
  [1e6, 60, 119],
  [Infinity, 60, 119],
]) {
  test(`${seconds} s are spread over ${least} to ${most}`, (t) => {
    const { mock } = t.mock.method(Math, 'random', () => 0);
    assert.equal(spread(seconds), least);
    mock.mockImplementation(() => 1 - Number.EPSILON);
    assert.equal(spread(seconds), most);
    mock.mockImplementation(() => 0.5);
    const middle = spread(seconds);
    assert.ok(Number.isInteger(middle) && middle >= least && middle <= most);
  });
}

forEachAdapter((adapter) => {
  test('twenty clients that are refused together do not return together', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { send } = await serve(t, adapter, { options: { concurrency: { permitLimit: 1 } }, answers });
    const first = send('/work');
    await until(() => held.length === 1);
    // Evenly random: what is tested is that each client's answer has its own.
    let draw = 0;
    t.mock.method(Math, 'random', () => (draw++ % 20) / 20);
    const refused = await Promise.all(Array.from({ length: 20 }, () => send('/work').response));
    t.mock.restoreAll();
    const counts = {};
    for (const { status, headers } of refused) {
      assert.equal(status, 503);
      counts[headers['retry-after']] = (counts[headers['retry-after']] ?? 0) + 1;
    }
    assert.deepEqual(Object.keys(counts), ['1', '2', '3']);
    for (const count of Object.values(counts)) assert.ok(count >= 5, JSON.stringify(counts));
    held[0].answer({ text: 'first' });
    assert.equal((await first.response).status, 200);
  });
}, allAdapters);
