import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { hold, rejection } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const require = createRequire(import.meta.url);
const { executions } = require('../lib/dispatch.js');
const { ANSWER, channel, exit, hot } = require('../lib/native.js');

const warning = async () => {
  const [error] = await once(process, 'warning');
  return error;
};

test('a failure of the native side to end an execution is reported, and its outcome stands', async () => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).addTimeout('1h').build();
  const running = hold(pipeline);
  const { ticket } = executions.find((execution) => execution !== undefined);
  exit(ticket, 0);
  running.finish('the outcome');
  const [error, value] = await Promise.all([warning(), running.promise]);
  assert.equal(value, 'the outcome');
  assert.deepEqual([error.name, error.code], ['InternalError', 'INTERNAL']);
  assert.match(error.message, /please report it/);
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('a failure of the native side to start an execution is its error', async (t) => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).build();
  t.mock.method(hot, 'enter', () => {
    channel[ANSWER] = NaN;
  });
  const error = await rejection(pipeline.execute(() => assert.fail('must not run')));
  assert.equal(error.name, 'InternalError');
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('a failure of the native side to dispose is reported', async (t) => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).build();
  t.mock.method(hot, 'dispose', () => NaN);
  pipeline.dispose();
  assert.equal((await warning()).name, 'InternalError');
  assert.equal((await rejection(pipeline.execute(() => {}))).code, 'PIPELINE_DISPOSED');
});
