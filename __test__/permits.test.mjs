import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { collected } from './support/collected.mjs';
import { assertIdle } from './support/idle.mjs';

const ABORTS = ['before', 'queued', 'inside', 'running'];
const REJECTIONS = ['TIMEOUT', 'full', 'queue-timeout', 'dropped'];
const ENDS = ['value', 'thrown', 'rejected', 'priority', ...ABORTS, ...REJECTIONS];

/** Uniform numbers in [0, 1), the same in every run. */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Pipelines of every shape, with the limiters that have to be idle at the end. */
function makePipelines(queueLimit) {
  const priority = ({ properties }) => {
    const value = properties.get('priority');
    if (value === 'throws') throw new Error('priority');
    return value;
  };
  const pipelines = [
    new ResiliencePipelineBuilder().addConcurrencyLimiter(3, queueLimit).build(),
    new ResiliencePipelineBuilder()
      .addTimeout(4)
      .addConcurrencyLimiter({ permitLimit: 2, queueLimit, overflow: 'drop-lowest-priority', priority })
      .addTimeout(2)
      .build(),
    new ResiliencePipelineBuilder({ context: 'explicit' })
      .addConcurrencyLimiter({ permitLimit: 4, queueLimit: 5, overflow: 'drop-oldest', queueTimeout: 1 })
      .addAdaptiveConcurrencyLimiter({ initialLimit: 4, queueLimit, queueTimeout: 3 })
      .build(),
    new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({ algorithm: 'aimd', initialLimit: 5, queueLimit })
      .addFallback({ fallbackValue: 'value', shouldHandle: ({ outcome }) => outcome.error?.timeout === 1 })
      .addTimeout({ timeoutGenerator: ({ context }) => context.properties.get('timeout') })
      .addConcurrencyLimiter({ permitLimit: 2, queueLimit, name: 'inner' })
      .build(),
  ];
  const names = ['ConcurrencyLimiter', 'AdaptiveConcurrencyLimiter', 'inner'];
  const limiters = pipelines.flatMap((pipeline) => names.map((name) => pipeline.getStrategy(name)));
  return { pipelines, limiters: limiters.filter((limiter) => limiter !== undefined) };
}

/** Starts one execution of a random kind; counts how often it settles, and notes the ways it ends. */
function start(pipelines, random, counts) {
  const pick = (values) => values[Math.floor(random() * values.length)];
  const controller = new AbortController();
  const when = pick(['never', 'never', ...ABORTS, 'after']);
  if (when === 'before') controller.abort('before');
  const index = Math.floor(random() * pipelines.length);
  // Only ever further in: two that wait for each other's permits would wait for good.
  const nested = pipelines[index + 1];
  const options = {
    signal: when === 'never' && random() < 0.5 ? undefined : controller.signal,
    properties: [
      ['priority', pick([0, 0, 1, 5, NaN, 'throws', -Infinity])],
      ['timeout', pick([0, 1, 3, 1000])],
    ],
  };
  const end = pick(['value', 'value', 'throw', 'reject', 'turn', 'slow', 'nested']);
  const callback = (context) => {
    if (when === 'inside') controller.abort('inside');
    if (when === 'running') queueMicrotask(() => controller.abort('running'));
    if (end === 'throw') throw new Error('thrown');
    if (end === 'reject') return Promise.reject(new Error('rejected'));
    if (end === 'turn') return new Promise(setImmediate);
    if (end === 'slow') return new Promise((resolve) => void setTimeout(resolve, 1 + random() * 4));
    if (end === 'nested' && nested !== undefined) {
      return nested.execute(() => new Promise(setImmediate), { properties: context.properties });
    }
    return 'value';
  };
  counts.started += 1;
  const settled = (end) => {
    counts.settled += 1;
    counts.ends.add(end);
    if (when === 'after') controller.abort('after');
  };
  const promise = pipelines[index].execute(callback, options).then(
    () => settled('value'),
    (error) => settled(error.reason ?? error.code ?? error.message ?? error),
  );
  if (when === 'queued') controller.abort('queued');
  return promise;
}

