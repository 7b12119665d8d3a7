import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { hold, rejection, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const never = () => new Promise(() => {});
const withTimeout = (timeout) => new ResiliencePipelineBuilder().addTimeout(timeout).build();

test('an execution does not end before its deadline', async () => {
  for (const timeout of [1, 7, 20]) {
    const pipeline = withTimeout(timeout);
    const started = performance.now();
    const error = await rejection(pipeline.execute(never));
    assert.ok(performance.now() - started >= timeout);
    assert.equal(error.timeout, timeout);
  }
  assertIdle();
});

test('a deadline that passes aborts its own execution only, and the next one starts fresh', async () => {
  const pipeline = withTimeout(20);
  const slow = hold(pipeline);
  const slowSignal = slow.context.signal;
  const quick = hold(pipeline);
  const quickSignal = quick.context.signal;
  quick.finish('in time');
  assert.equal(await quick.promise, 'in time');
  const error = await rejection(slow.promise);
  assert.equal(slowSignal.reason, error);
  assert.equal(quickSignal.aborted, false);
  assert.equal(await pipeline.execute(({ signal }) => signal.aborted), false);
});

test('a value that outlives its execution keeps a signal that is not aborted', async () => {
  const pipeline = withTimeout(5);
  const { signal } = await pipeline.execute((context) => context);
  await rejection(pipeline.execute(never));
  assert.equal(signal.aborted, false);
});

test('deadlines pass in their order, whatever the order they were armed in', async () => {
  const order = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout({ timeoutGenerator: ({ context }) => Number(context.operationKey) })
    .build();
  const run = async (operationKey) => {
    await rejection(pipeline.execute(never, { operationKey }));
    order.push(operationKey);
  };
  await Promise.all(['50', '10', '30'].map(run));
  assert.deepEqual(order, ['10', '30', '50']);
});

test('10 000 deadlines of one moment all pass, in order', async () => {
  const order = [];
  let started = 0;
  const work = () => {
    started += 1;
    return never();
  };
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout({ timeout: 50, onTimeout: ({ context }) => order.push(Number(context.operationKey)) })
    .addConcurrencyLimiter(5000, 5000)
    .build();
  const calls = Array.from({ length: 10_000 }, (_, index) =>
    pipeline.settle(work, { operationKey: String(index) }),
  );
  const outcomes = await Promise.all(calls);
  assert.equal(outcomes.filter(({ error }) => error?.code === 'TIMEOUT').length, 10_000);
  assert.deepEqual(order, calls.map((_, index) => index));
  // On a slow machine the first have passed, and let waiters in, before the last is armed.
  assert.ok(started >= 5000);
  assert.equal(pipeline.getStrategy('Timeout').abandoned, started);
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('abandoned counts callbacks that still run, also further in, and no waiters', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout(10)
    .addFallback({ fallbackValue: 'replaced', shouldHandle: () => false })
    .addConcurrencyLimiter(2, 5)
    .build();
  const strategy = pipeline.getStrategy('Timeout');
  const calls = [hold(pipeline), hold(pipeline), hold(pipeline)];
  t.mock.timers.tick(10);
  for (const { promise } of calls) assert.equal((await rejection(promise)).code, 'TIMEOUT');
  assert.equal(strategy.abandoned, 2);
  calls[0].finish();
  await turn();
  assert.equal(strategy.abandoned, 1);
  calls[1].fail(new Error('too late'));
  await turn();
  assert.equal(strategy.abandoned, 0);
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});
