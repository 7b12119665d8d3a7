import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { boom } from './support/circuit.mjs';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';
import { listen } from './support/listen.mjs';

const key = ({ properties }) => properties.get('key');

/** A pipeline of nothing but a rate limiter, and a way to note when executions start. */
function queued(options, add = (builder) => builder.addRateLimiter(options)) {
  const pipeline = add(new ResiliencePipelineBuilder()).build();
  const limiter = pipeline.getStrategy('RateLimiter');
  const started = [];
  const start = (name, of, signal) => {
    const promise = pipeline.execute(() => void started.push([name, Date.now()]), {
      signal,
      properties: [['key', of]],
    });
    promise.catch(() => {});
    return promise;
  };
  return { pipeline, limiter, started, start };
}

/** Simulated time passes, in steps of a millisecond, with all that comes of each. */
async function pass(t, ms) {
  for (let step = 0; step < ms; step += 1) {
    t.mock.timers.tick(1);
    await turn();
  }
}

for (const [algorithm, expected] of Object.entries({
  // Three at once, and whoever waits comes in with the next window.
  'fixed-window': [0, 0, 0, 30, 30, 30, 60],
  'sliding-window': [0, 0, 0, 30, 30, 30, 60],
  'token-bucket': [0, 0, 0, 10, 20, 30, 40],
})) {
  test(`${algorithm}: waiters start in their order, each when its permit is due`, async (t) => {
    simulate(t);
    const { limiter, started, start } = queued({ permitLimit: 3, window: 30, algorithm, queueLimit: 4 });
    const promises = expected.map((_, name) => start(name));
    assert.deepEqual([limiter.queued, limiter.available], [4, 0]);
    assert.equal((await rejection(start('refused'))).reason, 'full');
    await pass(t, 60);
    await Promise.all(promises);
    assert.deepEqual(
      started,
      expected.map((at, name) => [name, at]),
    );
    assert.equal(limiter.queued, 0);
    assertIdle();
  });

  test(`${algorithm}: a tick over many windows lets in no more than the rule allows`, async (t) => {
    simulate(t);
    const { limiter, started, start } = queued({ permitLimit: 2, window: 100, algorithm, queueLimit: 100 });
    for (let name = 0; name < 20; name += 1) start(name);
    t.mock.timers.tick(350);
    await turn();
    assert.ok(started.length >= 4 && started.length <= 2 + 7, `${started.length} have started`);
    assert.deepEqual(
      started.map(([name]) => name),
      started.map((_, index) => index),
    );
    await pass(t, 1000);
    assert.equal(started.length, 20);
    assert.equal(limiter.queued, 0);
    assertIdle();
  });
}

test('a newcomer does not overtake a waiter, though a permit is due', async (t) => {
  simulate(t);
  const { limiter, started, start } = queued({ permitLimit: 1, window: 100, queueLimit: 5 });
  await start('first');
  const waiter = start('waiter');
  // The clock has gone past the end of the window, and no timer has fired yet.
  t.mock.timers.setTime(150);
  const newcomer = start('newcomer');
  await turn();
  assert.deepEqual(started.slice(1, 3), limiter.queued === 2 ? [] : [['waiter', 150]]);
  await pass(t, 200);
  await Promise.all([waiter, newcomer]);
  assert.deepEqual(
    started.map(([name]) => name),
    ['first', 'waiter', 'newcomer'],
  );
  assert.ok(started[2][1] - started[1][1] >= 100);
});

test('queues are apart: each key has its own order, its own places and its own time', async (t) => {
  simulate(t);
  const { limiter, started, start } = queued({ permitLimit: 1, window: 50, queueLimit: 2, key });
  start('a1', 'a');
  start('a2', 'a');
  start('a3', 'a');
  await pass(t, 20);
  start('b1', 'b');
  start('b2', 'b');
  assert.equal(limiter.queued, 3);
  assert.equal((await rejection(start('a4', 'a'))).retryAfter, 30);
  start('b3', 'b');
  assert.equal((await rejection(start('b4', 'b'))).retryAfter, 50);
  await pass(t, 120);
  assert.deepEqual(started, [
    ['a1', 0],
    ['b1', 20],
    ['a2', 50],
    ['b2', 70],
    ['a3', 100],
    ['b3', 120],
  ]);
  assert.equal(limiter.queued, 0);
  assertIdle();
});

test('a waiter whose caller aborts rejects in the same turn, and the next one moves up', async (t) => {
  simulate(t);
  const { limiter, started, start } = queued({ permitLimit: 1, window: 100, queueLimit: 3 });
  const controllers = Array.from({ length: 3 }, () => new AbortController());
  await start('first');
  const waiting = controllers.map(({ signal }, index) => start(index, undefined, signal));
  controllers[0].abort('gone');
  assert.equal(limiter.queued, 2);
  assert.equal(await rejection(waiting[0]), 'gone');
  controllers[2].abort('gone too');
  assert.equal(await rejection(waiting[2]), 'gone too');
  await pass(t, 100);
  await waiting[1];
  assert.deepEqual(started, [
    ['first', 0],
    [1, 100],
  ]);
  assert.equal(limiter.queued, 0);
  assertIdle();
});

