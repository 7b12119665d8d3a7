// What fails while a callback's error is turned into a process warning.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { hold, rejection } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

/** An error whose text can be read once, and whose name cannot be read after that. */
function errorWithoutName() {
  let reads = 0;
  return Object.defineProperty(new Error('text'), 'name', {
    get() {
      reads += 1;
      if (reads > 1) throw new Error('no name');
      return 'Error';
    },
  });
}

async function fillAndDrain(throwIt) {
  const pipeline = new ResiliencePipelineBuilder({ telemetry: throwIt })
    .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 1, onRejected: throwIt })
    .build();
  const running = hold(pipeline);
  const waiting = hold(pipeline);
  const error = await rejection(pipeline.execute(() => 'never'));
  assert.equal(error.code, 'BULKHEAD_FULL');
  running.finish('first');
  assert.equal(await running.promise, 'first');
  waiting.finish('second');
  assert.equal(await waiting.promise, 'second');
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
}

test('an error that cannot be emitted as a warning costs no permit and no outcome', async () => {
  await fillAndDrain(() => {
    throw errorWithoutName();
  });
});

test('a replaced process.emitWarning that throws costs no permit and no outcome', async (t) => {
  const emitWarning = t.mock.method(process, 'emitWarning', () => {
    throw new Error('replaced');
  });
  await fillAndDrain(() => {
    throw new Error('callback');
  });
  assert.ok(emitWarning.mock.callCount() > 0);
});
