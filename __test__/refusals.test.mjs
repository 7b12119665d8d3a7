import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CircuitBreakerManualControl, ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
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

test('no other refusal carries a stack', async () => {
  const control = new CircuitBreakerManualControl();
  const builder = () => new ResiliencePipelineBuilder();
  const fails = async () => {
    throw new Error('down');
  };
  const open = builder().addCircuitBreaker({ consecutiveFailures: 1 }).build();
  await rejection(open.execute(fails));
  const circuit = { consecutiveFailures: 1 };
  const guarded = builder().addTimeout('1h').addCircuitBreaker(circuit).addRetry({ delay: 1 }).build();
  await rejection(guarded.execute(fails));
  const isolated = builder().addCircuitBreaker({ manualControl: control }).build();
  control.isolate();
  const spent = builder().addRateLimiter({ permitLimit: 1, window: '1h' }).build();
  await spent.execute(() => 1);
  const full = builder().addAdaptiveConcurrencyLimiter({ initialLimit: 1, maxLimit: 1 }).build();
  const held = hold(full);
  const disposed = builder().addTimeout('1h').build();
  disposed.dispose();
  const codes = [];
  for (const pipeline of [open, guarded, isolated, spent, full, disposed]) {
    const error = await rejection(pipeline.execute(() => 1));
    assert.equal(error.stack, `${error.name}: ${error.message}`);
    codes.push(error.code);
    const { error: settled } = await pipeline.settle(() => 1);
    assert.equal(settled.stack, `${settled.name}: ${settled.message}`);
  }
  const expected = ['CIRCUIT_OPEN', 'CIRCUIT_OPEN', 'CIRCUIT_ISOLATED', 'RATE_LIMITED', 'BULKHEAD_FULL'];
  assert.deepEqual(codes, [...expected, 'PIPELINE_DISPOSED']);
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
