import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder, TimeoutRejectedError, defaultShouldDrop } from '@ylcnfrht/resilience';
import { hold, rejection, simulate, turn } from './support/hold.mjs';

/** A limiter whose algorithm only notes which samples were drops. */
function watched(options, add = (builder) => builder) {
  const drops = [];
  const algorithm = {
    onSample: ({ dropped, limit }) => {
      drops.push(dropped);
      return limit;
    },
  };
  const builder = new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter({ algorithm, ...options });
  const pipeline = add(builder).build();
  return { pipeline, drops, limiter: pipeline.getStrategy('AdaptiveConcurrencyLimiter') };
}

const fail = (fields) => () => {
  throw Object.assign(new Error('failed'), fields);
};

test('a success is a sample, a transient failure a drop, any other failure nothing', async () => {
  const { pipeline, drops, limiter } = watched();
  await pipeline.execute(() => 1);
  await rejection(pipeline.execute(fail({ status: 503 })));
  await rejection(pipeline.execute(fail({ status: 404 })));
  await rejection(pipeline.execute(fail({})));
  await rejection(pipeline.execute(async () => fail({ code: 'ECONNRESET' })()));
  assert.deepEqual(drops, [false, true, true]);
  assert.equal(limiter.inflight, 0);
});

test('a burst of answers 400, 404 and 413 leaves the limit where it is', async () => {
  for (const algorithm of ['gradient2', 'vegas', 'aimd', 'knee']) {
    const pipeline = new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter({ algorithm }).build();
    const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
    for (let round = 0; round < 100; round += 1) {
      const held = Array.from({ length: 20 }, () => hold(pipeline));
      held.forEach((one, index) =>
        one.fail(Object.assign(new Error('no'), { status: [400, 404, 413][index % 3] })),
      );
      await Promise.allSettled(held.map(({ promise }) => promise));
    }
    assert.equal(limiter.limit, 20, algorithm);
    assert.equal(limiter.inflight, 0);
  }
});

test('a timeout inside is a drop', async (t) => {
  simulate(t);
  const { pipeline, drops } = watched({}, (builder) => builder.addTimeout(100));
  const held = hold(pipeline);
  t.mock.timers.tick(100);
  await rejection(held.promise);
  assert.deepEqual(drops, [true]);
});

test('a timeout outside is a drop for a call that runs, and nothing for one that waits', async (t) => {
  simulate(t);
  const drops = [];
  const algorithm = { onSample: ({ dropped, limit }) => drops.push(dropped) && limit };
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout({ timeoutGenerator: ({ context }) => context.properties.get('timeout') })
    .addAdaptiveConcurrencyLimiter({ algorithm, initialLimit: 1, queueLimit: 1 })
    .build();
  const running = hold(pipeline, { properties: [['timeout', 200]] });
  const waiting = hold(pipeline, { properties: [['timeout', 100]] });
  t.mock.timers.tick(100);
  assert.equal((await rejection(waiting.promise)).timeout, 100);
  assert.deepEqual(drops, []);
  t.mock.timers.tick(100);
  assert.equal((await rejection(running.promise)).timeout, 200);
  assert.deepEqual(drops, [true]);
});

test('a rejection by a limiter further in is a drop', async () => {
  const { pipeline, drops } = watched({}, (builder) => builder.addConcurrencyLimiter(1));
  const held = hold(pipeline);
  assert.equal((await rejection(pipeline.execute(() => 1))).strategyName, 'ConcurrencyLimiter');
  assert.deepEqual(drops, [true]);
  held.finish();
  await held.promise;
  assert.deepEqual(drops, [true, false]);
});

test("the limiter's own rejections are no samples", async () => {
  const { pipeline, drops } = watched({ initialLimit: 1 });
  const held = hold(pipeline);
  await rejection(pipeline.execute(() => 1));
  assert.deepEqual(drops, []);
  held.finish();
  await held.promise;
});

test("the caller's abort is no sample, whatever its reason is", async () => {
  const { pipeline, drops, limiter } = watched();
  for (const reason of [undefined, 'left', Object.assign(new Error('gone'), { status: 503 })]) {
    const controller = new AbortController();
    const held = hold(pipeline, { signal: controller.signal });
    controller.abort(reason);
    await rejection(held.promise);
  }
  assert.deepEqual(drops, []);
  assert.equal(limiter.inflight, 0);
});

