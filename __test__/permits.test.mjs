import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { hold, rejection, simulate } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';
import { DISPOSED_ENDS, ENDS, Mix, RANDOM_ENDS, generator } from './support/mix.mjs';

let unhandled = 0;
process.on('unhandledRejection', () => {
  unhandled += 1;
});

test('100 000 mixed executions settle once each and give every permit back', async () => {
  const mix = new Mix(generator(1), 25);
  await mix.run(1000, 1);
  await mix.run(9000, 30);
  await mix.run(90_000, 500);
  for (const end of ENDS) assert.ok(mix.ends.has(end), end);
  assert.equal(unhandled, 0);
});

test('10 000 mixed executions at once settle once each and give every permit back', async () => {
  await new Mix(generator(2), 500).run(10_000, 10_000);
  assert.equal(unhandled, 0);
});

test('pipelines disposed at any moment leave no execution pending and no permit taken', async () => {
  const random = generator(3);
  const ends = new Set();
  for (let round = 0; round < 200; round += 1) {
    const mix = new Mix(random, 10, 0.02);
    await mix.run(100, 1 + Math.floor(random() * 50));
    for (const end of mix.ends.keys()) ends.add(end);
  }
  for (const end of [...DISPOSED_ENDS, ...RANDOM_ENDS]) assert.ok(ends.has(end), end);
  assert.equal(unhandled, 0);
});

test('300 random pipelines of up to six strategies of all kinds give everything back', async () => {
  const random = generator(4);
  for (let round = 0; round < 75; round += 1) {
    await new Mix(random, 5).run(200, 1 + Math.floor(random() * 100));
  }
  assert.equal(unhandled, 0);
});

test('a half-open circuit has all its probes after any endings of probes that decide nothing', async (t) => {
  simulate(t);
  const random = generator(5);
  const shouldHandle = ({ outcome }) => outcome.error?.message === 'handled';
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout({ timeoutGenerator: ({ context }) => context.properties.get('outer') ?? 60_000 })
    .addCircuitBreaker({ consecutiveFailures: 1, breakDuration: '1h', halfOpenProbes: 3, shouldHandle })
    .addConcurrencyLimiter({ permitLimit: 2, queueLimit: 1, queueTimeout: 5 })
    .addTimeout({ timeoutGenerator: ({ context }) => context.properties.get('inner') ?? 60_000 })
    .build();
  const breaker = pipeline.getStrategy('CircuitBreaker');
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  breaker.restoreState({ state: 'half-open', breakRemaining: 0, exportedAt: 0 });
  for (let round = 0; round < 2000; round += 1) {
    const controller = new AbortController();
    const held = Array.from({ length: 5 }, () => {
      const properties = [
        ['outer', random() < 0.2 ? 3 : undefined],
        ['inner', random() < 0.2 ? 2 : undefined],
      ];
      return hold(pipeline, { properties, signal: random() < 0.5 ? controller.signal : undefined });
    });
    for (const { fail } of held) if (random() < 0.3) fail(new Error('not handled'));
    if (random() < 0.5) controller.abort();
    t.mock.timers.tick(1 + Math.floor(random() * 6));
    for (const { fail } of held) fail(new Error('not handled'));
    await Promise.allSettled(held.map(({ promise }) => promise));
    assert.equal(breaker.state, 'half-open');
    assertIdle(limiter);
    // Two run, one waits, and the fourth finds no place among the probes.
    const probes = Array.from({ length: 4 }, () => hold(pipeline));
    assert.equal((await rejection(probes[3].promise)).code, 'CIRCUIT_OPEN');
    assert.deepEqual([limiter.inflight, limiter.queued], [2, 1], `round ${round}`);
    for (const { fail } of probes) fail(new Error('not handled'));
    await Promise.allSettled(probes.map(({ promise }) => promise));
  }
});

test('a permit of a rate limiter that is due as its waiter gives up is not lost, 10 000 times', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout(10)
    .addRateLimiter({ permitLimit: 1, window: 10, queueLimit: 3 })
    .build();
  const limiter = pipeline.getStrategy('RateLimiter');
  for (let round = 0; round < 10_000; round += 1) {
    const controller = new AbortController();
    const { signal } = controller;
    const calls = [pipeline.settle(() => 1), pipeline.settle(() => 2, { signal }), pipeline.settle(() => 3)];
    if (round % 3 === 0) controller.abort('gone');
    t.mock.timers.tick(10);
    if (round % 3 === 1) controller.abort('gone');
    const [first, ...waiters] = await Promise.all(calls);
    assert.equal(first.ok, true);
    for (const { ok, error } of waiters) assert.ok(ok || error.code === 'TIMEOUT' || error === 'gone');
    assert.equal(limiter.queued, 0);
    assertIdle();
    t.mock.timers.tick(10);
    assert.equal(limiter.available, 1, `round ${round}`);
  }
});

test('a release and a newcomer in one turn never exceed the limit, and the waiter goes first', async () => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1, 10_000).build();
  let running = 0;
  const order = [];
  const work = (id) => async () => {
    running += 1;
    assert.equal(running, 1);
    await null;
    order.push(id);
    running -= 1;
    if (id < 1000) promises.push(pipeline.execute(work(id + 1000)));
  };
  const promises = Array.from({ length: 1000 }, (_, id) => pipeline.execute(work(id)));
  for (const promise of promises) await promise;
  assert.deepEqual(order, order.map((_, id) => id));
  assert.equal(order.length, 2000);
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('a permit handed over at the moment its waiter gives up is not lost, 10 000 times', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 3, queueTimeout: 10 })
    .addTimeout(10)
    .build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  for (let round = 0; round < 10_000; round += 1) {
    const controller = new AbortController();
    const { signal } = controller;
    const never = () => new Promise(() => {});
    const calls = [pipeline.settle(never), pipeline.settle(never, { signal }), pipeline.settle(never)];
    // The first deadline passes together with the queue timeouts, and the second waiter aborts.
    if (round % 2 === 0) controller.abort('gone');
    t.mock.timers.tick(10);
    if (round % 2 === 1) controller.abort('gone');
    t.mock.timers.tick(10);
    assert.deepEqual([limiter.inflight, limiter.queued], [0, 0]);
    for (const outcome of await Promise.all(calls)) assert.equal(outcome.ok, false);
  }
  assertIdle(limiter);
});