test('the last waiter that goes leaves no timer', async (t) => {
  simulate(t);
  const { limiter, start } = queued({ permitLimit: 1, window: '1h', queueLimit: 2 });
  const controller = new AbortController();
  await start('first');
  const waiting = [1, 2].map((name) => start(name, undefined, controller.signal));
  controller.abort();
  await Promise.allSettled(waiting);
  assert.equal(limiter.queued, 0);
  assertIdle();
});

test('a waiter aborted between admission and start does not run; its permit is spent', async (t) => {
  simulate(t);
  const { pipeline, limiter } = queued({ permitLimit: 1, window: 100, queueLimit: 2 });
  await pipeline.execute(() => 1);
  const controller = new AbortController();
  const waiter = hold(pipeline, { signal: controller.signal });
  t.mock.timers.tick(100);
  controller.abort('late');
  assert.equal(await rejection(waiter.promise), 'late');
  assert.equal(waiter.running, false);
  assert.deepEqual([limiter.queued, limiter.available], [0, 0]);
  assertIdle();
});

test('dispose rejects every waiter of every key with a typed error, and those that run go on', async (t) => {
  simulate(t);
  const told = [];
  const { builder, events } = listen();
  const pipeline = builder
    .addRateLimiter({
      permitLimit: 1,
      window: '1h',
      queueLimit: 5,
      key,
      onRejected: (args) => void told.push(args),
    })
    .build();
  const limiter = pipeline.getStrategy('RateLimiter');
  const of = (name) => ({ properties: [['key', name]], operationKey: name });
  const running = hold(pipeline, of('a'));
  await pipeline.execute(() => 1, of('b'));
  const waiting = ['a', 'a', 'b', 'a'].map((name) => hold(pipeline, of(name)));
  assert.equal(limiter.queued, 4);
  pipeline.dispose();
  assert.equal(limiter.queued, 0);
  for (const { promise, running: ran } of waiting) {
    const { name, code, reason, statusCode, retryAfter } = await rejection(promise);
    assert.deepEqual(
      [name, code, reason, statusCode, retryAfter, ran],
      ['RateLimiterRejectedError', 'RATE_LIMITED', 'disposed', 429, undefined, false],
    );
  }
  assert.deepEqual(
    told.map(({ reason, retryAfter }) => [reason, retryAfter]),
    Array(4).fill(['disposed', undefined]),
  );
  const rejected = events.filter(({ name }) => name === 'OnRateLimiterRejected');
  assert.deepEqual(rejected.map(({ operationKey }) => operationKey).sort(), ['a', 'a', 'a', 'b']);
  running.finish('done');
  assert.equal(await running.promise, 'done');
  assert.equal((await rejection(pipeline.execute(() => 1))).code, 'PIPELINE_DISPOSED');
  assertIdle();
});

test('a timeout outside ends the wait: the place is free, no permit is taken', async (t) => {
  simulate(t);
  const { limiter, started, start } = queued(undefined, (builder) =>
    builder.addTimeout(40).addRateLimiter({ permitLimit: 1, window: 100, queueLimit: 2 }),
  );
  await start('first');
  const late = [start('late'), start('late too')];
  assert.equal((await rejection(start('refused'))).code, 'RATE_LIMITED');
  await pass(t, 40);
  for (const promise of late) assert.equal((await rejection(promise)).code, 'TIMEOUT');
  assert.equal(limiter.queued, 0);
  await pass(t, 25);
  const inTime = start('in time');
  await pass(t, 35);
  await inTime;
  assert.deepEqual(started, [
    ['first', 0],
    ['in time', 100],
  ]);
  assertIdle();
});

test('a timeout inside begins when the permit is there', async (t) => {
  simulate(t);
  const { pipeline } = queued(undefined, (builder) =>
    builder.addRateLimiter({ permitLimit: 1, window: 100, queueLimit: 2 }).addTimeout(40),
  );
  await pipeline.execute(() => 1);
  const waiter = hold(pipeline);
  await pass(t, 139);
  assert.deepEqual([waiter.running, waiter.context.signal.aborted], [true, false]);
  await pass(t, 1);
  assert.equal((await rejection(waiter.promise)).code, 'TIMEOUT');
  assertIdle();
});

test('a permit due at the very instant of the deadline: one of both, and nothing is lost', async (t) => {
  simulate(t);
  const { limiter, start } = queued(undefined, (builder) =>
    builder.addTimeout(100).addRateLimiter({ permitLimit: 1, window: 100, queueLimit: 2 }),
  );
  for (let round = 0; round < 50; round += 1) {
    await start('first');
    const [outcome] = await Promise.all([Promise.allSettled([start('waiter')]), pass(t, 100)]);
    assert.ok(outcome[0].status === 'fulfilled' || outcome[0].reason.code === 'TIMEOUT');
    await pass(t, 100);
    assert.deepEqual([limiter.queued, limiter.available], [0, 1]);
    assertIdle();
  }
});

