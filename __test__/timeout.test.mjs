import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder, TimeoutRejectedError } from '@ylcnfrht/resilience';
import { hold, rejection, simulate, turn } from './support/hold.mjs';

const never = () => new Promise(() => {});

test('the three forms of addTimeout are the same', async (t) => {
  simulate(t);
  for (const options of [
    250,
    '250ms',
    { timeout: 250 },
    { timeout: '250ms' },
    { timeoutGenerator: () => 250 },
  ]) {
    const error = rejection(new ResiliencePipelineBuilder().addTimeout(options).build().execute(never));
    t.mock.timers.tick(250);
    assert.equal((await error).timeout, 250);
  }
});

test('at the deadline the execution rejects, and its signal aborts with the same error', async (t) => {
  simulate(t);
  const held = hold(new ResiliencePipelineBuilder().addTimeout(100).build());
  const { signal } = held.context;
  const reasons = [];
  signal.addEventListener('abort', () => reasons.push(signal.reason));
  t.mock.timers.tick(99);
  assert.equal(signal.aborted, false);
  t.mock.timers.tick(1);
  assert.equal(signal.aborted, true);
  const error = await rejection(held.promise);
  assert.ok(error instanceof TimeoutRejectedError);
  assert.deepEqual(reasons, [error]);
});

test('a signal first read after the deadline is aborted with the error too', async (t) => {
  simulate(t);
  const held = hold(new ResiliencePipelineBuilder().addTimeout(100).build());
  t.mock.timers.tick(100);
  const error = await rejection(held.promise);
  assert.equal(held.context.signal.reason, error);
});

test('a callback that ends in time leaves its signal alone and no timer behind', async (t) => {
  simulate(t);
  const held = hold(new ResiliencePipelineBuilder().addTimeout(100).build());
  const { signal } = held.context;
  held.finish('stream');
  assert.equal(await held.promise, 'stream');
  t.mock.timers.tick(1_000_000);
  assert.equal(signal.aborted, false);
});

test('a real deadline is never early', async () => {
  const started = performance.now();
  await rejection(new ResiliencePipelineBuilder().addTimeout(20).build().execute(never));
  assert.ok(performance.now() - started >= 20);
});

test('what a callback does after its deadline is ignored, and counted while it runs', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder().addTimeout(100).build();
  const timeout = pipeline.getStrategy('Timeout');
  const [resolving, rejecting] = [hold(pipeline), hold(pipeline)];
  assert.equal(timeout.abandoned, 0);
  t.mock.timers.tick(100);
  const errors = await Promise.all([rejection(resolving.promise), rejection(rejecting.promise)]);
  assert.deepEqual(
    errors.map(({ code }) => code),
    ['TIMEOUT', 'TIMEOUT'],
  );
  assert.notEqual(errors[0], errors[1]);
  assert.equal(timeout.abandoned, 2);
  resolving.finish('late');
  await turn();
  assert.equal(timeout.abandoned, 1);
  rejecting.fail(new Error('late'));
  await turn();
  assert.equal(timeout.abandoned, 0);
});

test('a permit taken outside is free when the execution settles, not its callback', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).addTimeout(100).build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  const held = hold(pipeline);
  t.mock.timers.tick(100);
  assert.equal(limiter.inflight, 0);
  assert.equal((await rejection(held.promise)).code, 'TIMEOUT');
  assert.equal(await pipeline.execute(() => 'next'), 'next');
  held.finish();
  await turn();
  assert.equal(limiter.inflight, 0);
});

test("one execution's deadline leaves another's signal alone, and the next starts afresh", async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder().addTimeout(100).build();
  const first = hold(pipeline);
  t.mock.timers.tick(60);
  const second = hold(pipeline);
  const { signal } = second.context;
  t.mock.timers.tick(40);
  assert.equal((await rejection(first.promise)).code, 'TIMEOUT');
  assert.equal(signal.aborted, false);
  const third = hold(pipeline);
  assert.equal(third.context.signal.aborted, false);
  t.mock.timers.tick(59);
  assert.equal(signal.aborted, false);
  second.finish('in time');
  assert.equal(await second.promise, 'in time');
  t.mock.timers.tick(41);
  assert.equal((await rejection(third.promise)).code, 'TIMEOUT');
});