test("the abort by an enclosing execution's timeout is a drop", async (t) => {
  simulate(t);
  const { pipeline, drops } = watched();
  const inbound = new ResiliencePipelineBuilder().addTimeout(100).build();
  const inner = [];
  const outer = inbound.execute(() => {
    inner.push(rejection(pipeline.execute(() => new Promise(() => {}))));
    return inner[0];
  });
  t.mock.timers.tick(100);
  const error = await rejection(outer);
  assert.ok(error instanceof TimeoutRejectedError);
  assert.equal(await inner[0], error);
  assert.deepEqual(drops, [true]);
});

test('shouldDrop decides on values too, and gets outcome and context', async () => {
  const seen = [];
  const shouldDrop = (args) => {
    seen.push(args);
    return !args.outcome.ok || args.outcome.result.status === 503;
  };
  const { pipeline, drops } = watched({ shouldDrop });
  const contexts = [];
  const run = (value) =>
    pipeline.execute((context) => {
      contexts.push(context);
      if (value instanceof Error) throw value;
      return value;
    });
  const boom = new Error('boom');
  await run({ status: 200 });
  await run({ status: 503 });
  await rejection(run(boom));
  assert.deepEqual(drops, [false, true, true]);
  assert.deepEqual(
    seen.map(({ context }) => context),
    contexts,
  );
  assert.deepEqual(
    seen.map(({ outcome }) => ({ ...outcome })),
    [
      { ok: true, result: { status: 200 } },
      { ok: true, result: { status: 503 } },
      { ok: false, error: boom },
    ],
  );
});

test('a custom shouldDrop can build on the default', async () => {
  const shouldDrop = (args) => defaultShouldDrop(args) || (args.outcome.ok && args.outcome.result === 'busy');
  const { pipeline, drops } = watched({ shouldDrop });
  await pipeline.execute(() => 'busy');
  await pipeline.execute(() => 'fine');
  await rejection(pipeline.execute(fail({ status: 500 })));
  await rejection(pipeline.execute(fail({ status: 400 })));
  assert.deepEqual(drops, [true, false, true]);
});

test('two adaptive limiters in one pipeline judge an outcome each for itself', async () => {
  const drops = { outer: [], inner: [] };
  const note = (list) => ({ onSample: ({ dropped, limit }) => list.push(dropped) && limit });
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({
      name: 'outer',
      algorithm: note(drops.outer),
      shouldDrop: ({ outcome }) => outcome.ok,
    })
    .addTimeout(1000)
    .addAdaptiveConcurrencyLimiter({ name: 'inner', algorithm: note(drops.inner) })
    .build();
  await pipeline.execute(() => 1);
  await rejection(pipeline.execute(fail({ status: 503 })));
  await rejection(pipeline.execute(fail({ status: 404 })));
  assert.deepEqual(drops, { outer: [true], inner: [false, true] });
});

test('eight limiters in a row judge for themselves, also those that no longer fit one segment', async () => {
  const seen = Array.from({ length: 8 }, () => []);
  const builder = new ResiliencePipelineBuilder();
  seen.forEach((drops, index) => {
    builder.addAdaptiveConcurrencyLimiter({
      name: `limiter ${index}`,
      algorithm: { onSample: ({ dropped, limit }) => drops.push(dropped) && limit },
      shouldDrop: ({ outcome }) => outcome.ok && outcome.result === index,
    });
  });
  const pipeline = builder.build();
  for (let value = 0; value < 8; value += 1) await pipeline.execute(() => value);
  await rejection(pipeline.execute(fail({})));
  seen.forEach((drops, index) => {
    assert.deepEqual(
      drops,
      Array.from({ length: 8 }, (_, value) => value === index),
    );
    assert.equal(pipeline.getStrategy(`limiter ${index}`).inflight, 0);
  });
});

test("a shouldDrop that aborts the caller's signal ends the execution once", async () => {
  const controller = new AbortController();
  const { pipeline, limiter } = watched({
    initialLimit: 1,
    queueLimit: 2,
    shouldDrop: () => {
      controller.abort('changed my mind');
      return false;
    },
  });
  const first = hold(pipeline, { signal: controller.signal });
  const second = hold(pipeline);
  const third = hold(pipeline);
  first.finish('done');
  await Promise.allSettled([first.promise]);
  await turn();
  assert.deepEqual([limiter.inflight, limiter.queued], [1, 1]);
  assert.deepEqual([second.running, third.running], [true, false]);
  second.finish('second');
  assert.equal(await second.promise, 'second');
  third.finish('third');
  assert.equal(await third.promise, 'third');
  assert.deepEqual([limiter.inflight, limiter.queued], [0, 0]);
});
