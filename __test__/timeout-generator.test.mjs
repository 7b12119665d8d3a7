import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { hold, rejection, simulate, turn } from './support/hold.mjs';

const never = () => new Promise(() => {});

test("timeoutGenerator computes each execution's own time from its context", async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout({ timeoutGenerator: ({ context }) => context.properties.get('budget') })
    .build();
  for (const [budget, ms] of [
    [30, 30],
    ['0.5s', 500],
  ]) {
    const held = hold(pipeline, { properties: [['budget', budget]] });
    t.mock.timers.tick(ms - 1);
    assert.equal(held.context.signal.aborted, false);
    t.mock.timers.tick(1);
    assert.equal((await rejection(held.promise)).timeout, ms);
  }
});

test('timeoutGenerator may be asynchronous; the time runs from its answer on', async (t) => {
  simulate(t);
  for (const answer of [async () => 100, () => ({ then: (resolve) => resolve('100ms') })]) {
    const held = hold(new ResiliencePipelineBuilder().addTimeout({ timeoutGenerator: answer }).build());
    t.mock.timers.tick(50);
    await turn();
    assert.equal(held.running, true);
    t.mock.timers.tick(99);
    assert.equal(held.context.signal.aborted, false);
    t.mock.timers.tick(1);
    assert.equal((await rejection(held.promise)).timeout, 100);
  }
});

for (const left of [0, -0, -1, -1e9, '0ms']) {
  test(`a remaining budget of ${Object.is(left, -0) ? '-0' : left} rejects at once, uncalled`, async () => {
    const seen = [];
    const pipeline = new ResiliencePipelineBuilder()
      .addConcurrencyLimiter(1)
      .addTimeout({ timeoutGenerator: () => left, onTimeout: ({ timeout }) => seen.push(timeout) })
      .build();
    const held = hold(pipeline);
    const error = await rejection(held.promise);
    assert.equal(error.code, 'TIMEOUT');
    assert.equal(error.timeout, left === '0ms' ? 0 : left);
    assert.equal(held.running, false);
    assert.deepEqual(seen, [error.timeout]);
    assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 0);
    assert.equal(pipeline.getStrategy('Timeout').abandoned, 0);
  });
}

for (const [generated, name] of [
  [NaN, 'RangeError'],
  ['soon', 'RangeError'],
  ['-5ms', 'RangeError'],
  [undefined, 'TypeError'],
  [null, 'TypeError'],
  [{}, 'TypeError'],
  [true, 'TypeError'],
  [5n, 'TypeError'],
]) {
  test(`timeoutGenerator returning ${String(generated)} fails that execution with a ${name}`, async () => {
    for (const timeoutGenerator of [() => generated, async () => generated]) {
      const pipeline = new ResiliencePipelineBuilder()
        .addConcurrencyLimiter(1)
        .addTimeout({ timeoutGenerator })
        .build();
      const held = hold(pipeline);
      const error = await rejection(held.promise);
      assert.equal(error.name, name);
      assert.match(error.message, /^the result of timeoutGenerator must be a number of milliseconds or /);
      assert.equal(held.running, false);
      assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 0);
    }
  });
}

test('a timeoutGenerator that throws or rejects fails that execution only', async () => {
  const mine = new Error('mine');
  const answers = [
    () => {
      throw mine;
    },
    async () => {
      throw mine;
    },
    () => 1000,
  ];
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter(1)
    .addTimeout({ timeoutGenerator: () => answers.shift()() })
    .build();
  assert.equal(await rejection(pipeline.execute(() => 1)), mine);
  assert.equal(await rejection(pipeline.execute(() => 1)), mine);
  assert.equal(await pipeline.execute(() => 1), 1);
  assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 0);
});

test('an abort ends the wait for an asynchronous timeoutGenerator', async () => {
  const controller = new AbortController();
  const pipeline = new ResiliencePipelineBuilder().addTimeout({ timeoutGenerator: never }).build();
  const held = hold(pipeline, { signal: controller.signal });
  controller.abort('left');
  assert.equal(await rejection(held.promise), 'left');
  assert.equal(held.running, false);
});

test('a generated promise whose own `then` gives no promise is read like any other', async () => {
  const odd = Promise.resolve(60_000);
  odd.then = (resolve) => void resolve(60_000);
  const pipeline = new ResiliencePipelineBuilder().addTimeout({ timeoutGenerator: () => odd }).build();
  assert.equal(await pipeline.execute(() => 'done'), 'done');
});
