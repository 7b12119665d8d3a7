import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { advance, assertLost, attempted } from './support/attempts.mjs';
import { rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';
import { generator } from './support/mix.mjs';

const boom = new Error('boom');
const withHedging = (options) => new ResiliencePipelineBuilder().addHedging(options).build();

test('an attempt that is fast enough stays alone, and its signal is not aborted', async (t) => {
  simulate(t);
  const callback = attempted();
  const result = withHedging().execute(callback);
  await advance(t, 1999);
  callback.attempts[0].finish('fast');
  assert.equal(await result, 'fast');
  assertIdle();
  await advance(t, 10_000);
  assert.equal(callback.attempts.length, 1);
  assert.equal(callback.attempts[0].context.signal.aborted, false);
});

test('a value in whatever form, also from a callback that is synchronous', async () => {
  const pipeline = withHedging();
  assert.equal(await pipeline.execute(() => 1), 1);
  assert.equal(await pipeline.execute(() => undefined), undefined);
  assert.equal(await pipeline.execute(() => ({ then: (resolve) => resolve('thenable') })), 'thenable');
  assertIdle();
});

test('after the delay, 2000 ms by default, one more attempt starts, and the faster one wins', async (t) => {
  simulate(t);
  for (const winner of [0, 1]) {
    const callback = attempted();
    const result = withHedging().execute(callback);
    await advance(t, 1999);
    assert.equal(callback.attempts.length, 1);
    await advance(t, 1);
    assert.equal(callback.attempts.length, 2);
    await advance(t, 10_000);
    assert.equal(callback.attempts.length, 2, 'one hedged attempt, by default');
    callback.attempts[winner].finish(`attempt ${winner}`);
    assert.equal(await result, `attempt ${winner}`);
    assertLost(callback.attempts[1 - winner]);
    assert.equal(callback.attempts[winner].context.signal.aborted, false, 'a returned stream stays readable');
    callback.attempts[1 - winner].fail(new Error('late'));
    await turn();
    assertIdle();
  }
});

test('each further attempt comes a delay after the one before', async (t) => {
  simulate(t);
  const callback = attempted();
  const result = withHedging({ maxHedgedAttempts: 3, delay: '100ms' }).execute(callback);
  for (const attempts of [1, 2, 3]) {
    await advance(t, 99);
    assert.equal(callback.attempts.length, attempts);
    await advance(t, 1);
    assert.equal(callback.attempts.length, attempts + 1);
  }
  await advance(t, 1000);
  assert.equal(callback.attempts.length, 4);
  callback.attempts[2].finish('third');
  assert.equal(await result, 'third');
  for (const loser of [0, 1, 3]) assertLost(callback.attempts[loser]);
  assertIdle();
});

test('delay 0 starts all attempts at once', async () => {
  const callback = attempted();
  const result = withHedging({ maxHedgedAttempts: 2, delay: 0 }).execute(callback);
  assert.equal(callback.attempts.length, 3);
  callback.attempts[1].finish('second');
  assert.equal(await result, 'second');
  for (const loser of [0, 2]) assertLost(callback.attempts[loser]);
  assertIdle();
});

test('delay Infinity starts an attempt only after a failure', async (t) => {
  simulate(t);
  const callback = attempted();
  const result = withHedging({ maxHedgedAttempts: 2, delay: Infinity }).execute(callback);
  await advance(t, 86_400_000);
  assert.equal(callback.attempts.length, 1);
  callback.attempts[0].fail(boom);
  await turn();
  assert.equal(callback.attempts.length, 2);
  await advance(t, 86_400_000);
  assert.equal(callback.attempts.length, 2);
  callback.attempts[1].finish('saved');
  assert.equal(await result, 'saved');
  assertIdle();
});

test('a failure starts the next attempt at once, and the delay anew', async (t) => {
  simulate(t);
  const callback = attempted();
  const result = withHedging({ maxHedgedAttempts: 3, delay: 100 }).execute(callback);
  await advance(t, 60);
  callback.attempts[0].fail(boom);
  await turn();
  assert.equal(callback.attempts.length, 2);
  await advance(t, 99);
  assert.equal(callback.attempts.length, 2);
  await advance(t, 1);
  assert.equal(callback.attempts.length, 3);
  callback.attempts[1].fail(boom);
  callback.attempts[2].fail(boom);
  await turn();
  assert.equal(callback.attempts.length, 4);
  callback.attempts[3].finish('last');
  assert.equal(await result, 'last');
  assertIdle();
});

test('two that fail at the same instant are replaced by two', async (t) => {
  simulate(t);
  const callback = attempted();
  const result = withHedging({ maxHedgedAttempts: 4, delay: 100 }).execute(callback);
  await advance(t, 100);
  callback.attempts[0].fail(boom);
  callback.attempts[1].fail(boom);
  await turn();
  assert.equal(callback.attempts.length, 4);
  callback.attempts[2].finish('saved');
  assert.equal(await result, 'saved');
  assertLost(callback.attempts[3]);
  assertIdle();
});

test('a failure at the very instant of the delay starts one attempt, not two', async (t) => {
  simulate(t);
  const callback = attempted();
  const pipeline = withHedging({
    maxHedgedAttempts: 5,
    delay: 100,
    shouldHandle: ({ outcome }) => {
      if (!outcome.ok) t.mock.timers.tick(100);
      return !outcome.ok;
    },
  });
  const result = pipeline.execute(callback);
  callback.attempts[0].fail(boom);
  await turn();
  assert.equal(callback.attempts.length, 2);
  await advance(t, 100);
  assert.equal(callback.attempts.length, 3);
  callback.attempts[1].finish('saved');
  assert.equal(await result, 'saved');
  assertIdle();
});

test('when all attempts fail, the outcome is that of the last to end', async (t) => {
  simulate(t);
  for (const order of [[0, 1, 2], [2, 1, 0], [1, 2, 0]]) {
    const callback = attempted();
    const error = rejection(withHedging({ maxHedgedAttempts: 2, delay: 0 }).execute(callback));
    for (const index of order) {
      callback.attempts[index].fail(new Error(`attempt ${index}`));
      await turn();
    }
    assert.equal((await error).message, `attempt ${order[2]}`);
    assertIdle();
  }
});

test('while one attempt runs, the failures of the others decide nothing', async () => {
  const callback = attempted();
  const result = withHedging({ maxHedgedAttempts: 2, delay: 0 }).execute(callback);
  callback.attempts[0].fail(boom);
  callback.attempts[2].fail(boom);
  await turn();
  callback.attempts[1].finish('slow and steady');
  assert.equal(await result, 'slow and steady');
});

test('of two that end at the same instant the first wins', async () => {
  for (const [ends, expected] of [
    [[['finish', 0], ['finish', 1]], 0],
    [[['finish', 1], ['finish', 0]], 1],
    [[['fail', 0], ['finish', 1]], 1],
    [[['finish', 1], ['fail', 0]], 1],
  ]) {
    const callback = attempted();
    const result = withHedging({ delay: 0 }).execute(callback);
    for (const [end, index] of ends) callback.attempts[index][end](index);
    assert.equal(await result, expected);
    await turn();
    assertIdle();
  }
});

test('an end at the very instant of the delay: no attempt starts after the result', async (t) => {
  simulate(t);
  for (const endFirst of [true, false]) {
    const callback = attempted();
    const result = withHedging({ delay: 100 }).execute(callback);
    await turn();
    if (endFirst) callback.attempts[0].finish('fast');
    t.mock.timers.tick(100);
    if (!endFirst) callback.attempts[0].finish('fast');
    assert.equal(await result, 'fast');
    const { length } = callback.attempts;
    await turn();
    assert.equal(callback.attempts.length, length);
    if (length === 2) assertLost(callback.attempts[1]);
    assertIdle();
  }
});

test('two pipelines have races of their own', async (t) => {
  simulate(t);
  const pipeline = withHedging({ delay: 100 });
  const callbacks = [attempted(), attempted()];
  const results = callbacks.map((callback) => pipeline.execute(callback));
  await advance(t, 100);
  callbacks[0].attempts[0].finish(0);
  assert.equal(await results[0], 0);
  assert.deepEqual(callbacks[1].attempts.map(({ context }) => context.signal.aborted), [false, false]);
  callbacks[1].attempts[1].finish(1);
  assert.equal(await results[1], 1);
  assert.equal(pipeline.getStrategy('Hedging').name, 'Hedging');
});

test('a thousand races at random: all settle, nothing is left, no rejection is unhandled', async (t) => {
  const unhandled = t.mock.fn();
  process.on('unhandledRejection', unhandled);
  t.after(() => process.off('unhandledRejection', unhandled));
  const random = generator(20_260_405);
  const pipeline = new ResiliencePipelineBuilder()
    .addHedging({ maxHedgedAttempts: 3, delay: 1 })
    .addConcurrencyLimiter(50, 10_000)
    .build();
  const settled = Array.from({ length: 1000 }, () => {
    const controller = new AbortController();
    const running = pipeline.settle(async () => {
      const turns = Math.floor(random() * 20);
      for (let count = 0; count < turns; count += 1) await turn();
      if (random() < 0.5) throw boom;
      return 'fine';
    }, { signal: controller.signal });
    if (random() < 0.2) turn().then(turn).then(() => controller.abort('left'));
    return running;
  });
  const ends = new Set();
  for (const { ok, result, error } of await Promise.all(settled)) ends.add(ok ? result : error);
  assert.deepEqual(ends, new Set(['fine', boom, 'left']));
  await turn();
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
  assert.equal(unhandled.mock.callCount(), 0);
});

test('options of the wrong type or out of range are errors that name them', () => {
  const types = {
    maxHedgedAttempts: [null, '1', {}, true],
    delay: [null, true, {}],
    actionGenerator: [null, {}, 'x'],
    shouldHandle: [null, {}, true],
    onHedging: [null, {}, 1],
    name: [null, 1],
  };
  const ranges = {
    maxHedgedAttempts: [0, -1, 11, 1.5, NaN, Infinity],
    delay: [-1, NaN, -Infinity, '', '-1s', 'Infinity'],
    name: [''],
  };
  for (const [name, table] of [['TypeError', types], ['RangeError', ranges]]) {
    for (const [option, values] of Object.entries(table)) {
      for (const value of values) {
        const message = new RegExp(`^${option} must be .*, not `);
        assert.throws(() => withHedging({ [option]: value }), { name, message });
      }
    }
  }
  assert.throws(() => withHedging({ max: 3 }), /^TypeError: addHedging has no option 'max'; it takes max/);
  for (const options of [null, 3, 'x', () => 1, []]) {
    assert.throws(() => withHedging(options), /^TypeError: the options of addHedging must be an object/);
  }
  withHedging({ maxHedgedAttempts: 10, delay: Infinity });
  withHedging({ delay: '0ms', name: undefined });
});
