// priority and overflow of the adaptive limiter, which are those of the fixed one at a limit that moves.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { boom, succeeds } from './support/circuit.mjs';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const byProperty = ({ properties }) => properties.get('priority') ?? 0;
/** Leaves the limit as it is. */
const still = () => ({ onSample: ({ limit }) => limit });

/** A limiter with one permit, which is taken, and ways to add waiters and to see them served. */
function full(options) {
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ algorithm: still(), initialLimit: 1, priority: byProperty, ...options })
    .build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  const order = [];
  const running = hold(pipeline);
  const arrive = (name, priority) => {
    const promise = pipeline.execute(async () => order.push(name), { properties: [['priority', priority]] });
    promise.catch(() => {});
    return promise;
  };
  const drain = async () => {
    running.finish();
    await running.promise;
    for (let round = 0; round < 5; round += 1) await turn();
    assertIdle(limiter);
    return order;
  };
  return { pipeline, limiter, running, arrive, drain };
}

const reasonOf = async (promise) => (await rejection(promise)).reason;

test('a lower priority value runs sooner; ties keep the order of arrival', async () => {
  const { arrive, drain, limiter } = full({ queueLimit: 100 });
  const values = { a: 10, b: 0, c: 10, d: -Infinity, e: Infinity, f: -0, g: 0.5, h: -3 };
  for (const [name, value] of Object.entries(values)) arrive(name, value);
  assert.equal(limiter.queued, 8);
  assert.deepEqual(await drain(), ['d', 'h', 'b', 'f', 'g', 'a', 'c', 'e']);
});

test('CASE 24: a high priority behind 100 low ones is served at the next release', async () => {
  const { arrive, drain } = full({ queueLimit: 101 });
  for (let index = 0; index < 100; index += 1) arrive(index, 10);
  arrive('high', 0);
  const order = await drain();
  assert.deepEqual([order[0], order.length], ['high', 101]);
});

test('permits of a raised limit go to the most important waiters', async () => {
  const algorithm = { onSample: () => 3 };
  const { pipeline, running } = full({ algorithm, queueLimit: 10 });
  const waiters = [7, 1, 5, 3].map((priority) => hold(pipeline, { properties: [['priority', priority]] }));
  running.finish();
  await running.promise;
  await turn();
  assert.deepEqual(
    waiters.map((waiter) => waiter.running),
    [false, true, true, true],
  );
  for (const { finish } of waiters) finish();
  await Promise.all(waiters.map(({ promise }) => promise));
  assertIdle(pipeline.getStrategy('AdaptiveConcurrencyLimiter'));
});

for (const [overflow, rejected, served] of [
  ['reject-new', { new: 'full' }, ['a', 'b', 'c']],
  [undefined, { new: 'full' }, ['a', 'b', 'c']],
  ['drop-oldest', { a: 'dropped' }, ['new', 'b', 'c']],
  ['drop-lowest-priority', { c: 'dropped' }, ['new', 'a', 'b']],
]) {
  test(`a full queue, overflow ${overflow}: ${Object.keys(rejected)} has to go`, async () => {
    const { arrive, drain, limiter } = full({ queueLimit: 3, overflow });
    const promises = { a: arrive('a', 1), b: arrive('b', 2), c: arrive('c', 3), new: arrive('new', 0) };
    assert.equal(limiter.queued, 3);
    for (const [name, reason] of Object.entries(rejected)) {
      const error = await rejection(promises[name]);
      assert.deepEqual(
        [error.code, error.reason, error.active, error.queued, error.strategyName],
        ['BULKHEAD_FULL', reason, 1, 3, 'AdaptiveConcurrencyLimiter'],
      );
    }
    assert.deepEqual(await drain(), served);
  });
}

test('drop-lowest-priority refuses a newcomer that outranks nobody', async () => {
  const { arrive, drain } = full({ queueLimit: 2, overflow: 'drop-lowest-priority' });
  arrive('a', 5);
  arrive('b', 1);
  assert.equal(await reasonOf(arrive('equal', 5)), 'full');
  assert.equal(await reasonOf(arrive('lower', 9)), 'full');
  assert.deepEqual(await drain(), ['b', 'a']);
});

test('without room in the queue nobody is dropped, whatever the overflow', async () => {
  for (const overflow of ['drop-oldest', 'drop-lowest-priority']) {
    const { arrive, drain } = full({ queueLimit: 0, overflow });
    assert.equal(await reasonOf(arrive('new', -1)), 'full');
    assert.deepEqual(await drain(), []);
  }
});

test('a waiter that was dropped gives no sample', async () => {
  const samples = [];
  const algorithm = { onSample: (sample) => (samples.push(sample), sample.limit) };
  const { arrive, drain } = full({ algorithm, queueLimit: 1, overflow: 'drop-oldest' });
  arrive('a');
  arrive('b');
  await drain();
  assert.equal(samples.length, 2, 'of what ran first, and of b');
});

test('a priority that throws, is NaN or a promise rejects that execution alone, at no cost', async () => {
  for (const [priority, check] of [
    [
      () => {
        throw boom;
      },
      (error) => error === boom,
    ],
    [() => NaN, ({ name, message }) => name === 'TypeError' && message.endsWith('not NaN')],
    [() => '1', ({ name }) => name === 'TypeError'],
    [async () => 1, ({ name, message }) => name === 'TypeError' && message.endsWith('not a promise')],
  ]) {
    let bad = true;
    const pipeline = new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({ initialLimit: 1, priority: () => (bad ? priority() : 0) })
      .build();
    assert.ok(check(await rejection(pipeline.execute(() => assert.fail('must not run')))));
    bad = false;
    assert.equal(await pipeline.execute(succeeds), 'fine');
    assertIdle(pipeline.getStrategy('AdaptiveConcurrencyLimiter'));
  }
});

test('priority is asked once for each execution, with its context, also where a permit is free', async () => {
  const seen = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout('1h')
    .addAdaptiveConcurrencyLimiter({ priority: ({ operationKey }) => (seen.push(operationKey), 0) })
    .build();
  await pipeline.execute(succeeds, { operationKey: 'a' });
  await pipeline.execute(succeeds, { operationKey: 'b' });
  assert.deepEqual(seen, ['a', 'b']);
});

test('the wait ends by queueTimeout, whatever the priority', async (t) => {
  simulate(t);
  const { arrive, drain, limiter } = full({ queueLimit: 5, queueTimeout: 100 });
  const first = arrive('low', 9);
  t.mock.timers.tick(50);
  const second = arrive('high', 0);
  t.mock.timers.tick(50);
  assert.equal(await reasonOf(first), 'queue-timeout');
  assert.equal(limiter.queued, 1);
  t.mock.timers.tick(50);
  assert.equal(await reasonOf(second), 'queue-timeout');
  assert.deepEqual(await drain(), []);
});
