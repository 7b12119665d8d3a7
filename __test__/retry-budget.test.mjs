import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { ResiliencePipelineBuilder, retryBudget } from '@ylcnfrht/resilience';
import { advance, scripted } from './support/attempts.mjs';
import { rejection, simulate } from './support/hold.mjs';

const boom = new Error('boom');
const withBudget = (budget, maxRetryAttempts = 1) =>
  new ResiliencePipelineBuilder().addRetry({ budget, maxRetryAttempts, delay: 0 }).build();

/** How many retries an execution that always fails gets. */
async function retriesOf(pipeline) {
  const callback = scripted(boom);
  assert.equal(await rejection(pipeline.execute(callback)), boom);
  return callback.calls - 1;
}

test('a new budget has its reserve of ten seconds', () => {
  assert.equal(retryBudget().balance, 100);
  assert.equal(retryBudget({ minPerSecond: 0.5 }).balance, 5);
  assert.equal(retryBudget({ minPerSecond: 0.25 }).balance, 2);
  assert.equal(retryBudget({ minPerSecond: 0 }).balance, 0);
});

test('every first attempt adds its share, every retry takes one, a refused one fails as it is', async (t) => {
  simulate(t);
  const budget = retryBudget({ ratio: 0.5, minPerSecond: 0 });
  const pipeline = withBudget(budget);
  const retries = [];
  for (let run = 0; run < 6; run += 1) retries.push(await retriesOf(pipeline));
  assert.deepEqual(retries, [0, 1, 0, 1, 0, 1]);
  assert.equal(budget.balance, 0);
  for (let run = 0; run < 3; run += 1) await pipeline.execute(() => 'fine');
  assert.equal(budget.balance, 1);
});

test('at 0 and 0 there are no retries, whatever the traffic', async () => {
  const budget = retryBudget({ ratio: 0, minPerSecond: 0 });
  const pipeline = withBudget(budget, 5);
  for (let run = 0; run < 10; run += 1) assert.equal(await retriesOf(pipeline), 0);
});

test('the retries of one execution are as many as the budget has', async (t) => {
  simulate(t);
  const budget = retryBudget({ ratio: 0, minPerSecond: 0.3 });
  assert.equal(await retriesOf(withBudget(budget, Infinity)), 3);
  assert.equal(budget.balance, 0);
});

test('pipelines that share a budget share its retries, and its first attempts', async (t) => {
  simulate(t);
  const budget = retryBudget({ ratio: 0.2, minPerSecond: 0 });
  const [healthy, broken] = [withBudget(budget), withBudget(budget, 10)];
  for (let run = 0; run < 14; run += 1) await healthy.execute(() => 'fine');
  assert.equal(budget.balance, 2);
  assert.equal(await retriesOf(broken), 3);
  assert.equal(await retriesOf(healthy), 0);
});

test('what is ten seconds old counts no more', async (t) => {
  simulate(t);
  const budget = retryBudget({ ratio: 1, minPerSecond: 0.1 });
  const pipeline = withBudget(budget, Infinity);
  for (let run = 0; run < 4; run += 1) await pipeline.execute(() => 'fine');
  assert.equal(budget.balance, 5);
  assert.equal(await retriesOf(pipeline), 6);
  assert.equal(budget.balance, 0);
  await advance(t, 8999);
  assert.equal(budget.balance, 0);
  await advance(t, 1001);
  assert.equal(budget.balance, 1);
  await advance(t, 86_400_000);
  assert.equal(budget.balance, 1);
});

test('rounding takes no retry: 0.29 of 100 first attempts is 29', async (t) => {
  simulate(t);
  const budget = retryBudget({ ratio: 0.29, minPerSecond: 0 });
  const pipeline = withBudget(budget);
  for (let run = 0; run < 100; run += 1) await pipeline.execute(() => 'fine');
  assert.equal(budget.balance, 29);
});

test('an outcome that is not retried takes nothing', async () => {
  const budget = retryBudget({ ratio: 0, minPerSecond: 1 });
  const refuses = new ResiliencePipelineBuilder()
    .addRetry({ budget, delay: 0, shouldHandle: () => false })
    .build();
  assert.equal(await retriesOf(refuses), 0);
  assert.equal(await retriesOf(withBudget(budget, 0)), 0);
  assert.equal(budget.balance, 10);
});

test('whatever the traffic, a retry is taken or refused as the last ten seconds say', async (t) => {
  simulate(t);
  const steps = fc.array(
    fc.record({ wait: fc.integer({ min: 0, max: 4000 }), failures: fc.integer({ min: 0, max: 6 }) }),
    { minLength: 1, maxLength: 40 },
  );
  const rule = fc.record({
    ratio: fc.constantFrom(0, 0.1, 0.2, 0.5, 1, 2),
    minPerSecond: fc.constantFrom(0, 0.1, 0.5, 1),
  });
  await fc.assert(
    fc.asyncProperty(rule, steps, async (given, list) => {
      const pipeline = withBudget(retryBudget(given), Infinity);
      const log = [];
      for (const { wait, failures } of list) {
        await advance(t, wait);
        const callback = scripted(...Array(failures).fill(boom), 'saved');
        await pipeline.settle(callback);
        log.push({ at: Date.now(), retries: callback.calls - 1 });
        // The budget's window is of nine to ten seconds, since seconds begin at any moment.
        const since = (ms) => log.filter(({ at }) => at > Date.now() - ms);
        const total = (entries) => entries.reduce((sum, { retries }) => sum + retries, 0);
        const most = given.ratio * since(10_000).length + given.minPerSecond * 10;
        if (callback.calls > 1) assert.ok(total(since(9000)) <= most + 1e-9, 'too many retries');
        const least = given.ratio * since(9000).length + given.minPerSecond * 10;
        const refused = callback.calls <= failures;
        if (refused) assert.ok(total(since(10_000)) + 1 > least - 1e-9, 'refused too early');
      }
    }),
    { seed: 20_260_404, numRuns: 60 },
  );
});

test('options of the wrong type or out of range are errors that name them', () => {
  for (const option of ['ratio', 'minPerSecond']) {
    for (const value of [null, '1', true, {}, 1n]) {
      assert.throws(() => retryBudget({ [option]: value }), {
        name: 'TypeError',
        message: new RegExp(`^${option} must be a number of at least 0, not `),
      });
    }
    for (const value of [-1, -0.1, NaN, Infinity]) {
      assert.throws(() => retryBudget({ [option]: value }), {
        name: 'RangeError',
        message: new RegExp(`^${option} must be a number of at least 0, not `),
      });
    }
    retryBudget({ [option]: 0 });
  }
  assert.throws(() => retryBudget(10), /^TypeError: the options of retryBudget must be an object/);
  assert.throws(() => retryBudget({ max: 1 }), /^TypeError: retryBudget has no option 'max'; it takes ratio/);
});

test('only what retryBudget returns is a budget', () => {
  const budget = retryBudget();
  const hollow = Object.create(Object.getPrototypeOf(budget));
  for (const other of [hollow, new Proxy(budget, {}), { balance: 1 }, 5]) {
    assert.throws(() => withBudget(other), /^TypeError: budget must be what retryBudget\(\) returns, not /);
  }
  assert.throws(() => {
    budget.balance = 5;
  }, TypeError);
});
