import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { hold, rejection, simulate, turn } from './support/hold.mjs';

function adaptive(options) {
  const pipeline = new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter(options).build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  return { pipeline, limiter, state: () => [limiter.limit, limiter.inflight, limiter.queued] };
}

/** An algorithm that answers what the test says, and keeps what it was shown. */
function scripted(...answers) {
  const samples = [];
  const onSample = (sample) => {
    samples.push(sample);
    return answers.length > 0 ? answers.shift() : sample.limit;
  };
  return { samples, algorithm: { onSample } };
}

test('the limit starts at 20, within the bounds', () => {
  assert.equal(adaptive().limiter.limit, 20);
  assert.equal(adaptive({ maxLimit: 7 }).limiter.limit, 7);
  assert.equal(adaptive({ minLimit: 30 }).limiter.limit, 30);
  assert.equal(adaptive({ minLimit: 2000 }).limiter.limit, 2000);
  assert.equal(adaptive({ initialLimit: 1000 }).limiter.limit, 1000);
  assert.equal(adaptive({ initialLimit: 1 }).limiter.limit, 1);
});

test('admission is that of the fixed limiter: run, wait in one FIFO queue, reject', async () => {
  const { pipeline, state } = adaptive({ initialLimit: 2, queueLimit: 2, algorithm: scripted().algorithm });
  const held = Array.from({ length: 5 }, () => hold(pipeline));
  assert.deepEqual(state(), [2, 2, 2]);
  const error = await rejection(held[4].promise);
  assert.deepEqual(
    [
      error.code,
      error.statusCode,
      error.reason,
      error.active,
      error.queued,
      error.strategyName,
      error.retryAfter,
    ],
    ['BULKHEAD_FULL', 503, 'full', 2, 2, 'AdaptiveConcurrencyLimiter', undefined],
  );
  held[0].finish();
  await held[0].promise;
  await turn();
  assert.deepEqual(
    held.map(({ running }) => running),
    [true, true, true, false, false],
  );
  for (const { finish } of held) finish();
  await Promise.all(held.slice(0, 4).map(({ promise }) => promise));
  assert.deepEqual(state(), [2, 0, 0]);
});

test('a waiter is rejected after queueTimeout', async (t) => {
  simulate(t);
  const { pipeline, state } = adaptive({ initialLimit: 1, queueLimit: 1, queueTimeout: '300ms' });
  const running = hold(pipeline);
  const waiting = hold(pipeline);
  t.mock.timers.tick(299);
  assert.deepEqual(state(), [1, 1, 1]);
  t.mock.timers.tick(1);
  assert.equal((await rejection(waiting.promise)).reason, 'queue-timeout');
  running.finish();
  await running.promise;
});

test("a sample has the call's latency, start and end, what was in flight with it, and the limit", async (t) => {
  simulate(t);
  const { samples, algorithm } = scripted(20.5);
  const { pipeline } = adaptive({ algorithm, queueLimit: 5 });
  const first = hold(pipeline);
  t.mock.timers.tick(10);
  const second = hold(pipeline);
  t.mock.timers.tick(30);
  first.finish();
  await first.promise;
  t.mock.timers.tick(5);
  second.finish();
  await second.promise;
  // The simulated clock is exact but for a nanosecond.
  const origin = samples[0].startedAt;
  const rounded = samples.map((sample) => ({
    ...sample,
    rtt: Math.round(sample.rtt),
    now: Math.round(sample.now - origin),
    startedAt: Math.round(sample.startedAt - origin),
  }));
  assert.deepEqual(rounded, [
    { rtt: 40, inflight: 2, dropped: false, limit: 20, now: 40, startedAt: 0 },
    { rtt: 35, inflight: 1, dropped: false, limit: 20, now: 45, startedAt: 10 },
  ]);
});

test('latency and start are those from the permit on, without the time in the queue', async (t) => {
  simulate(t);
  const { samples, algorithm } = scripted();
  const { pipeline } = adaptive({ algorithm, initialLimit: 1, queueLimit: 1 });
  const running = hold(pipeline);
  const waiting = hold(pipeline);
  t.mock.timers.tick(100);
  running.finish();
  await running.promise;
  await turn();
  t.mock.timers.tick(7);
  waiting.finish();
  await waiting.promise;
  assert.deepEqual(
    samples.map(({ rtt }) => Math.round(rtt)),
    [100, 7],
  );
  assert.equal(samples[1].startedAt, samples[0].now);
});

test('a real latency has a fraction of a millisecond and is never too short', async () => {
  const { samples, algorithm } = scripted();
  const { pipeline } = adaptive({ algorithm });
  for (let call = 0; call < 20; call += 1) await pipeline.execute(() => call);
  await pipeline.execute(() => new Promise((resolve) => setTimeout(resolve, 10)));
  const [last] = samples.splice(20);
  assert.ok(last.rtt > 9, `${last.rtt}`);
  assert.ok(samples.every(({ rtt }) => rtt >= 0));
  assert.ok(samples.some(({ rtt }) => !Number.isInteger(rtt)));
});

test('the limit is fractional for the algorithm, whole for everyone else', async () => {
  const { samples, algorithm } = scripted(10.9, 11.2);
  const changes = [];
  const { pipeline, limiter } = adaptive({
    algorithm,
    initialLimit: 10,
    onLimitChanged: (args) => changes.push(args),
  });
  const run = async () => {
    const held = Array.from({ length: 10 }, () => hold(pipeline));
    held[0].finish();
    await held[0].promise;
    return held;
  };
  const first = await run();
  assert.equal(limiter.limit, 10);
  assert.deepEqual(changes, []);
  first[1].finish();
  await first[1].promise;
  assert.equal(limiter.limit, 11);
  assert.equal(samples[1].limit, 10.9);
  assert.deepEqual(changes, [{ oldLimit: 10, newLimit: 11, sample: samples[1] }]);
  for (const { finish } of first) finish();
});

