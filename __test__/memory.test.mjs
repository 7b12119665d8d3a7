// What an execution or a pipeline leaves behind once it is over: nothing, in JavaScript and in the core.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { deferred } from './support/deferred.mjs';
import { assertIdle } from './support/idle.mjs';
import { makePipelines } from './support/mix.mjs';

const { thread } = createRequire(import.meta.url)('../lib/native.js');

const user = new AsyncLocalStorage();

/** How many of the objects are held for good. */
async function countHeld(references) {
  let held = references;
  for (let round = 0; round < 20 && held.length > 0; round += 1) {
    await setImmediate();
    globalThis.gc();
    held = held.filter((reference) => reference.deref() !== undefined);
  }
  return held.length;
}

/** Collects garbage until the core has `count` segments; gives how many it has at last. */
async function segmentsOnceCollected(count) {
  for (let round = 0; round < 50 && thread.segments !== count; round += 1) {
    globalThis.gc();
    await setImmediate();
  }
  return thread.segments;
}

const CALLBACKS = {
  'a value': async () => {},
  'a throw': () => {
    throw new Error('thrown');
  },
  'a deadline': () => new Promise(() => {}),
  'a nested call': (_context, inner) => inner.execute(async () => {}),
  'a nested call that is cut short': (_context, inner) => inner.execute(() => new Promise(() => {})),
};

for (const context of ['ambient', 'explicit']) {
  for (const [end, callback] of Object.entries(CALLBACKS)) {
    test(`nothing holds the store, the context or the signals after ${end} (${context})`, async () => {
      const make = () =>
        new ResiliencePipelineBuilder({ context })
          .addAdaptiveConcurrencyLimiter({ initialLimit: 2, minLimit: 2, queueLimit: 100 })
          .addTimeout(5)
          .build();
      const [outer, inner] = [make(), make()];
      const shared = new AbortController();
      const held = { stores: [], contexts: [], signals: [], callers: [] };
      const start = (index) => {
        const store = { index };
        const controller = new AbortController();
        held.stores.push(new WeakRef(store));
        held.callers.push(new WeakRef(controller.signal));
        const { signal } = index % 2 === 0 ? controller : shared;
        const run = (own) => {
          held.contexts.push(new WeakRef(own));
          if (index % 4 < 2) held.signals.push(new WeakRef(own.signal));
          return callback(own, inner);
        };
        return user.run(store, () => outer.settle(run, { signal }));
      };
      const startAll = async () => {
        for (const { ok } of await Promise.all(Array.from({ length: 20 }, (_, index) => start(index)))) {
          assert.equal(ok, end === 'a value' || end === 'a nested call');
        }
      };
      await startAll();
      assert.deepEqual([held.stores.length, held.contexts.length, held.signals.length], [20, 20, 10]);
      for (const [what, references] of Object.entries(held)) {
        assert.equal(await countHeld(references), 0, what);
      }
      assertIdle(...[outer, inner].map((pipeline) => pipeline.getStrategy('AdaptiveConcurrencyLimiter')));
    });
  }
}

test('nothing holds the store or the signal of a waiter that gave up', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 2, queueTimeout: 5, onRejected: () => {} })
    .addTimeout({ timeout: '1h', onTimeout: () => {} })
    .build();
  const end = deferred();
  const first = pipeline.execute(() => end.promise);
  const references = [];
  const runAll = async () => {
    const controllers = Array.from({ length: 3 }, () => new AbortController());
    const waiters = controllers.map(({ signal }, index) => {
      const store = { index };
      references.push(new WeakRef(store), new WeakRef(signal));
      return user.run(store, () => pipeline.settle(() => assert.fail('must not run'), { signal }));
    });
    controllers[0].abort('gone');
    const outcomes = await Promise.all(waiters);
    assert.deepEqual(outcomes.map(({ error }) => error.reason ?? error), ['gone', 'queue-timeout', 'full']);
  };
  await runAll();
  assert.equal(await countHeld(references), 0);
  end.resolve();
  await first;
});

test('a pipeline that nobody holds is collected with all that it has, in the core too', async () => {
  await segmentsOnceCollected(0);
  const before = thread.segments;
  // A function of its own, so that no variable of the test holds a pipeline.
  const use = async () => {
    const pipelines = Array.from({ length: 50 }, () => makePipelines(10)).flat();
    pipelines.forEach((pipeline, index) => {
      if (index % 3 === 0) pipeline.dispose();
    });
    await Promise.all(
      pipelines.map((pipeline) =>
        pipeline.settle(async () => {}, { properties: new Map([['timeout', 1000], ['priority', 0]]) }),
      ),
    );
    assert.equal(thread.segments, before + 50 * 6);
    return pipelines.map((pipeline) => new WeakRef(pipeline));
  };
  assert.equal(await countHeld(await use()), 0);
  assert.equal(await segmentsOnceCollected(before), before);
});

test('a pipeline lives as long as its last execution, and no longer', async () => {
  await segmentsOnceCollected(0);
  const before = thread.segments;
  const end = deferred();
  const start = () => {
    const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).addTimeout('1h').build();
    return pipeline.execute(() => end.promise);
  };
  const promise = start();
  for (let round = 0; round < 5; round += 1) {
    globalThis.gc();
    await setImmediate();
  }
  assert.deepEqual([thread.segments, thread.open], [before + 1, 1]);
  end.resolve('the end');
  assert.equal(await promise, 'the end');
  assert.equal(await segmentsOnceCollected(before), before);
  assertIdle();
});

test('100 000 executions of one long-lived signal leave less than a byte each', async () => {
  const make = () => new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter().addTimeout('1h').build();
  const [outer, inner] = [make(), make()];
  const { signal } = new AbortController();
  const run = async (count) => {
    const callback = async ({ properties }) => properties.size + (await inner.execute(() => 1));
    for (let index = 0; index < count; index += 1) {
      await outer.execute(callback, { signal });
    }
    globalThis.gc();
    await setImmediate();
    globalThis.gc();
    return process.memoryUsage().heapUsed;
  };
  const warm = await run(20_000);
  const growth = (await run(100_000)) - warm;
  assert.ok(growth < 100_000, `${growth} bytes`);
});
