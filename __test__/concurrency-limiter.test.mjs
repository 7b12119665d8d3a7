import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { hold, rejection, simulate, turn } from './support/hold.mjs';

function limited(...options) {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(...options).build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  return { pipeline, counts: () => [limiter.inflight, limiter.queued], limiter };
}

test('the forms of addConcurrencyLimiter: a number, two numbers, options', () => {
  for (const [options, permitLimit, queued] of [
    [[2], 2, 0],
    [[2, 1], 2, 1],
    [[{ permitLimit: 2, queueLimit: 1 }], 2, 1],
  ]) {
    const { pipeline, limiter, counts } = limited(...options);
    const held = [hold(pipeline), hold(pipeline), hold(pipeline)];
    assert.equal(limiter.permitLimit, permitLimit);
    assert.deepEqual(counts(), [2, queued]);
    for (const { finish } of held) finish();
  }
});

test("executions run up to the limit, wait up to the queue's, and are rejected beyond", async () => {
  const { pipeline, counts } = limited(2, 2);
  const held = Array.from({ length: 5 }, () => hold(pipeline));
  assert.deepEqual(
    held.map(({ running }) => running),
    [true, true, false, false, false],
  );
  assert.deepEqual(counts(), [2, 2]);
  const error = await rejection(held[4].promise);
  assert.deepEqual([error.code, error.reason, error.active, error.queued], ['BULKHEAD_FULL', 'full', 2, 2]);
  held[1].finish('b');
  assert.equal(await held[1].promise, 'b');
  await turn();
  assert.deepEqual(
    held.map(({ running }) => running),
    [true, true, true, false, false],
  );
  assert.deepEqual(counts(), [2, 1]);
  for (const { finish } of held) finish();
  await Promise.all(held.slice(0, 4).map(({ promise }) => promise));
  assert.deepEqual(counts(), [0, 0]);
});

test('a callback that returns or throws synchronously gives its permit back in the same turn', async () => {
  const { pipeline, counts } = limited(1);
  const returned = pipeline.execute(() => 1);
  assert.deepEqual(counts(), [0, 0]);
  const thrown = pipeline.execute(() => {
    throw new Error('boom');
  });
  assert.deepEqual(counts(), [0, 0]);
  assert.equal(await returned, 1);
  assert.equal((await rejection(thrown)).message, 'boom');
});

test('a release and a newcomer in one tick never make limit + 1, and the waiter goes first', async () => {
  const { pipeline } = limited(1, 10);
  let running = 0;
  const order = [];
  const run = (name) =>
    pipeline.execute(async () => {
      running += 1;
      assert.equal(running, 1);
      order.push(name);
      await null;
      running -= 1;
    });
  const first = run('first');
  const waiting = run('waiting');
  const newcomer = first.then(() => run('newcomer'));
  await Promise.all([first, waiting, newcomer]);
  assert.deepEqual(order, ['first', 'waiting', 'newcomer']);
});

test('a newcomer that arrives inside of a release cannot overtake the waiter', async () => {
  const { pipeline, counts } = limited(1, 10);
  const controller = new AbortController();
  const order = [];
  const running = pipeline.execute(
    ({ signal }) => {
      signal.addEventListener('abort', () => pipeline.execute(() => order.push('newcomer')));
      return new Promise(() => {});
    },
    { signal: controller.signal },
  );
  const waiting = pipeline.execute(() => order.push('waiting'));
  controller.abort('left');
  assert.equal(await rejection(running), 'left');
  await waiting;
  await turn();
  assert.deepEqual(order, ['waiting', 'newcomer']);
  assert.deepEqual(counts(), [0, 0]);
});

test('a waiter is rejected after queueTimeout, and leaves its place', async (t) => {
  simulate(t);
  const { pipeline, counts } = limited({ permitLimit: 1, queueLimit: 2, queueTimeout: '100ms' });
  const running = hold(pipeline);
  const early = hold(pipeline);
  t.mock.timers.tick(50);
  const late = hold(pipeline);
  t.mock.timers.tick(49);
  assert.deepEqual(counts(), [1, 2]);
  t.mock.timers.tick(1);
  assert.deepEqual(counts(), [1, 1]);
  const error = await rejection(early.promise);
  assert.deepEqual([error.reason, error.active], ['queue-timeout', 1]);
  assert.equal(error.message, 'no permit came free in time (queue-timeout)');
  running.finish();
  await running.promise;
  t.mock.timers.tick(1000);
  await turn();
  assert.equal(late.running, true, 'a waiter that was admitted has no queue timeout any more');
  late.finish('served');
  assert.equal(await late.promise, 'served');
  assert.equal(early.running, false);
});

test('without queueTimeout a waiter waits for as long as it takes', async (t) => {
  simulate(t);
  const { pipeline } = limited(1, 1);
  const running = hold(pipeline);
  const waiting = hold(pipeline);
  t.mock.timers.tick(365 * 86_400_000);
  running.finish();
  waiting.finish('at last');
  assert.equal(await waiting.promise, 'at last');
});

test('onRejected hears every rejection and its reason', async (t) => {
  simulate(t);
  const seen = [];
  const onRejected = (args) => seen.push(args);
  const { pipeline } = limited({
    permitLimit: 1,
    queueLimit: 1,
    queueTimeout: 100,
    overflow: 'drop-oldest',
    onRejected,
  });
  const running = hold(pipeline);
  const dropped = hold(pipeline, { operationKey: 'dropped' });
  const slow = hold(pipeline, { operationKey: 'slow' });
  t.mock.timers.tick(100);
  const disposed = hold(pipeline, { operationKey: 'disposed' });
  pipeline.dispose();
  await Promise.all([dropped, slow, disposed].map(({ promise }) => rejection(promise)));
  running.finish('finished');
  assert.equal(await running.promise, 'finished');
  await turn();
  assert.deepEqual(
    seen.map(({ context, retryAfter, reason }) => [context.operationKey, retryAfter, reason]),
    [
      ['dropped', undefined, 'dropped'],
      ['slow', undefined, 'queue-timeout'],
      ['disposed', undefined, 'disposed'],
    ],
  );
});

test('dispose rejects all waiters with a typed error, and lets what runs finish', async () => {
  const { pipeline, counts } = limited(2, 50);
  const held = Array.from({ length: 52 }, () => hold(pipeline));
  pipeline.dispose();
  const errors = await Promise.all(held.slice(2).map(({ promise }) => rejection(promise)));
  for (const error of errors) assert.deepEqual([error.code, error.reason], ['BULKHEAD_FULL', 'disposed']);
  assert.deepEqual(counts(), [2, 0]);
  held[0].finish('a');
  held[1].fail(new Error('b'));
  assert.equal(await held[0].promise, 'a');
  assert.equal((await rejection(held[1].promise)).message, 'b');
  assert.deepEqual(counts(), [0, 0]);
});