test('a raised limit admits waiters at once, in order', async () => {
  const { algorithm } = scripted(3);
  const { pipeline, state } = adaptive({ algorithm, initialLimit: 1, queueLimit: 5 });
  const held = Array.from({ length: 6 }, () => hold(pipeline));
  held[0].finish();
  await held[0].promise;
  await turn();
  assert.deepEqual(state(), [3, 3, 2]);
  assert.deepEqual(
    held.map(({ running }) => running),
    [true, true, true, true, false, false],
  );
  for (const { finish } of held) finish();
});

test('a lowered limit interrupts nobody, admits nobody for now, and keeps the queue', async () => {
  const { algorithm } = scripted(2);
  const { pipeline, state } = adaptive({ algorithm, initialLimit: 4, queueLimit: 1 });
  const held = Array.from({ length: 4 }, () => hold(pipeline));
  held[0].finish();
  await held[0].promise;
  const waiting = hold(pipeline);
  assert.deepEqual(state(), [2, 3, 1]);
  held[1].finish();
  await held[1].promise;
  await turn();
  assert.deepEqual(state(), [2, 2, 1]);
  assert.equal(waiting.running, false);
  held[2].finish();
  await held[2].promise;
  await turn();
  assert.deepEqual(state(), [2, 2, 0]);
  assert.equal(waiting.running, true);
  assert.equal(held[3].context.signal.aborted, false);
  held[3].finish();
  waiting.finish();
});

test('an answer is clamped to the bounds', async () => {
  for (const [answer, limit] of [
    [1e9, 30],
    [Number.MAX_VALUE, 30],
    [-1e9, 5],
    [0, 5],
    [5.4, 5],
    [29.9, 29],
  ]) {
    const { algorithm } = scripted(answer);
    const { pipeline, limiter } = adaptive({ algorithm, initialLimit: 10, minLimit: 5, maxLimit: 30 });
    const held = Array.from({ length: 10 }, () => hold(pipeline));
    held[0].finish();
    await held[0].promise;
    assert.equal(limiter.limit, limit);
    for (const { finish } of held) finish();
  }
});

test('an answer that is no finite number is ignored', async () => {
  for (const answer of [NaN, Infinity, -Infinity, undefined, null, '30', 30n, {}, Symbol('x')]) {
    const { algorithm, samples } = scripted(answer);
    const { pipeline, state } = adaptive({ algorithm, initialLimit: 2 });
    const held = [hold(pipeline), hold(pipeline)];
    held[0].finish();
    await held[0].promise;
    assert.equal(samples.length, 1);
    assert.deepEqual(state(), [2, 1, 0]);
    held[1].finish();
  }
});

test('without half of the limit in use it does not grow', async () => {
  const { pipeline, limiter } = adaptive({
    algorithm: { onSample: ({ limit }) => limit + 1 },
    initialLimit: 10,
  });
  for (const [inflight, limit] of [
    [1, 10],
    [4, 10],
    [5, 11],
    [5, 11],
    [6, 12],
  ]) {
    const held = Array.from({ length: inflight }, () => hold(pipeline));
    held[0].finish();
    await held[0].promise;
    assert.equal(limiter.limit, limit, `with ${inflight} in flight`);
    for (const { fail } of held.slice(1)) fail(new Error('no sample'));
    await Promise.allSettled(held.map(({ promise }) => promise));
  }
});

test('ten thousand idle calls do not raise the limit for a later burst', async () => {
  const { pipeline, limiter } = adaptive({ algorithm: 'aimd' });
  for (let index = 0; index < 10_000; index += 1) await pipeline.execute(() => index);
  assert.equal(limiter.limit, 20);
});

test('a call admitted before the last cut cannot cut again, but is a sample', async (t) => {
  simulate(t);
  const samples = [];
  const algorithm = {
    onSample: (sample) => {
      samples.push(sample);
      return sample.dropped ? sample.limit / 2 : sample.limit;
    },
  };
  const { pipeline, limiter } = adaptive({
    algorithm,
    initialLimit: 16,
    shouldDrop: ({ outcome }) => !outcome.ok,
  });
  const before = Array.from({ length: 8 }, () => hold(pipeline));
  t.mock.timers.tick(10);
  for (const { fail } of before.slice(1)) fail(new Error('overload'));
  await Promise.allSettled(before.slice(1).map(({ promise }) => promise));
  assert.equal(limiter.limit, 8);
  t.mock.timers.tick(1);
  const after = hold(pipeline);
  before[0].fail(new Error('overload'));
  await rejection(before[0].promise);
  assert.equal(limiter.limit, 8);
  after.fail(new Error('overload'));
  await rejection(after.promise);
  assert.equal(limiter.limit, 4);
  assert.equal(samples.length, 9);
});

test('a cut by latency protects like a cut by drops', async (t) => {
  simulate(t);
  const { algorithm } = scripted(10, 5, 2);
  const { pipeline, limiter } = adaptive({ algorithm, initialLimit: 20 });
  const held = [hold(pipeline), hold(pipeline)];
  t.mock.timers.tick(10);
  for (const { finish } of held) finish();
  await Promise.all(held.map(({ promise }) => promise));
  assert.equal(limiter.limit, 10);
  t.mock.timers.tick(1);
  await pipeline.execute(() => 1);
  assert.equal(limiter.limit, 2);
});
