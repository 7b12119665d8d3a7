import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { advance, assertLost, attempted, scripted } from './support/attempts.mjs';
import { rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const boom = new Error('boom');
const withHedging = (options) => new ResiliencePipelineBuilder().addHedging(options).build();

test('a limiter outside counts all attempts as one execution', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter(1)
    .addHedging({ delay: 100 })
    .build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  const callback = attempted();
  const result = pipeline.execute(callback);
  await advance(t, 100);
  assert.deepEqual([limiter.inflight, callback.attempts.length], [1, 2]);
  callback.attempts[0].finish('first');
  assert.equal(await result, 'first');
  assertIdle(limiter);
});

test('a timeout outside ends all attempts; one inside is a failure of its own attempt', async (t) => {
  simulate(t);
  const outside = new ResiliencePipelineBuilder().addTimeout(150).addHedging({ delay: 100 }).build();
  const all = attempted();
  const error = rejection(outside.execute(all));
  await advance(t, 100);
  await advance(t, 50);
  assert.equal((await error).code, 'TIMEOUT');
  for (const { context } of all.attempts) assert.equal(context.signal.reason, await error);
  assert.equal(all.attempts.length, 2);
  const inside = new ResiliencePipelineBuilder().addHedging({ delay: 100 }).addTimeout(150).build();
  const own = attempted();
  const result = inside.execute(own);
  await advance(t, 100);
  await advance(t, 50);
  assert.equal(own.attempts[0].context.signal.reason.code, 'TIMEOUT');
  assert.equal(own.attempts[1].context.signal.aborted, false);
  own.attempts[1].finish('hedged');
  assert.equal(await result, 'hedged');
  assertIdle();
});

test('retries of hedged attempts, and hedging of retried ones', async (t) => {
  simulate(t);
  const hedging = { delay: Infinity };
  const retry = { delay: 100, maxRetryAttempts: 1 };
  const pipelines = [
    new ResiliencePipelineBuilder().addRetry(retry).addHedging(hedging).build(),
    new ResiliencePipelineBuilder().addHedging(hedging).addRetry(retry).build(),
  ];
  for (const pipeline of pipelines) {
    const callback = scripted(boom);
    const error = rejection(pipeline.execute(callback));
    await advance(t, 100);
    await advance(t, 100);
    assert.equal(await error, boom);
    assert.equal(callback.calls, 4);
  }
  const first = attempted();
  const result = pipelines[1].execute(first);
  first.attempts[0].fail(boom);
  await turn();
  await advance(t, 100);
  first.attempts[1].fail(boom);
  await turn();
  first.attempts[2].finish('hedged');
  assert.equal(await result, 'hedged');
});

test('a loser in the delay of its retry stops there', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder()
    .addHedging({ delay: 50 })
    .addRetry({ delay: 1000 })
    .build();
  const callback = attempted();
  const result = pipeline.execute(callback);
  callback.attempts[0].fail(boom);
  await advance(t, 50);
  callback.attempts[1].finish('hedged');
  assert.equal(await result, 'hedged');
  assertIdle();
  await advance(t, 10_000);
  assert.equal(callback.attempts.length, 2);
});

test('what an attempt runs by nested pipelines stops with it', async (t) => {
  simulate(t);
  const inner = new ResiliencePipelineBuilder().addConcurrencyLimiter(5).build();
  const limiter = inner.getStrategy('ConcurrencyLimiter');
  const callback = attempted();
  const pipeline = withHedging({ delay: 100 });
  const result = pipeline.execute(() => inner.execute(callback));
  await advance(t, 100);
  assert.equal(limiter.inflight, 2);
  callback.attempts[1].finish('hedged');
  assert.equal(await result, 'hedged');
  assertLost(callback.attempts[0]);
  assertIdle(limiter);
});
