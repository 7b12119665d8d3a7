import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { ResiliencePipelineBuilder, aimd, gradient2, knee, vegas } from '@ylcnfrht/resilience';
import { hold, rejection } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const require = createRequire(import.meta.url);
const { executions } = require('../lib/dispatch.js');
const { ANSWER, binding, channel, exit, hot } = require('../lib/native.js');

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

test("a failure of the native side to take an algorithm's answer is reported, and the limit stands", async (t) => {
  const answers = [5, 6];
  const limits = [];
  const algorithm = {
    onSample: ({ limit }) => {
      limits.push(limit);
      return answers.shift();
    },
  };
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ algorithm, initialLimit: 1 })
    .build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  const failing = t.mock.method(hot, 'applyLimit', () => NaN);
  const [error, value] = await Promise.all([warning(), pipeline.execute(() => 'the outcome')]);
  assert.deepEqual([error.name, value, limiter.limit], ['InternalError', 'the outcome', 1]);
  failing.mock.restore();
  await pipeline.execute(() => 1);
  assert.deepEqual([limits, limiter.limit], [[1, 1], 6]);
  assertIdle(limiter);
});

test('a failure of an algorithm that is called alone is an InternalError', (t) => {
  const sample = { rtt: 1, inflight: 1, dropped: false, limit: 1, now: 1, startedAt: 0 };
  for (const [name, make] of Object.entries({ Gradient2: gradient2, Vegas: vegas, Aimd: aimd, Knee: knee })) {
    const failing = t.mock.method(binding[name].prototype, 'sample', () => {
      throw Object.assign(new Error('native'), { code: 'GenericFailure' });
    });
    assert.throws(() => make().onSample(sample), { name: 'InternalError' }, name);
    failing.mock.restore();
    assert.equal(typeof make().onSample(sample), 'number');
  }
});

test('an array that is no channel is refused, and left as it is', () => {
  for (const length of [0, 3, 15, 100]) {
    const array = new Float64Array(length);
    assert.throws(() => new binding.Thread(array), /the channel must hold exactly \d+ numbers/);
    assert.ok(array.every((number) => number === 0));
  }
});
