import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { hold, rejection } from './support/hold.mjs';

/** A pipeline whose limiter turns everyone away, and what ends that. */
function full() {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).build();
  return { pipeline, held: hold(pipeline) };
}

test('the refusal of a limiter carries no stack, and leaves the limit of stacks as it was', async (t) => {
  const { pipeline, held } = full();
  const before = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit');
  t.after(() => Object.defineProperty(Error, 'stackTraceLimit', before));
  for (const limit of [10, 0, 1, Infinity]) {
    Error.stackTraceLimit = limit;
    const error = await rejection(pipeline.execute(() => assert.fail('must not run')));
    assert.equal(error.stack, 'BulkheadRejectedError: the limit is reached and the queue is full (full)');
    assert.equal(Error.stackTraceLimit, limit);
  }
  assert.match(new Error('another').stack, /at /);
  held.finish();
  await held.promise;
});

test('a limit of stacks that nobody may change stays, and so does one that is none', async (t) => {
  const { pipeline, held } = full();
  const before = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit');
  t.after(() => Object.defineProperty(Error, 'stackTraceLimit', before));
  for (const fixed of [
    { value: 3, writable: false },
    { value: 'none', writable: true },
  ]) {
    Object.defineProperty(Error, 'stackTraceLimit', { ...fixed, configurable: true });
    assert.equal((await rejection(pipeline.execute(() => assert.fail('must not run')))).reason, 'full');
    assert.equal(Error.stackTraceLimit, fixed.value);
  }
  held.finish();
  await held.promise;
});

test('the error of a refused outcome is made when it is read, once, and is a property as any other', async () => {
  const { pipeline, held } = full();
  const outcome = await pipeline.settle(() => assert.fail('must not run'));
  assert.deepEqual(Object.keys(outcome), ['ok', 'error']);
  const { error } = outcome;
  assert.equal(outcome.error, error);
  assert.deepEqual([error.code, error.reason, error.active], ['BULKHEAD_FULL', 'full', 1]);
  assert.equal(outcome.match({ ok: () => 'ok', BULKHEAD_FULL: ({ reason }) => reason, error: () => 'error' }), 'full');
  held.finish();
  await held.promise;
});