test('behind a concurrency limiter the wait holds its permit, before one it does not', async (t) => {
  simulate(t);
  const rate = { permitLimit: 1, window: 100, queueLimit: 2 };
  const inside = new ResiliencePipelineBuilder().addConcurrencyLimiter(2).addRateLimiter(rate).build();
  const outside = new ResiliencePipelineBuilder().addRateLimiter(rate).addConcurrencyLimiter(2).build();
  for (const [pipeline, expected] of [
    [inside, 1],
    [outside, 0],
  ]) {
    await pipeline.execute(() => 1);
    const waiter = pipeline.execute(() => 'ran');
    assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, expected);
    t.mock.timers.tick(100);
    assert.equal(await waiter, 'ran');
    assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
    t.mock.timers.tick(100);
  }
});

test('a waiter let in and refused further in rejects with that; the next is not held up', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder()
    .addRateLimiter({ permitLimit: 1, window: 100, queueLimit: 5 })
    .addConcurrencyLimiter(1)
    .build();
  const running = hold(pipeline);
  const [refused, next] = [hold(pipeline), hold(pipeline)];
  await pass(t, 100);
  assert.equal((await rejection(refused.promise)).code, 'BULKHEAD_FULL');
  running.finish();
  await running.promise;
  await pass(t, 100);
  assert.equal(next.running, true);
  next.finish();
  await next.promise;
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('a waiter whose callback throws costs the next nothing', async (t) => {
  simulate(t);
  const { pipeline } = queued({ permitLimit: 1, window: 100, queueLimit: 5 });
  await pipeline.execute(() => 1);
  const fails = pipeline.execute(() => {
    throw boom;
  });
  fails.catch(() => {});
  const next = pipeline.execute(() => 'next');
  await pass(t, 200);
  assert.equal(await rejection(fails), boom);
  assert.equal(await next, 'next');
});

test('a callback of a waiter may queue again', async (t) => {
  simulate(t);
  const { pipeline } = queued({ permitLimit: 1, window: 10, queueLimit: 5 });
  let left = 5;
  const again = () => (left-- > 0 ? pipeline.execute(again) : Date.now());
  const promise = pipeline.execute(again);
  await pass(t, 50);
  assert.equal(await promise, 50);
  assertIdle();
});

test('each of 20 waiters of a key sees its own AsyncLocalStorage store', async (t) => {
  simulate(t);
  const user = new AsyncLocalStorage();
  for (const context of ['ambient', 'explicit']) {
    const pipeline = new ResiliencePipelineBuilder({ context })
      .addRateLimiter({ permitLimit: 3, window: 10, queueLimit: 20 })
      .build();
    const calls = Array.from({ length: 20 }, (_, id) =>
      user.run(id, () =>
        pipeline.execute(async () => {
          const before = user.getStore();
          await null;
          return [before, user.getStore()];
        }),
      ),
    );
    await user.run('the timer', () => pass(t, 70));
    assert.deepEqual(
      await Promise.all(calls),
      calls.map((_, id) => [id, id]),
    );
  }
});

test('onRejected of a waiter runs in the store of its caller', async () => {
  const user = new AsyncLocalStorage();
  const seen = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addRateLimiter({
      permitLimit: 1,
      window: '1h',
      queueLimit: 1,
      onRejected: ({ reason }) => seen.push([user.getStore(), reason]),
    })
    .build();
  const calls = ['runs', 'waits', 'full'].map((id) => user.run(id, () => pipeline.settle(() => 1)));
  user.run('the disposer', () => pipeline.dispose());
  await Promise.all(calls);
  assert.deepEqual(seen, [
    ['full', 'full'],
    ['waits', 'disposed'],
  ]);
});

test('with timers replaced and no clock, a waiter goes by the timer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { pipeline, limiter } = queued({ permitLimit: 1, window: '1h', queueLimit: 3 });
  await pipeline.execute(() => 1);
  const waiters = [pipeline.execute(() => 'a'), pipeline.execute(() => 'b')];
  t.mock.timers.tick(3_600_000);
  assert.equal(await waiters[0], 'a');
  assert.equal(limiter.queued, 1);
  t.mock.timers.tick(3_600_000);
  assert.equal(await waiters[1], 'b');
  assertIdle();
});

test('on the real clock waiters come in, never early', async () => {
  const { pipeline } = queued({ permitLimit: 2, window: 20, queueLimit: 10, algorithm: 'sliding-window' });
  const starts = await Promise.all(
    Array.from({ length: 8 }, () => pipeline.execute(() => performance.now())),
  );
  for (let index = 2; index < 8; index += 1) {
    const apart = starts[index] - starts[index - 2];
    assert.ok(apart > 19.9, `${apart} ms apart`);
  }
  assertIdle();
});