test('a timeout outside of a limiter bounds the wait and the call together', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder().addTimeout(100).addConcurrencyLimiter(1, 1).build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  const running = hold(pipeline);
  t.mock.timers.tick(50);
  const waiting = hold(pipeline);
  running.finish();
  await running.promise;
  await turn();
  assert.equal(waiting.running, true);
  t.mock.timers.tick(99);
  assert.equal(waiting.context.signal.aborted, false);
  t.mock.timers.tick(1);
  assert.equal((await rejection(waiting.promise)).code, 'TIMEOUT');
  assert.deepEqual([limiter.inflight, limiter.queued], [0, 0]);
});

test('a timeout outside of a limiter ends a wait: the callback is not called', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder().addTimeout(100).addConcurrencyLimiter(1, 1).build();
  const timeout = pipeline.getStrategy('Timeout');
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  const blocker = hold(pipeline);
  const waiting = hold(pipeline);
  assert.equal(limiter.queued, 1);
  t.mock.timers.tick(100);
  assert.equal((await rejection(waiting.promise)).code, 'TIMEOUT');
  assert.equal((await rejection(blocker.promise)).code, 'TIMEOUT');
  assert.equal(waiting.running, false);
  assert.equal(timeout.abandoned, 1);
  assert.deepEqual([limiter.inflight, limiter.queued], [0, 0]);
});

test('a timeout inside of a limiter starts with the permit', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1, 1).addTimeout(100).build();
  const running = hold(pipeline);
  t.mock.timers.tick(90);
  const waiting = hold(pipeline);
  running.finish();
  await running.promise;
  t.mock.timers.tick(99);
  await turn();
  assert.equal(waiting.context.signal.aborted, false);
  t.mock.timers.tick(1);
  assert.equal((await rejection(waiting.promise)).timeout, 100);
});

test('of two timeouts the shorter one wins, inside or outside', async (t) => {
  simulate(t);
  for (const lengths of [
    [100, 200],
    [200, 100],
  ]) {
    const pipeline = new ResiliencePipelineBuilder()
      .addTimeout({ timeout: lengths[0], name: 'outer' })
      .addTimeout({ timeout: lengths[1], name: 'inner' })
      .build();
    const held = hold(pipeline);
    t.mock.timers.tick(100);
    const error = await rejection(held.promise);
    assert.equal(error.timeout, 100);
    assert.equal(error.strategyName, lengths[0] === 100 ? 'outer' : 'inner');
    assert.equal(held.context.signal.reason, error);
    t.mock.timers.tick(200);
  }
});

test('a deadline inside of a fallback is its own, one outside bounds the whole', async (t) => {
  simulate(t);
  const slow = () => new Promise((resolve) => setTimeout(resolve, 60, 'substitute'));
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout({ timeout: 150, name: 'whole' })
    .addFallback({ fallbackAction: slow })
    .addTimeout({ timeout: 100, name: 'attempt' })
    .build();
  const saved = pipeline.execute(never);
  t.mock.timers.tick(100);
  await turn();
  t.mock.timers.tick(49);
  await turn();
  const unsaved = rejection(saved);
  t.mock.timers.tick(1);
  assert.equal((await unsaved).strategyName, 'whole');
});

test('onTimeout gets the context and the length, once, and may be asynchronous', async (t) => {
  simulate(t);
  const seen = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout({ timeout: '1s', onTimeout: async (args) => seen.push(args) })
    .build();
  const held = hold(pipeline, { operationKey: 'get' });
  assert.equal(await pipeline.execute(() => 'fast'), 'fast');
  t.mock.timers.tick(1000);
  await rejection(held.promise);
  await turn();
  assert.deepEqual(
    seen.map(({ timeout }) => timeout),
    [1000],
  );
  assert.equal(seen[0].context, held.context);
  assert.deepEqual(Object.keys(seen[0]).sort(), ['context', 'timeout']);
});

test('a name other than the default is how getStrategy finds a timeout', () => {
  const pipeline = new ResiliencePipelineBuilder().addTimeout({ timeout: 5, name: 'budget' }).build();
  assert.equal(pipeline.getStrategy('Timeout'), undefined);
  assert.equal(pipeline.getStrategy('budget').name, 'budget');
  assert.equal(pipeline.getStrategy('budget').abandoned, 0);
});
