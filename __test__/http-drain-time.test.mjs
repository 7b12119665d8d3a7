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
  /** One after another, each of which takes that long. */
  const serve = (count, heldMs) => {
    for (let index = 0; index < count; index++) {
      const startedAt = drain.started();
      clock.now += heldMs;
      drain.ended(startedAt);
    }
  };
  return { clock, drain, serve };
}

/** Up to a part in a million. */
const assertNear = (actual, expected) =>
  assert.ok(Math.abs(actual - expected) <= expected / 1e6, `${actual} is not ${expected}`);

test('nothing is known before a request has ended', (t) => {
  const { clock, drain } = drainTime(t);
  assert.equal(drain.seconds(10, 1), 0);
  drain.started();
  clock.now += 5000;
  assert.equal(drain.seconds(10, 1), 0);
});

test('it is the time for which a request holds its permit, times the queue, shared among the permits', (t) => {
  const { drain, serve } = drainTime(t);
  serve(1, 100);
  assertNear(drain.seconds(0, 1), 0.1);
  assertNear(drain.seconds(49, 1), 5);
  assertNear(drain.seconds(49, 10), 0.5);
  serve(200, 400);
  assertNear(drain.seconds(9, 1), 4);
});

test('time in which no request runs is not slowness', (t) => {
  const { clock, drain, serve } = drainTime(t);
  serve(100, 10);
  clock.now += 3_600_000;
  assertNear(drain.seconds(99, 10), 0.1);
  // A burst fills the permits, and the first of it ends.
  const startedAt = Array.from({ length: 10 }, () => drain.started());
  assertNear(drain.seconds(99, 10), 0.1);
  clock.now += 10;
  assertNear(drain.seconds(99, 10), 0.1);
  for (const each of startedAt) drain.ended(each);
  assertNear(drain.seconds(99, 10), 0.1);
});

test('requests that come one by one in a quiet time tell how fast many at once would be', (t) => {
  const { clock, drain, serve } = drainTime(t);
  for (let index = 0; index < 50; index++) {
    serve(1, 20);
    clock.now += 60_000;
  }
  assertNear(drain.seconds(19, 5), 0.08);
});

test('a stream that is open through a quiet time is not slowness of the others', (t) => {
  const { clock, drain, serve } = drainTime(t);
  serve(100, 10);
  const stream = drain.started();
  clock.now += 3_600_000;
  serve(4, 10);
  assertNear(drain.seconds(9, 5), 0.02);
  // Nor do hours of it count as such, once it has ended.
  drain.ended(stream);
  serve(50, 10);
  assert.ok(drain.seconds(9, 5) < 0.1, `${drain.seconds(9, 5)}`);
});

test('while some run and none ends, the time since the last change counts', (t) => {
  const { clock, drain, serve } = drainTime(t);
  serve(100, 10);
  const hanging = drain.started();
  clock.now += 3000;
  assertNear(drain.seconds(1, 1), 6);
  drain.ended(hanging);
  // One long request among many short ones.
  assertNear(drain.seconds(0, 1), 0.309);
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

forEachAdapter((adapter) => {
  test('a burst after a quiet time is told to come back as in a busy one', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const options = { concurrency: { permitLimit: 1, queueLimit: 9 } };
    const { send, limiter } = await serve(t, adapter, { options, answers });
    const clock = performance.now.bind(performance);
    let quietMs = 0;
    t.mock.method(performance, 'now', () => clock() + quietMs);
    // Its least, without the spread.
    t.mock.method(Math, 'random', () => 0);
    for (let index = 0; index < 3; index++) {
      const { response } = send('/work');
      await until(() => held.length === index + 1);
      held[index].answer({ text: 'served' });
      assert.equal((await response).status, 200);
    }
    for (let burst = 0; burst < 2; burst++) {
      quietMs += 3_600_000;
      const already = held.length;
      const sent = Array.from({ length: 10 }, () => send('/work').response);
      await until(() => held.length === already + 1 && limiter.queued === 9);
      const { status, headers } = await send('/work').response;
      assert.equal(status, 503);
      // Ten of them at the speed of this machine.
      assert.ok(Number(headers['retry-after']) <= 5, headers['retry-after']);
      for (let index = 0; index < 10; index++) {
        await until(() => held.length > already + index);
        held[already + index].answer({ text: 'served' });
      }
      for (const response of sent) assert.equal((await response).status, 200);
    }
  });
}, allAdapters);
