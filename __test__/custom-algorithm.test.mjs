import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder, aimd, gradient2, knee } from '@ylcnfrht/resilience';
import { hold, turn } from './support/hold.mjs';

function adaptive(options) {
  const pipeline = new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter(options).build();
  return { pipeline, limiter: pipeline.getStrategy('AdaptiveConcurrencyLimiter') };
}

test("an algorithm of the user's serves one limiter; the built-in objects serve any number", () => {
  const algorithm = { onSample: ({ limit }) => limit };
  const builder = new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter({ algorithm });
  builder.build();
  assert.throws(() => builder.build(), {
    name: 'TypeError',
    message: 'algorithm serves another limiter already: make one for each',
  });
  const queueSize = () => 4;
  for (const builtIn of [gradient2(), gradient2({ queueSize }), aimd(), knee(), 'vegas', 'knee', undefined]) {
    const again = new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter({ algorithm: builtIn });
    again.build();
    again.build();
  }
});

test('an algorithm may be an instance: it is called as a method', async () => {
  class Counter {
    #calls = 0;

    onSample({ limit }) {
      this.#calls += 1;
      return limit + this.#calls;
    }
  }
  const { pipeline, limiter } = adaptive({ algorithm: new Counter(), initialLimit: 1 });
  await pipeline.execute(() => 1);
  assert.equal(limiter.limit, 2);
  await pipeline.execute(() => 1);
  assert.equal(limiter.limit, 4);
});

test('an algorithm may execute in the pipeline that it serves', async () => {
  let inner;
  const algorithm = {
    onSample: ({ limit }) => {
      inner ??= pipeline.execute(() => 'inner');
      return limit + 1;
    },
  };
  const { pipeline, limiter } = adaptive({ algorithm, initialLimit: 1 });
  assert.equal(await pipeline.execute(() => 'outer'), 'outer');
  assert.equal(await inner, 'inner');
  assert.deepEqual([limiter.inflight, limiter.queued], [0, 0]);
});

test('what an algorithm does to its sample is its own affair', async () => {
  const changes = [];
  const algorithm = {
    onSample: (sample) => {
      const next = sample.limit + 1;
      Object.assign(sample, { rtt: -1, inflight: -1, dropped: true, limit: 0 });
      return next;
    },
  };
  const { pipeline } = adaptive({ algorithm, initialLimit: 1, onLimitChanged: (args) => changes.push(args) });
  await pipeline.execute(() => 1);
  assert.deepEqual(changes, [
    { oldLimit: 1, newLimit: 2, sample: { ...changes[0].sample, inflight: 1, dropped: false, limit: 1 } },
  ]);
  assert.ok(changes[0].sample.rtt >= 0);
});

test('calls that an algorithm admits by its answer wait for the answer only', async () => {
  const { pipeline, limiter } = adaptive({
    algorithm: { onSample: ({ limit }) => limit * 2 },
    initialLimit: 1,
    queueLimit: 10,
  });
  const held = Array.from({ length: 4 }, () => hold(pipeline));
  held[0].finish();
  await held[0].promise;
  await turn();
  assert.deepEqual(
    held.map(({ running }) => running),
    [true, true, true, false],
  );
  for (const { finish } of held) finish();
  await Promise.all(held.map(({ promise }) => promise));
  assert.equal(limiter.inflight, 0);
});

test('a sample shows the limit of now, also where the answer to another one comes first', async () => {
  const seen = [];
  let inner;
  const algorithm = {
    onSample: ({ limit }) => {
      seen.push(limit);
      inner ??= pipeline.execute(() => 'inner');
      return limit + 1;
    },
  };
  const { pipeline, limiter } = adaptive({ algorithm, initialLimit: 1 });
  assert.equal(await pipeline.execute(() => 'outer'), 'outer');
  assert.equal(await inner, 'inner');
  assert.deepEqual(seen, [1, 2]);
  assert.deepEqual([limiter.limit, limiter.inflight, limiter.queued], [3, 0, 0]);
});

test('a built-in object behind one of your own is fed by it, and begins at its first limit', async () => {
  const inner = knee();
  const { pipeline, limiter } = adaptive({
    algorithm: { onSample: (sample) => inner.onSample({ ...sample, limit: 7 }) },
    initialLimit: 12,
  });
  const held = Array.from({ length: 12 }, () => hold(pipeline));
  for (const { finish } of held) finish();
  await Promise.all(held.map(({ promise }) => promise));
  assert.equal(limiter.limit, 7);
});
