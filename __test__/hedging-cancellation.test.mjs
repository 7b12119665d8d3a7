import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { advance, attempted, scripted } from './support/attempts.mjs';
import { deferred } from './support/deferred.mjs';
import { rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const boom = new Error('boom');
const withHedging = (options) => new ResiliencePipelineBuilder().addHedging(options).build();

test('an abort at every step: it rejects at once, every attempt stops, and nothing starts', async (t) => {
  simulate(t);
  const steps = {
    'first attempt': 0,
    'two attempts': 100,
    'all attempts': 200,
    'long after': 10_000,
  };
  for (const [step, ms] of Object.entries(steps)) {
    const controller = new AbortController();
    const callback = attempted();
    const called = [];
    const pipeline = withHedging({
      maxHedgedAttempts: 2,
      delay: 100,
      shouldHandle: () => called.push('shouldHandle'),
      onHedging: () => called.push('onHedging'),
    });
    const error = rejection(pipeline.execute(callback, { signal: controller.signal }));
    for (let passed = 0; passed < ms; passed += 100) await advance(t, 100);
    const { length } = callback.attempts;
    assert.equal(length, Math.min(1 + ms / 100, 3), step);
    const signals = callback.attempts.map(({ context }) => context.signal);
    controller.abort('left');
    assert.deepEqual(signals.map(({ reason }) => reason), Array(length).fill('left'), step);
    assertIdle();
    assert.equal(await error, 'left');
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
    for (const { fail } of callback.attempts) fail(boom);
    await advance(t, 1000);
    assert.equal(callback.attempts.length, length, step);
    assert.deepEqual(called, Array(length - 1).fill('onHedging'), step);
  }
});

test('entered after the abort, by a strategy outside of it, it starts nothing', async () => {
  let entered;
  let calls = 0;
  const called = () => (calls += 1);
  const late = () => ({
    name: 'late',
    execute: async (next, context) => {
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
      const outcome = await next(context);
      entered.resolve(outcome);
      return outcome;
    },
  });
  for (const delay of [0, Infinity]) {
    entered = deferred();
    const controller = new AbortController();
    const pipeline = new ResiliencePipelineBuilder()
      .add(late)
      .addHedging({ delay, onHedging: called })
      .build();
    const error = rejection(pipeline.execute(called, { signal: controller.signal }));
    controller.abort('left');
    assert.equal(await error, 'left');
    assert.deepEqual({ ...(await entered.promise) }, { ok: false, error: 'left' });
    assert.equal(calls, 0);
    assertIdle();
  }
});

test("an abort from inside a user's function, whichever it is", async () => {
  for (const option of ['callback', 'shouldHandle', 'actionGenerator', 'onHedging', 'action', 'telemetry']) {
    const controller = new AbortController();
    const abort = (own) => {
      if (own === option) controller.abort('left');
    };
    let calls = 0;
    let actions = 0;
    const pipeline = new ResiliencePipelineBuilder({
      telemetry: ({ name }) => name === 'OnHedging' && abort('telemetry'),
    })
      .addHedging({
        maxHedgedAttempts: 2,
        delay: Infinity,
        shouldHandle: () => {
          abort('shouldHandle');
          return true;
        },
        onHedging: () => abort('onHedging'),
        actionGenerator: ({ callback, actionContext }) => {
          abort('actionGenerator');
          return () => {
            actions += 1;
            abort('action');
            return callback(actionContext);
          };
        },
      })
      .build();
    const error = rejection(
      pipeline.execute(() => {
        calls += 1;
        abort('callback');
        throw boom;
      }, { signal: controller.signal }),
    );
    assert.equal(await error, 'left', option);
    await turn();
    assert.deepEqual([calls, actions], [1, option === 'action' ? 1 : 0], option);
    assertIdle();
  }
});

test('a dispose at every step: what runs goes on, nothing starts, and no delay is left', async (t) => {
  simulate(t);
  for (const started of [1, 2, 3]) {
    const callback = attempted();
    const pipeline = withHedging({ maxHedgedAttempts: 2, delay: 100 });
    const settled = pipeline.settle(callback);
    for (let count = 1; count < started; count += 1) await advance(t, 100);
    assert.equal(callback.attempts.length, started);
    pipeline.dispose();
    await turn();
    assertIdle();
    for (const { fail } of callback.attempts.slice(1)) fail(boom);
    await advance(t, 1000);
    assert.equal(callback.attempts.length, started);
    assert.equal(callback.attempts[0].context.signal.aborted, false);
    callback.attempts[0].finish('in its own time');
    assert.deepEqual({ ...(await settled) }, { ok: true, result: 'in its own time' });
    const late = await rejection(pipeline.execute(callback));
    assert.equal(late.code, 'PIPELINE_DISPOSED');
  }
});

test('after a dispose, failures end it with the outcome of the last to end', async (t) => {
  simulate(t);
  const callback = attempted();
  let hedged = 0;
  const pipeline = withHedging({ maxHedgedAttempts: 5, delay: 100, onHedging: () => (hedged += 1) });
  const error = rejection(pipeline.execute(callback));
  await advance(t, 100);
  pipeline.dispose();
  callback.attempts[1].fail(new Error('first'));
  await turn();
  callback.attempts[0].fail(boom);
  assert.equal(await error, boom);
  assert.deepEqual([callback.attempts.length, hedged], [2, 1]);
});

test('a dispose in onHedging: that attempt does not start', async () => {
  const callback = scripted(boom);
  const pipeline = withHedging({ delay: Infinity, onHedging: () => pipeline.dispose() });
  assert.equal(await rejection(pipeline.execute(callback)), boom);
  assert.equal(callback.calls, 1);
  assertIdle();
});

test('no delay is left behind by an attempt that a failure started', async () => {
  const callback = scripted(boom, boom, 'saved');
  assert.equal(await withHedging({ maxHedgedAttempts: 5, delay: '1h' }).execute(callback), 'saved');
  assertIdle();
});

test("a loser's permit comes back with the result, and it gives an adaptive limiter no sample", async (t) => {
  simulate(t);
  const samples = [];
  const algorithm = {
    onSample: ({ rtt, dropped, limit }) => {
      samples.push([rtt, dropped]);
      return limit;
    },
  };
  const pipeline = new ResiliencePipelineBuilder()
    .addHedging({ delay: 100 })
    .addAdaptiveConcurrencyLimiter({ algorithm, shouldDrop: () => true })
    .build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  const callback = attempted();
  const result = pipeline.execute(callback);
  await advance(t, 100);
  assert.equal(limiter.inflight, 2);
  await advance(t, 30);
  callback.attempts[1].finish('hedged');
  assert.equal(await result, 'hedged');
  assertIdle(limiter);
  assert.deepEqual(samples, [[30, true]]);
  callback.attempts[0].fail(boom);
  await turn();
  assert.equal(samples.length, 1);
});

test('a loser that waits for a permit leaves the queue', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder()
    .addHedging({ delay: 100 })
    .addConcurrencyLimiter(1, 5)
    .build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  const callback = attempted();
  const result = pipeline.execute(callback);
  await advance(t, 100);
  assert.deepEqual([limiter.inflight, limiter.queued, callback.attempts.length], [1, 1, 1]);
  callback.attempts[0].finish('first');
  assert.equal(await result, 'first');
  await turn();
  assertIdle(limiter);
});
