import assert from 'node:assert/strict';
import { EventEmitter, getEventListeners } from 'node:events';
import { test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { deferred } from './support/deferred.mjs';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const oneAtATime = (queueLimit = 10) =>
  new ResiliencePipelineBuilder().addConcurrencyLimiter(1, queueLimit).build();
const limiterOf = (pipeline) => pipeline.getStrategy('ConcurrencyLimiter');
const listeners = (signal) => getEventListeners(signal, 'abort').length;

test('a signal that is aborted already rejects at once, and the callback is not called', async () => {
  const reason = { any: 'value' };
  const signal = AbortSignal.abort(reason);
  const pipelines = [
    new ResiliencePipelineBuilder().build(),
    oneAtATime(),
    new ResiliencePipelineBuilder().addFallback({ fallbackValue: 1 }).addTimeout(1000).build(),
  ];
  for (const pipeline of pipelines) {
    const run = () => assert.fail('must not run');
    assert.equal(await rejection(pipeline.execute(run, { signal })), reason);
    assert.deepEqual({ ...(await pipeline.settle(run, { signal })) }, { ok: false, error: reason });
    assert.equal(listeners(signal), 0);
  }
  assertIdle();
});

test('a queued call whose signal aborts leaves the queue in the same tick', async () => {
  const pipeline = oneAtATime();
  const limiter = limiterOf(pipeline);
  const running = hold(pipeline);
  const controller = new AbortController();
  const { signal } = controller;
  const waiter = pipeline.execute(() => assert.fail('must not run'), { signal });
  const next = hold(pipeline);
  assert.equal(limiter.queued, 2);
  const reason = new Error('changed my mind');
  controller.abort(reason);
  assert.deepEqual([limiter.inflight, limiter.queued, listeners(signal)], [1, 1, 0]);
  assert.equal(await rejection(waiter), reason);
  running.finish();
  await running.promise;
  await turn();
  assert.equal(next.running, true);
  next.finish('served');
  assert.equal(await next.promise, 'served');
  assertIdle(limiter);
});

test('a running call whose signal aborts rejects at once, its permit back in the same tick', async () => {
  const pipeline = oneAtATime(0);
  const controller = new AbortController();
  const { signal } = controller;
  const running = hold(pipeline, { signal });
  const ownSignal = running.context.signal;
  const reason = new Error('changed my mind');
  controller.abort(reason);
  assert.equal(ownSignal.aborted, true);
  assert.equal(ownSignal.reason, reason);
  assertIdle(limiterOf(pipeline));
  assert.equal(await pipeline.execute(() => 'the permit is free'), 'the permit is free');
  assert.equal(await rejection(running.promise), reason);
});

test('what a callback does after the abort is ignored, and makes no unhandled rejection', async (t) => {
  const unhandled = t.mock.fn();
  process.on('unhandledRejection', unhandled);
  t.after(() => process.off('unhandledRejection', unhandled));
  const pipeline = oneAtATime(0);
  for (const end of ['finish', 'fail']) {
    const controller = new AbortController();
    const running = hold(pipeline, { signal: controller.signal });
    controller.abort('gone');
    assert.equal(await rejection(running.promise), 'gone');
    running[end](new Error('too late'));
    await turn();
  }
  assert.equal(unhandled.mock.callCount(), 0);
  assertIdle(limiterOf(pipeline));
});

test('an undefined reason is the platform\'s AbortError', async () => {
  const controller = new AbortController();
  const running = hold(oneAtATime(), { signal: controller.signal });
  controller.abort();
  const error = await rejection(running.promise);
  assert.equal(error.name, 'AbortError');
  assert.equal(error, controller.signal.reason);
});

test('the caller\'s AbortSignal.timeout is the caller\'s abort and no timeout of the pipeline', async () => {
  const events = [];
  const pipeline = new ResiliencePipelineBuilder({ telemetry: ({ name }) => events.push(name) })
    .addTimeout({ timeout: 60_000, onTimeout: () => events.push('onTimeout') })
    .build();
  const signal = AbortSignal.timeout(5);
  const error = await rejection(pipeline.execute(() => new Promise(() => {}), { signal }));
  assert.equal(error, signal.reason);
  assert.equal(error.name, 'TimeoutError');
  assert.deepEqual(events, ['PipelineExecuting', 'PipelineExecuted']);
  assert.equal(pipeline.getStrategy('Timeout').abandoned, 0);
  assertIdle();
});

test('an abort inside the callback, before it returns, rejects at once', async () => {
  const pipeline = oneAtATime(0);
  const controller = new AbortController();
  const promise = pipeline.execute(() => {
    controller.abort('from inside');
    assertIdle(limiterOf(pipeline));
    return 'ignored';
  }, { signal: controller.signal });
  assert.equal(await rejection(promise), 'from inside');
  const throwing = new AbortController();
  const failed = pipeline.execute(() => {
    throwing.abort('from inside');
    throw new Error('ignored');
  }, { signal: throwing.signal });
  assert.equal(await rejection(failed), 'from inside');
});

test('a telemetry listener that aborts at the start keeps the callback from running', async () => {
  const controller = new AbortController();
  const telemetry = ({ name }) => {
    if (name === 'PipelineExecuting') controller.abort('not today');
  };
  const pipeline = new ResiliencePipelineBuilder({ telemetry }).addConcurrencyLimiter(1).build();
  const promise = pipeline.execute(() => assert.fail('must not run'), { signal: controller.signal });
  assert.equal(await rejection(promise), 'not today');
  assert.equal(listeners(controller.signal), 0);
  assertIdle();
});

test('the abort of a signal shared by queued and running calls reaches each of them, once', async () => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(2, 10).build();
  const controller = new AbortController();
  const { signal } = controller;
  const calls = Array.from({ length: 5 }, () => hold(pipeline, { signal }));
  assert.equal(listeners(signal), 1);
  const bystander = hold(pipeline);
  controller.abort('all of you');
  assert.deepEqual([limiterOf(pipeline).inflight, limiterOf(pipeline).queued], [1, 0]);
  for (const { promise } of calls) assert.equal(await rejection(promise), 'all of you');
  assert.deepEqual(calls.map(({ running }) => running), [true, true, false, false, false]);
  await turn();
  assert.equal(bystander.running, true);
  bystander.finish();
  await bystander.promise;
  assert.equal(listeners(signal), 0);
  assertIdle(limiterOf(pipeline));
});

