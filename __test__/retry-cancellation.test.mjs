import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { advance, attempted, scripted } from './support/attempts.mjs';
import { deferred } from './support/deferred.mjs';
import { rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';
import { listen } from './support/listen.mjs';

const boom = new Error('boom');
const withRetry = (options) => new ResiliencePipelineBuilder().addRetry(options).build();

test('an abort in the delay rejects within one turn, and the callback is not called again', async (t) => {
  simulate(t);
  const controller = new AbortController();
  const reason = new Error('changed my mind');
  const callback = scripted(boom);
  const error = rejection(withRetry({ delay: 500 }).execute(callback, { signal: controller.signal }));
  await advance(t, 20);
  let settled;
  error.then((value) => (settled = value));
  controller.abort(reason);
  assertIdle();
  await turn();
  assert.equal(settled, reason);
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  await advance(t, 10_000);
  assert.equal(callback.calls, 1);
});

test('an abort of an attempt that runs ends it all, and its late failure is silent', async () => {
  const controller = new AbortController();
  const callback = attempted();
  const { builder, names } = listen();
  const called = () => assert.fail('must not be called');
  const pipeline = builder.addRetry({ delay: 0, shouldHandle: called, onRetry: called }).build();
  const error = rejection(pipeline.execute(callback, { signal: controller.signal }));
  const [{ context, fail }] = callback.attempts;
  controller.abort('left');
  assert.equal(context.signal.reason, 'left');
  assert.equal(await error, 'left');
  fail(boom);
  await turn();
  assert.equal(callback.attempts.length, 1);
  assert.deepEqual(names(), ['PipelineExecuting', 'PipelineExecuted']);
  assertIdle();
});

for (const option of ['shouldHandle', 'delayGenerator', 'onRetry']) {
  for (const end of ['abort', 'dispose']) {
    test(`after ${end} while ${option} is pending there is no further attempt`, async () => {
      const asked = deferred();
      const answer = deferred();
      const called = [];
      const controller = new AbortController();
      const pipeline = withRetry({
        delay: 0,
        shouldHandle: () => called.push('shouldHandle'),
        delayGenerator: () => void called.push('delayGenerator'),
        onRetry: () => void called.push('onRetry'),
        [option]: () => {
          called.push(option);
          asked.resolve();
          return answer.promise;
        },
      });
      const callback = scripted(boom);
      const error = rejection(pipeline.execute(callback, { signal: controller.signal }));
      await asked.promise;
      if (end === 'abort') {
        controller.abort('left');
        assert.equal(await error, 'left');
      } else {
        pipeline.dispose();
      }
      answer.resolve(option === 'shouldHandle' ? true : undefined);
      await turn();
      if (end === 'dispose') assert.equal(await error, boom);
      assert.equal(callback.calls, 1);
      const order = ['shouldHandle', 'delayGenerator', 'onRetry'];
      assert.deepEqual(called, order.slice(0, order.indexOf(option) + 1));
      assertIdle();
    });
  }
}

test('dispose ends a delay at once, and the last outcome is the result', async (t) => {
  simulate(t);
  const pipeline = withRetry({ delay: '1h' });
  const callback = scripted(boom);
  const error = rejection(pipeline.execute(callback));
  await turn();
  pipeline.dispose();
  assert.equal(await error, boom);
  assertIdle();
  await advance(t, 7_200_000);
  assert.equal(callback.calls, 1);
});

test('an attempt that dispose finds running ends by itself and is the last', async () => {
  const pipeline = withRetry({ delay: 0 });
  const callback = attempted();
  const error = rejection(pipeline.execute(callback));
  pipeline.dispose();
  callback.attempts[0].fail(boom);
  assert.equal(await error, boom);
  assert.equal(callback.attempts.length, 1);
});

test("what fails because the caller's AbortSignal.timeout is over is not retried", async () => {
  const signal = AbortSignal.timeout(1);
  let calls = 0;
  const error = await rejection(
    withRetry({ delay: 0 }).execute((context) => {
      calls += 1;
      return new Promise((_, reject) => {
        context.signal.addEventListener('abort', () => reject(context.signal.reason));
      });
    }, { signal }),
  );
  assert.equal(error, signal.reason);
  assert.equal(error.name, 'TimeoutError');
  await turn();
  assert.equal(calls, 1);
});

test("what fails by the caller's own signal, passed around the context, is not retried", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const callback = attempted();
  const pipeline = withRetry({ delay: 0, shouldHandle: () => true });
  const error = rejection(
    pipeline.execute((context) => {
      const work = callback(context);
      signal.addEventListener('abort', () => callback.attempts[0].fail(signal.reason));
      return work;
    }, { signal }),
  );
  controller.abort('left');
  assert.equal(await error, 'left');
  await turn();
  assert.equal(callback.attempts.length, 1);
});

test('the timeout of an enclosing execution bounds the delays of one inside, no signal passed', async (t) => {
  simulate(t);
  const inner = withRetry({ delay: 1000, maxRetryAttempts: Infinity });
  const outer = new ResiliencePipelineBuilder().addTimeout(2500).build();
  const callback = scripted(boom);
  let inside;
  const error = rejection(outer.execute(() => (inside = inner.execute(callback))));
  inside.catch(() => {});
  for (let second = 0; second < 2; second += 1) await advance(t, 1000);
  assert.equal(callback.calls, 3);
  assert.equal(await rejection(inside), boom);
  assert.equal(await error, boom);
  assertIdle();
  await advance(t, 10_000);
  assert.equal(callback.calls, 3);
});

test('endless retries without a delay let timers run: a timeout outside ends them', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout(20)
    .addRetry({ maxRetryAttempts: Infinity, delay: 0 })
    .build();
  const callback = scripted(boom);
  assert.equal((await rejection(pipeline.execute(callback))).code, 'TIMEOUT');
  const { calls } = callback;
  await turn();
  assert.equal(callback.calls, calls);
  assertIdle();
});

test('nothing is left, and no rejection is unhandled, whichever way it ends', async (t) => {
  const unhandled = t.mock.fn();
  process.on('unhandledRejection', unhandled);
  t.after(() => process.off('unhandledRejection', unhandled));
  simulate(t);
  for (const end of ['abort', 'dispose', 'timeout', 'success']) {
    const controller = new AbortController();
    const pipeline = new ResiliencePipelineBuilder()
      .addTimeout(1000)
      .addRetry({ delay: 500 })
      .addConcurrencyLimiter(1)
      .build();
    const first = attempted();
    const settled = pipeline.settle(first, { signal: controller.signal });
    first.attempts[0].fail(boom);
    await turn();
    if (end === 'abort') controller.abort('left');
    if (end === 'dispose') pipeline.dispose();
    if (end === 'timeout') t.mock.timers.tick(1000);
    if (end === 'success') await advance(t, 500);
    if (end === 'success') first.attempts[1].finish();
    const { ok, error } = await settled;
    assert.equal(ok, end === 'success');
    assert.equal(error?.code ?? error, { abort: 'left', dispose: boom, timeout: 'TIMEOUT' }[end]);
    first.attempts.at(-1).fail(new Error('late'));
    await turn();
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
    assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
  }
  await advance(t, 100_000);
  assert.equal(unhandled.mock.callCount(), 0);
});
