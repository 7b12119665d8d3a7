import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { advance, attempted, scripted } from './support/attempts.mjs';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const boom = new Error('boom');
const withRetry = (options) => new ResiliencePipelineBuilder().addRetry(options).build();

test('a timeout outside bounds all attempts and delays', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder().addTimeout(2500).addRetry({ delay: 1000 }).build();
  const callback = scripted(boom);
  const error = rejection(pipeline.execute(callback));
  for (let half = 0; half < 4; half += 1) await advance(t, 500);
  assert.equal(callback.calls, 3);
  assert.equal(await error, boom);
  await advance(t, 10_000);
  assert.equal(callback.calls, 3);
  assertIdle();
});

test('a timeout inside bounds each attempt, and is retried', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder()
    .addRetry({ delay: 1000, maxRetryAttempts: 2 })
    .addTimeout(100)
    .build();
  const callback = attempted();
  const result = pipeline.execute(callback);
  await advance(t, 99);
  assert.equal(callback.attempts[0].context.signal.aborted, false);
  await advance(t, 1);
  assert.equal(callback.attempts[0].context.signal.reason.code, 'TIMEOUT');
  assert.equal(callback.attempts.length, 1);
  await advance(t, 1000);
  const second = callback.attempts[1].context.signal;
  assert.equal(second.aborted, false, 'an attempt starts with a fresh signal');
  await advance(t, 100);
  assert.equal(second.aborted, true);
  await advance(t, 1000);
  callback.attempts[2].finish('third time lucky');
  assert.equal(await result, 'third time lucky');
  assert.equal(pipeline.getStrategy('Timeout').abandoned, 2);
  assertIdle();
});

test('under one timeout one call times out: the signals of the other and the next stay', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder().addRetry({ delay: 0 }).addTimeout(100).build();
  const [first, second] = [attempted(), attempted()];
  const one = pipeline.execute(first);
  await advance(t, 50);
  const two = pipeline.execute(second);
  await advance(t, 50);
  assert.equal(first.attempts[0].context.signal.aborted, true);
  assert.equal(first.attempts[1].context.signal.aborted, false);
  assert.equal(second.attempts[0].context.signal.aborted, false);
  first.attempts[1].finish(1);
  second.attempts[0].finish(2);
  assert.deepEqual(await Promise.all([one, two]), [1, 2]);
  assert.equal(second.attempts[0].context.signal.aborted, false, 'success aborts nothing');
  assertIdle();
});

test('no time left before an attempt: it times out at once, and the callback is not called', async (t) => {
  simulate(t);
  const deadline = Date.now() + 1000;
  const pipeline = new ResiliencePipelineBuilder()
    .addRetry({ delay: 1000, maxRetryAttempts: 1 })
    .addTimeout({ timeoutGenerator: () => deadline - Date.now() })
    .build();
  for (const [calls, timeout] of [[1, 0], [0, -1000]]) {
    const callback = scripted(boom);
    const error = rejection(pipeline.execute(callback));
    await advance(t, 1000);
    assert.equal((await error).code, 'TIMEOUT');
    assert.equal((await error).timeout, timeout);
    assert.equal(callback.calls, calls);
  }
  assertIdle();
});

test('a limiter outside keeps its permit in the delay, one inside does not', async (t) => {
  simulate(t);
  const outside = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).addRetry({ delay: 100 }).build();
  const inside = new ResiliencePipelineBuilder().addRetry({ delay: 100 }).addConcurrencyLimiter(1).build();
  for (const [pipeline, held] of [[outside, 1], [inside, 0]]) {
    const limiter = pipeline.getStrategy('ConcurrencyLimiter');
    const result = pipeline.execute(scripted(boom, boom, 'saved'));
    await turn();
    assert.equal(limiter.inflight, held);
    await advance(t, 100);
    assert.equal(limiter.inflight, held);
    await advance(t, 100);
    assert.equal(await result, 'saved');
    assertIdle(limiter);
  }
});

test('a rejection by a limiter inside is retried, one by a limiter outside is not', async (t) => {
  simulate(t);
  const inside = new ResiliencePipelineBuilder().addRetry({ delay: 100 }).addConcurrencyLimiter(1).build();
  const held = hold(inside);
  const saved = inside.execute(() => 'saved');
  await advance(t, 100);
  held.finish();
  await advance(t, 100);
  assert.equal(await saved, 'saved');
  const outside = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).addRetry({ delay: 0 }).build();
  const other = hold(outside);
  assert.equal((await rejection(outside.execute(() => assert.fail('must not run')))).code, 'BULKHEAD_FULL');
  other.finish();
  await other.promise;
});

test('under a retry each attempt is a sample; over one the whole is, with its delays', async (t) => {
  simulate(t);
  const samples = [];
  const counting = () => ({
    name: 'Limiter',
    algorithm: {
      onSample: ({ rtt, limit }) => {
        samples.push(rtt);
        return limit;
      },
    },
  });
  const retry = { delay: 1000, shouldHandle: ({ outcome }) => outcome.result === 'again' };
  const pipelines = [
    new ResiliencePipelineBuilder().addRetry(retry).addAdaptiveConcurrencyLimiter(counting()).build(),
    new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter(counting()).addRetry(retry).build(),
  ];
  for (const [index, expected] of [[30, 40], [1070]].entries()) {
    const callback = attempted();
    const result = pipelines[index].execute(callback);
    await advance(t, 30);
    callback.attempts[0].finish('again');
    await turn();
    await advance(t, 1000);
    await advance(t, 40);
    callback.attempts[1].finish('done');
    assert.equal(await result, 'done');
    assert.deepEqual(samples.splice(0), expected);
    assertIdle(pipelines[index].getStrategy('Limiter'));
  }
});

test('a fallback inside leaves nothing to retry; one outside comes after the last retry', async () => {
  const fallback = { fallbackValue: 'substitute' };
  const retry = { delay: 0, maxRetryAttempts: 2 };
  const inside = new ResiliencePipelineBuilder().addRetry(retry).addFallback(fallback).build();
  const outside = new ResiliencePipelineBuilder().addFallback(fallback).addRetry(retry).build();
  for (const [pipeline, calls] of [[inside, 1], [outside, 3]]) {
    const callback = scripted(boom);
    assert.equal(await pipeline.execute(callback), 'substitute');
    assert.equal(callback.calls, calls);
  }
});

test('retries inside of retries multiply, in one pipeline and in nested ones', async () => {
  const options = { delay: 0, maxRetryAttempts: 2 };
  const twice = new ResiliencePipelineBuilder()
    .addRetry({ ...options, name: 'outer' })
    .addRetry(options)
    .build();
  const callback = scripted(boom);
  assert.equal(await rejection(twice.execute(callback)), boom);
  assert.equal(callback.calls, 9);
  const single = withRetry(options);
  const nested = scripted(boom);
  assert.equal(await rejection(single.execute(() => single.execute(nested))), boom);
  assert.equal(nested.calls, 9);
  assert.deepEqual(['outer', 'Retry', 'other'].map((name) => twice.getStrategy(name)?.name), [
    'outer',
    'Retry',
    undefined,
  ]);
});