test('an abort inside an abort listener ends both executions', async () => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(2, 2).build();
  const [first, second] = [new AbortController(), new AbortController()];
  const a = hold(pipeline, { signal: first.signal });
  const b = hold(pipeline, { signal: second.signal });
  const waiter = hold(pipeline, { signal: second.signal });
  a.context.signal.addEventListener('abort', () => second.abort('second'));
  first.abort('first');
  assertIdle(limiterOf(pipeline));
  assert.equal(await rejection(a.promise), 'first');
  assert.equal(await rejection(b.promise), 'second');
  assert.equal(await rejection(waiter.promise), 'second');
});

test('an enclosing deadline stops the inner execution and its wait in a queue', async (t) => {
  simulate(t);
  const inner = oneAtATime();
  const outer = new ResiliencePipelineBuilder().addTimeout(30).build();
  const holder = hold(inner);
  let waiter;
  let sibling;
  const promise = outer.execute(() => {
    waiter = inner.execute(() => assert.fail('must not run'));
    sibling = new ResiliencePipelineBuilder().build().execute(() => new Promise(() => {}));
    return Promise.all([waiter, sibling]);
  });
  t.mock.timers.tick(29);
  assert.equal(limiterOf(inner).queued, 1);
  t.mock.timers.tick(1);
  assert.equal(limiterOf(inner).queued, 0);
  const error = await rejection(promise);
  assert.equal(error.code, 'TIMEOUT');
  assert.equal(await rejection(waiter), error);
  assert.equal(await rejection(sibling), error);
  holder.finish();
  await holder.promise;
  assertIdle(limiterOf(inner));
});

test('100 000 executions under one signal leave no listener and no warning', async (t) => {
  const warnings = [];
  const warned = ({ name }) => warnings.push(name);
  process.on('warning', warned);
  t.after(() => process.off('warning', warned));
  const controller = new AbortController();
  const { signal } = controller;
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(50, 1000).addTimeout(60_000).build();
  let most = 0;
  for (let round = 0; round < 100; round += 1) {
    const batch = Array.from({ length: 1000 }, () => pipeline.execute(async () => {}, { signal }));
    most = Math.max(most, listeners(signal));
    await Promise.all(batch);
    assert.equal(listeners(signal), 0);
  }
  assert.equal(most, 1);
  await turn();
  assert.equal(warnings.includes('MaxListenersExceededWarning'), false);
  assertIdle(limiterOf(pipeline));
});

test('a signal of another make works if it has the three members that are used', async () => {
  const emitter = new EventEmitter();
  const signal = {
    aborted: false,
    reason: undefined,
    addEventListener: (name, listener) => emitter.on(name, listener),
    removeEventListener: (name, listener) => emitter.off(name, listener),
  };
  const running = hold(oneAtATime(), { signal });
  Object.assign(signal, { aborted: true, reason: 'polyfilled' });
  emitter.emit('abort');
  assert.equal(await rejection(running.promise), 'polyfilled');
  assert.equal(emitter.listenerCount('abort'), 0);
});

test('a late execution of a pipeline in an aborted one is turned away before it takes a permit', async () => {
  const inner = oneAtATime(0);
  const controller = new AbortController();
  const go = deferred();
  const late = deferred();
  const outer = new ResiliencePipelineBuilder().build().execute(async ({ signal }) => {
    await go.promise;
    assert.equal(signal.aborted, true);
    late.resolve(await rejection(inner.execute(() => assert.fail('must not run'))));
  }, { signal: controller.signal });
  controller.abort('gone');
  assert.equal(await rejection(outer), 'gone');
  go.resolve();
  assert.equal(await late.promise, 'gone');
  assertIdle(limiterOf(inner));
});

test('a signal that is not of Node: no reason, and a listener that cannot be removed', async () => {
  class Foreign extends EventEmitter {
    aborted = false;
    addEventListener(name, listener) {
      this.on(name, listener);
    }
    removeEventListener() {
      throw new Error('not supported');
    }
    abort() {
      this.aborted = true;
      this.emit('abort');
    }
  }
  const pipeline = oneAtATime();
  const signal = new Foreign();
  const running = hold(pipeline, { signal });
  const waiter = hold(pipeline);
  running.finish('done');
  assert.equal(await running.promise, 'done');
  await turn();
  assert.ok(waiter.running);
  const second = hold(pipeline, { signal });
  signal.abort();
  assert.equal((await rejection(second.promise)).name, 'AbortError');
  assert.equal((await rejection(pipeline.execute(() => {}, { signal }))).name, 'AbortError');
  waiter.finish();
  await waiter.promise;
  assertIdle(limiterOf(pipeline));
});
