import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { scripted } from './support/attempts.mjs';
import { deferred } from './support/deferred.mjs';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const boom = new Error('boom');
const once = { repeatable: false };
const builder = () => new ResiliencePipelineBuilder();

test('retry does not start it again', async () => {
  const pipeline = builder().addRetry({ delay: 0 }).build();
  for (const [options, calls] of [
    [once, 1],
    [{ repeatable: true }, 4],
    [{ repeatable: undefined }, 4],
    [{}, 4],
  ]) {
    const callback = scripted(boom);
    assert.equal(await rejection(pipeline.execute(callback, options)), boom);
    assert.equal(callback.calls, calls, JSON.stringify(options));
    const settled = scripted(boom);
    assert.equal((await pipeline.settle(settled, options)).error, boom);
    assert.equal(settled.calls, calls, JSON.stringify(options));
  }
});

test('retry and its budget are done with it: no onRetry, no delay, nothing taken', async () => {
  const events = [];
  const pipeline = builder()
    .addRetry({ onRetry: () => events.push('onRetry'), delayGenerator: () => events.push('delay') })
    .build();
  assert.equal(await rejection(pipeline.execute(scripted(boom), once)), boom);
  assert.deepEqual(events, []);
});

test('hedging does not start it again, neither after its delay nor after a failure', async (t) => {
  simulate(t);
  for (const delay of [0, 100, Infinity]) {
    const pipeline = builder().addHedging({ delay, maxHedgedAttempts: 3 }).build();
    let calls = 0;
    const { promise, resolve } = deferred();
    const result = pipeline.execute(() => {
      calls += 1;
      return promise;
    }, once);
    await turn();
    t.mock.timers.tick(1000);
    await turn();
    assert.equal(calls, 1, `delay ${delay}`);
    resolve('late');
    assert.equal(await result, 'late');

    const callback = scripted(boom, 'second');
    assert.equal(await rejection(pipeline.execute(callback, once)), boom);
    assert.equal(callback.calls, 1, `delay ${delay}`);
  }
});

test('what was refused before it started is retried', async () => {
  for (const add of [
    (own, release) => own.addRetry({ delay: 1, maxRetryAttempts: 1, onRetry: release }),
    (own, release) => own.addRetry({ delay: 1 }).addHedging({ delay: Infinity, onHedging: release }),
  ]) {
    const pipeline = add(builder(), () => held.finish()).addConcurrencyLimiter(1).build();
    const held = hold(pipeline);
    await turn();
    const callback = scripted('done');
    assert.equal(await pipeline.execute(callback, once), 'done');
    assert.equal(callback.calls, 1);
    await held.promise;
    assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
  }
});

test('hedging has one attempt at a time, so that two in a queue cannot both start it', async (t) => {
  simulate(t);
  const pipeline = builder().addHedging({ delay: 10, maxHedgedAttempts: 5 }).addConcurrencyLimiter(1, 10).build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  const held = hold(pipeline, once);
  await turn();
  const callback = scripted('done');
  const waiting = pipeline.execute(callback, once);
  await turn();
  t.mock.timers.tick(1000);
  await turn();
  assert.equal(limiter.queued, 1);
  held.finish();
  assert.equal(await waiting, 'done');
  assert.equal(callback.calls, 1);
  await held.promise;
  assertIdle(limiter);
});

test('an attempt that timed out before it started it is retried, one that timed out after is not', async (t) => {
  simulate(t);
  const pipeline = builder()
    .addRetry({ delay: 0, maxRetryAttempts: 1 })
    .addTimeout({ timeoutGenerator: ({ context }) => (context.operationKey === 'held' ? Infinity : 100) })
    .addConcurrencyLimiter(1, 10)
    .build();
  const held = hold(pipeline, { operationKey: 'held' });
  await turn();
  const callback = scripted('done');
  const waiting = pipeline.execute(callback, once);
  await turn();
  t.mock.timers.tick(100);
  await turn();
  assert.equal(pipeline.getStrategy('ConcurrencyLimiter').queued, 1);
  held.finish();
  assert.equal(await waiting, 'done');
  assert.equal(callback.calls, 1);

  let calls = 0;
  const slow = pipeline.execute(() => {
    calls += 1;
    return new Promise(() => {});
  }, once);
  slow.catch(() => {});
  await turn();
  t.mock.timers.tick(100);
  assert.equal((await rejection(slow)).code, 'TIMEOUT');
  t.mock.timers.tick(1000);
  await turn();
  assert.equal(calls, 1);
});

test('a strategy of the user that runs it twice gets an error for the second time', async () => {
  const outcomes = [];
  const twice = () => ({
    name: 'Twice',
    async execute(next, context) {
      outcomes.push(await next(context));
      outcomes.push(await next(context));
      return outcomes[0];
    },
  });
  const pipeline = builder().add(twice).build();
  const callback = scripted('first', 'second');
  assert.equal(await pipeline.execute(callback, once), 'first');
  assert.equal(callback.calls, 1);
  assert.match(outcomes[1].error.message, /^the callback was started already, and is not repeatable$/);
});

test('a retry knows through strategies of the user and other combinators', async () => {
  const own = () => ({ name: 'Own', execute: (next, context) => next(context) });
  const pipeline = builder()
    .addRetry({ delay: 0 })
    .addFallback({ fallbackAction: ({ outcome }) => Promise.reject(outcome.error) })
    .add(own)
    .addRetry({ delay: 0, name: 'Inner' })
    .addTimeout('1s')
    .build();
  const callback = scripted(boom);
  assert.equal(await rejection(pipeline.execute(callback, once)), boom);
  assert.equal(callback.calls, 1);
});

test('it holds for no execution inside, and for no later one', async () => {
  const outer = builder().addRetry({ delay: 0 }).build();
  const inner = builder().addRetry({ delay: 0 }).build();
  const nested = scripted(boom);
  let calls = 0;
  const callback = () => {
    calls += 1;
    return inner.execute(nested);
  };
  assert.equal(await rejection(outer.execute(callback, once)), boom);
  assert.deepEqual([calls, nested.calls], [1, 4]);
  // The same function again, without the option.
  await rejection(outer.execute(callback));
  assert.deepEqual([calls, nested.calls], [5, 20]);
  // The same pipeline inside itself.
  const own = scripted(boom);
  await rejection(outer.execute(() => outer.execute(own), once));
  assert.equal(own.calls, 4);
});

test('an option that is no boolean is refused', async () => {
  const pipeline = builder().addRetry().build();
  for (const repeatable of [null, 0, 1, 'false', {}]) {
    const error = await rejection(pipeline.execute(() => 1, { repeatable }));
    assert.equal(error.name, 'TypeError');
    assert.match(error.message, /^repeatable must be a boolean, not /);
  }
  const error = await rejection(pipeline.execute(() => 1, { repeat: false }));
  assert.equal(
    error.message,
    "execute has no option 'repeat'; did you mean 'repeatable'? it takes signal, properties, operationKey, " +
      'repeatable, detached',
  );
});
