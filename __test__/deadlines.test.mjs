import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { runChild } from './support/child.mjs';
import { hold, rejection, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const never = () => new Promise(() => {});
const withTimeout = (timeout) => new ResiliencePipelineBuilder().addTimeout(timeout).build();

const IMPORT = `
  import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
  const builder = () => new ResiliencePipelineBuilder();
`;

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
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout({ timeout: 50, onTimeout: ({ context }) => order.push(Number(context.operationKey)) })
    .addConcurrencyLimiter(5000, 5000)
    .build();
  const calls = Array.from({ length: 10_000 }, (_, index) =>
    pipeline.settle(never, { operationKey: String(index) }),
  );
  const outcomes = await Promise.all(calls);
  assert.equal(outcomes.filter(({ error }) => error?.code === 'TIMEOUT').length, 10_000);
  assert.deepEqual(order, calls.map((_, index) => index));
  assert.equal(pipeline.getStrategy('Timeout').abandoned, 5000);
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

test('an idle pipeline lets the process exit by itself', async () => {
  const child = await runChild(`${IMPORT}
    const pipeline = builder().addConcurrencyLimiter({ permitLimit: 1, queueLimit: 9, queueTimeout: '1h' })
      .addTimeout('1h').addAdaptiveConcurrencyLimiter().build();
    await Promise.all([1, 2, 3].map((id) => pipeline.execute(async () => console.log(id))));
  `);
  assert.deepEqual(child, { code: 0, stdout: '1\n2\n3', stderr: '' });
});

test('a pending deadline keeps the process alive until it has passed', async () => {
  const child = await runChild(`${IMPORT}
    const started = performance.now();
    builder().addTimeout(40).build().execute(() => new Promise(() => {})).catch(({ code }) => {
      console.log(code, performance.now() - started >= 40);
    });
  `);
  assert.deepEqual(child, { code: 0, stdout: 'TIMEOUT true', stderr: '' });
});

test('the process exits when the last deadline is cleared: by a result, an abort or a disposal', async () => {
  const child = await runChild(`${IMPORT}
    const controller = new AbortController();
    const never = () => new Promise(() => {});
    const pipeline = builder().addTimeout('1h').build();
    const disposed = builder().addTimeout('1h').build();
    const work = setTimeout(() => {}, 60_000);
    pipeline.execute(async () => console.log('done'));
    pipeline.execute(never, { signal: controller.signal }).catch((reason) => console.log(reason));
    disposed.execute(never);
    setImmediate(() => {
      controller.abort('aborted');
      disposed.dispose();
      clearTimeout(work);
    });
  `);
  assert.deepEqual(child, { code: 0, stdout: 'done\naborted', stderr: '' });
});

test('a process that awaits nothing but an execution without a deadline ends with code 13', async () => {
  const child = await runChild(`${IMPORT}
    await builder().addConcurrencyLimiter(1).build().execute(() => new Promise(() => {}));
  `);
  assert.equal(child.code, 13);
});

test('an unhandled rejection of an execution ends the process with code 1', async () => {
  const child = await runChild(`${IMPORT}
    builder().addTimeout(5).build().execute(() => new Promise(() => {}));
  `);
  assert.equal(child.code, 1);
  assert.match(child.stderr, /TimeoutRejectedError: the execution did not end within 5 ms/);
});
