import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { hold, rejection, simulate, turn } from './support/hold.mjs';

/** A limiter with one permit, which is taken, and a way to add waiters of a priority. */
function full(overflow, queueLimit) {
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter({
      permitLimit: 1,
      queueLimit,
      overflow,
      priority: ({ properties }) => properties.get('priority') ?? 0,
    })
    .build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  const running = hold(pipeline);
  const arrive = (priority) => hold(pipeline, { properties: [['priority', priority]] });
  /** Ends everything, and returns in which order the waiters were served. */
  const drain = async (waiters) => {
    const order = [];
    for (const [name, held] of Object.entries(waiters)) {
      held.finish(name);
      held.promise.then(
        () => order.push(name),
        () => {},
      );
    }
    running.finish('running');
    assert.equal(await running.promise, 'running', 'what runs is never interrupted to make room');
    await turn();
    assert.deepEqual([limiter.inflight, limiter.queued], [0, 0]);
    return order;
  };
  return { arrive, drain, limiter };
}

const reasonOf = async ({ promise }) => (await rejection(promise)).reason;

test('reject-new, the default, rejects the newcomer, whatever its priority', async () => {
  for (const overflow of ['reject-new', undefined]) {
    const { arrive, drain } = full(overflow, 2);
    const waiters = { a: arrive(5), b: arrive(5) };
    assert.equal(await reasonOf(arrive(0)), 'full');
    assert.deepEqual(await drain(waiters), ['a', 'b']);
  }
});

test('drop-oldest rejects the longest waiter, and the newcomer queues', async () => {
  const { arrive, drain, limiter } = full('drop-oldest', 2);
  const waiters = { a: arrive(0), b: arrive(0), c: arrive(0), d: arrive(0) };
  assert.equal(await reasonOf(waiters.a), 'dropped');
  assert.equal(await reasonOf(waiters.b), 'dropped');
  assert.equal(limiter.queued, 2);
  assert.deepEqual(await drain(waiters), ['c', 'd']);
  assert.equal(waiters.a.running, false);
});

test('drop-oldest goes by the wait alone, not by the priority', async () => {
  const { arrive, drain } = full('drop-oldest', 2);
  const waiters = { urgent: arrive(0), late: arrive(9), later: arrive(9) };
  assert.equal(await reasonOf(waiters.urgent), 'dropped');
  assert.deepEqual(await drain(waiters), ['late', 'later']);
});

test('drop-lowest-priority rejects the newest of the lowest, if the newcomer outranks it', async () => {
  const { arrive, drain } = full('drop-lowest-priority', 4);
  const waiters = { high: arrive(1), low1: arrive(9), low2: arrive(9), middle: arrive(5) };
  waiters.higher = arrive(0);
  assert.equal(await reasonOf(waiters.low2), 'dropped');
  waiters.other = arrive(6);
  assert.equal(await reasonOf(waiters.low1), 'dropped');
  assert.deepEqual(await drain(waiters), ['higher', 'high', 'middle', 'other']);
});

test('drop-lowest-priority rejects a newcomer of the lowest priority or below', async () => {
  const { arrive, drain } = full('drop-lowest-priority', 2);
  const waiters = { a: arrive(5), b: arrive(5) };
  assert.equal(await reasonOf(arrive(5)), 'full');
  assert.equal(await reasonOf(arrive(6)), 'full');
  assert.deepEqual(await drain(waiters), ['a', 'b']);
});

test('without a queue every policy rejects the newcomer', async () => {
  for (const overflow of ['reject-new', 'drop-oldest', 'drop-lowest-priority']) {
    const { arrive, drain } = full(overflow, 0);
    assert.equal(await reasonOf(arrive(-1)), 'full');
    assert.deepEqual(await drain({}), []);
  }
});

test('a dropped waiter reports the counts that it leaves, and its queue timeout is gone', async (t) => {
  simulate(t);
  const rejected = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter({
      permitLimit: 1,
      queueLimit: 1,
      queueTimeout: 100,
      overflow: 'drop-oldest',
      onRejected: ({ reason }) => rejected.push(reason),
    })
    .build();
  const running = hold(pipeline);
  const dropped = hold(pipeline);
  const waiting = hold(pipeline);
  const error = await rejection(dropped.promise);
  assert.deepEqual([error.reason, error.active, error.queued], ['dropped', 1, 1]);
  assert.equal(error.message, 'the place in the queue went to another execution (dropped)');
  running.finish();
  waiting.finish('served');
  assert.equal(await waiting.promise, 'served');
  t.mock.timers.tick(1000);
  await turn();
  assert.deepEqual(rejected, ['dropped']);
});

for (const overflow of ['reject-new', 'drop-oldest', 'drop-lowest-priority']) {
  test(`${overflow}: 10 000 submissions without a drain hold no more than the queue`, async () => {
    const { arrive, drain, limiter } = full(overflow, 10);
    const reasons = { full: 0, dropped: 0 };
    const alive = new Set();
    for (let index = 0; index < 10_000; index += 1) {
      const held = arrive(-index);
      alive.add(held);
      held.promise.catch((error) => {
        reasons[error.reason] += 1;
        alive.delete(held);
      });
      if (index % 100 === 0) await null;
    }
    await turn();
    assert.equal(limiter.queued, 10);
    assert.equal(alive.size, 10);
    assert.deepEqual(
      reasons,
      overflow === 'reject-new' ? { full: 9990, dropped: 0 } : { full: 0, dropped: 9990 },
    );
    assert.equal((await drain([...alive])).length, 10);
  });
}