/** Runs `total` executions and gives the ways in which they ended. */
async function mix(seed, total, atOnce) {
  const random = generator(seed);
  const { pipelines, limiters } = makePipelines(Math.ceil(atOnce / 20));
  const counts = { started: 0, settled: 0, ends: new Set() };
  while (counts.started < total) {
    await Promise.all(Array.from({ length: atOnce }, () => start(pipelines, random, counts)));
    assert.equal(counts.settled, counts.started);
  }
  // Callbacks that were given up on may still be at work in a pipeline.
  while (limiters.some(({ inflight, queued }) => inflight + queued > 0)) await new Promise(setImmediate);
  assertIdle(...limiters);
  assert.equal(counts.settled, total);
  return counts.ends;
}

let unhandled = 0;
process.on('unhandledRejection', () => {
  unhandled += 1;
});

test('100 000 mixed executions settle once each and give every permit back', async () => {
  const ends = await mix(1, 100_000, 500);
  for (const end of ENDS) assert.ok(ends.has(end), end);
  assert.equal(unhandled, 0);
});

test('10 000 mixed executions at once settle once each and give every permit back', async () => {
  await mix(2, 10_000, 10_000);
  assert.equal(unhandled, 0);
});

test('pipelines disposed at any moment leave no execution pending and no permit taken', async () => {
  const random = generator(3);
  for (let round = 0; round < 200; round += 1) {
    const { pipelines, limiters } = makePipelines(10);
    const counts = { started: 0, settled: 0, ends: new Set() };
    const promises = Array.from({ length: 50 }, (_, index) => {
      if (index === round % 50) pipelines[round % pipelines.length].dispose();
      return start(pipelines, random, counts);
    });
    for (const pipeline of pipelines) queueMicrotask(() => pipeline.dispose());
    await Promise.all(promises);
    assert.equal(counts.settled, 50);
    while (limiters.some(({ inflight, queued }) => inflight + queued > 0)) await new Promise(setImmediate);
    assertIdle(...limiters);
  }
  assert.equal(unhandled, 0);
});

test('a release and a newcomer in one turn never exceed the limit, and the waiter goes first', async () => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1, 10_000).build();
  let running = 0;
  const order = [];
  const work = (id) => async () => {
    running += 1;
    assert.equal(running, 1);
    await null;
    order.push(id);
    running -= 1;
    if (id < 1000) promises.push(pipeline.execute(work(id + 1000)));
  };
  const promises = Array.from({ length: 1000 }, (_, id) => pipeline.execute(work(id)));
  for (const promise of promises) await promise;
  assert.deepEqual(order, order.map((_, id) => id));
  assert.equal(order.length, 2000);
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('a permit handed over at the moment its waiter gives up is not lost, 10 000 times', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 3, queueTimeout: 10 })
    .addTimeout(10)
    .build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  for (let round = 0; round < 10_000; round += 1) {
    const controller = new AbortController();
    const { signal } = controller;
    const never = () => new Promise(() => {});
    const calls = [pipeline.settle(never), pipeline.settle(never, { signal }), pipeline.settle(never)];
    // The first deadline passes together with the queue timeouts, and the second waiter aborts.
    if (round % 2 === 0) controller.abort('gone');
    t.mock.timers.tick(10);
    if (round % 2 === 1) controller.abort('gone');
    t.mock.timers.tick(10);
    assert.deepEqual([limiter.inflight, limiter.queued], [0, 0]);
    for (const outcome of await Promise.all(calls)) assert.equal(outcome.ok, false);
  }
  assertIdle(limiter);
});

test('a pipeline that nobody holds is collected with all that it has', async () => {
  const use = async () => {
    const pipeline = makePipelines(10).pipelines[3];
    await pipeline.settle(async () => {}, { properties: [['timeout', 1000]] });
    return new WeakRef(pipeline);
  };
  assert.equal(await collected(await use()), true);
});
