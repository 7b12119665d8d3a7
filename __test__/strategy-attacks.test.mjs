import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AdaptiveLimitProvider,
  CircuitBreakerManualControl,
  CircuitBreakerStateProvider,
  ResiliencePipelineBuilder,
  retryBudget,
} from '@ylcnfrht/resilience';
import { boom, openCircuit } from './support/circuit.mjs';
import { hold, simulate } from './support/hold.mjs';

/** A promise whose own `then` tells of its end, but answers with one that rejects. */
function hostilePromise() {
  const refused = Promise.reject(new Error('hostile'));
  refused.catch(() => {});
  const then = (resolve) => {
    resolve();
    return refused;
  };
  return Object.assign(Promise.resolve(), { then });
}

/** Calls `callback` in the midst of what the end of another execution brings about. */
async function amidEffects(callback) {
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ algorithm: 'aimd', shouldDrop: () => true, onLimitChanged: callback })
    .build();
  await pipeline.execute(() => {});
}

test('a promise of onRetry with a then of its own changes no outcome', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addRetry({ delay: 0, maxRetryAttempts: 1, onRetry: hostilePromise })
    .build();
  let calls = 0;
  const outcome = await pipeline.settle(async () => {
    calls += 1;
    throw boom;
  });
  assert.deepEqual([outcome.error, calls], [boom, 2]);
});

test('a probe that succeeds at once, amid the effects of another execution, is told in order', async (t) => {
  simulate(t);
  const { pipeline, told, names } = await openCircuit();
  t.mock.timers.tick(1000);
  let probe;
  await amidEffects(() => {
    probe = pipeline.execute((context) => context);
  });
  const context = await probe;
  assert.deepEqual(names(), ['opened', 'half-opened', 'closed']);
  assert.equal(told[1][1].context, context);
});

test('a probe that is aborted at once, amid the effects of another execution, is told', async (t) => {
  simulate(t);
  const { pipeline, breaker, names } = await openCircuit();
  t.mock.timers.tick(1000);
  let probe;
  await amidEffects(() => {
    const controller = new AbortController();
    probe = hold(pipeline, { signal: controller.signal });
    controller.abort(boom);
  });
  await assert.rejects(probe.promise, boom);
  assert.deepEqual(names(), ['opened', 'half-opened']);
  assert.equal(breaker.state, 'half-open');
  await pipeline.execute(() => {});
  assert.deepEqual(names(), ['opened', 'half-opened', 'closed']);
});

for (const [how, back] of [
  ['a little', 1000],
  ['to before all that the core knows', 1e9],
]) {
  test(`a clock that a test puts back ${how} goes on from there`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1e9 });
    const budget = retryBudget({ ratio: 1, minPerSecond: 0 });
    const { pipeline: broken, breaker } = await openCircuit();
    const pipeline = new ResiliencePipelineBuilder()
      .addRetry({ budget })
      .addRateLimiter({ permitLimit: 4, window: 10_000 })
      .build();
    const limiter = pipeline.getStrategy('RateLimiter');
    const left = () => [breaker.state, limiter.available, budget.balance];
    for (let call = 0; call < 3; call += 1) await pipeline.execute(() => {});
    t.mock.timers.setTime(1e9 - back);
    assert.equal((await broken.settle(() => {})).error.retryAfter, 1000);
    await pipeline.execute(() => {});
    assert.deepEqual(left(), ['open', 0, 4]);
    t.mock.timers.tick(999);
    assert.deepEqual(left(), ['open', 0, 4]);
    t.mock.timers.tick(1);
    assert.deepEqual(left(), ['half-open', 0, 4]);
    t.mock.timers.tick(9000);
    assert.deepEqual(left(), ['half-open', 4, 0]);
  });
}

test('a build that fails attaches nothing', () => {
  let works = false;
  let opened = 0;
  const limitProvider = new AdaptiveLimitProvider();
  const stateProvider = new CircuitBreakerStateProvider();
  const manualControl = new CircuitBreakerManualControl();
  const builder = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ limitProvider })
    .addCircuitBreaker({ stateProvider, manualControl, onOpened: () => (opened += 1) })
    .add(() => (works ? { name: 'Own', execute: (next, context) => next(context) } : undefined));
  assert.throws(() => builder.build(), TypeError);
  manualControl.isolate();
  manualControl.close();
  assert.deepEqual([limitProvider.limit, stateProvider.state, opened], [0, 'closed', 0]);

  works = true;
  const pipeline = builder.build();
  manualControl.isolate();
  assert.deepEqual([limitProvider.limit, stateProvider.state, opened], [20, 'isolated', 1]);
  pipeline.dispose();
});
