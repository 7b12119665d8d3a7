// Counts the calls from JavaScript into the addon. For that the native closures have to be wrapped before
// anything else of the package loads: the one test that reaches inside.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import test from 'node:test';

const require = createRequire(import.meta.url);
const { hot } = require('../lib/native.js');
const calls = [];
// Counted apart: the one timer may fire for a deadline that an earlier test armed and disarmed.
let ticks = 0;
for (const [name, closure] of Object.entries(hot)) {
  hot[name] = (...args) => {
    if (name === 'tick') ticks += 1;
    else calls.push(name);
    return closure(...args);
  };
}
const { ResiliencePipelineBuilder } = require('@ylcnfrht/resilience');

const { hold, rejection, turn } = await import('./support/hold.mjs');

/** The crossings of what `run` does. */
async function crossings(run) {
  calls.length = 0;
  await run();
  return calls.splice(0);
}

const builder = () => new ResiliencePipelineBuilder();
const succeeds = async () => 1;
const fails = async () => {
  throw new Error('boom');
};

for (const [name, pipeline, expected] of [
  ['nothing', builder().build(), []],
  ['a fallback', builder().addFallback({ fallbackValue: 1 }).build(), []],
  ['a timeout', builder().addTimeout(1000).build(), ['enter', 'exit']],
  ['a limiter and a timeout', builder().addConcurrencyLimiter(1).addTimeout(1000).build(), ['enter', 'exit']],
  [
    'a fixed limiter, an adaptive limiter and a timeout',
    builder().addConcurrencyLimiter(1).addAdaptiveConcurrencyLimiter().addTimeout(1000).build(),
    ['enter', 'exit'],
  ],
  [
    'a limiter and a timeout with a fallback between them',
    builder().addConcurrencyLimiter(1).addFallback({ fallbackValue: 1 }).addTimeout(1000).build(),
    ['enter', 'enter', 'exit', 'exit'],
  ],
  [
    'a limiter with a priority behind another limiter',
    builder()
      .addAdaptiveConcurrencyLimiter()
      .addConcurrencyLimiter({ permitLimit: 1, priority: () => 1 })
      .build(),
    ['enter', 'enter', 'exit', 'exit'],
  ],
]) {
  test(`${name}: ${expected.length} crossings, in success and in failure`, async () => {
    assert.deepEqual(await crossings(() => pipeline.execute(succeeds)), expected);
    assert.deepEqual(await crossings(() => pipeline.execute(() => 1)), expected);
    assert.deepEqual(await crossings(() => Promise.allSettled([pipeline.execute(fails)])), expected);
    assert.deepEqual(
      await crossings(() => pipeline.settle(fails, { signal: new AbortController().signal })),
      expected,
    );
  });
}

test('a waiter needs no crossing more than one that runs at once', async () => {
  const pipeline = builder()
    .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 9, queueTimeout: 10_000 })
    .addTimeout(10_000)
    .build();
  const made = await crossings(() =>
    Promise.all(Array.from({ length: 10 }, () => pipeline.execute(succeeds))),
  );
  assert.deepEqual(made.sort(), [...Array(10).fill('enter'), ...Array(10).fill('exit')]);
});

test('a rejection at the door is one crossing', async () => {
  const pipeline = builder().addConcurrencyLimiter(1).addTimeout(1000).build();
  const held = hold(pipeline);
  assert.deepEqual(await crossings(() => rejection(pipeline.execute(succeeds))), ['enter']);
  held.finish();
  await held.promise;
});

test('an abort before the start is none, one while it waits or runs is the exit', async () => {
  const pipeline = builder().addConcurrencyLimiter(1, 1).addTimeout(1000).build();
  const signal = AbortSignal.abort('left');
  assert.deepEqual(await crossings(() => rejection(pipeline.execute(succeeds, { signal }))), []);
  const controllers = [new AbortController(), new AbortController()];
  const held = controllers.map((controller) => hold(pipeline, { signal: controller.signal }));
  assert.deepEqual(await crossings(() => controllers[1].abort()), ['exit']);
  assert.deepEqual(await crossings(() => controllers[0].abort()), ['exit']);
  await Promise.all(held.map(({ promise }) => rejection(promise)));
});

test('deadlines that pass cost a tick together and an exit each', async () => {
  const pipeline = builder().addConcurrencyLimiter(5).addTimeout(5).build();
  const held = Array.from({ length: 5 }, () => hold(pipeline));
  const before = ticks;
  const made = await crossings(() => Promise.all(held.map(({ promise }) => rejection(promise))));
  assert.deepEqual(made, Array(5).fill('exit'));
  assert.ok(ticks > before);
  for (const { finish } of held) finish();
  assert.deepEqual(await crossings(turn), []);
});

test('an algorithm in JavaScript is one crossing more for each sample', async () => {
  const pipeline = builder()
    .addAdaptiveConcurrencyLimiter({ algorithm: { onSample: ({ limit }) => limit } })
    .build();
  assert.deepEqual(await crossings(() => pipeline.execute(succeeds)), ['enter', 'exit', 'applyLimit']);
  assert.deepEqual(await crossings(() => pipeline.settle(fails)), ['enter', 'exit']);
});

test('reading the live counts is a crossing for each number and none for the name', async () => {
  const pipeline = builder().addConcurrencyLimiter(1).build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  assert.deepEqual(await crossings(() => [limiter.name, limiter.permitLimit]), []);
  assert.deepEqual(await crossings(() => [limiter.inflight, limiter.queued]), ['inflight', 'queued']);
});
