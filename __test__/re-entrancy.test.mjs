import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { deferred } from './support/deferred.mjs';
import { hold, rejection, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const never = () => new Promise(() => {});

test('an execution started from onTimeout runs with the permit that came back', async () => {
  const again = deferred();
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter(1)
    .addTimeout({ timeout: 5, onTimeout: () => again.resolve(pipeline.execute(() => 'again')) })
    .build();
  assert.equal((await rejection(pipeline.execute(never))).code, 'TIMEOUT');
  assert.equal(await again.promise, 'again');
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('an execution started from onRejected of a dropped waiter queues behind the newcomer', async () => {
  const order = [];
  let retried;
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter({
      permitLimit: 1,
      queueLimit: 2,
      overflow: 'drop-oldest',
      onRejected: () => {
        retried ??= pipeline.execute(() => order.push('retried'));
      },
    })
    .build();
  const running = hold(pipeline);
  const dropped = pipeline.execute(() => assert.fail('must not run'));
  const kept = pipeline.settle(() => order.push('kept'));
  const newcomer = pipeline.execute(() => order.push('newcomer'));
  assert.equal((await rejection(dropped)).reason, 'dropped');
  running.finish();
  await Promise.all([kept, newcomer, retried]);
  // The one that is retried found the queue full, and dropped the oldest in turn.
  assert.equal((await kept).error.reason, 'dropped');
  assert.deepEqual(order, ['newcomer', 'retried']);
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('an execution started from onLimitChanged counts against the limit of that moment', async () => {
  let inside;
  const limits = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({
      algorithm: { onSample: ({ limit }) => limit + 1 },
      initialLimit: 1,
      queueLimit: 5,
      onLimitChanged: ({ oldLimit, newLimit }) => {
        limits.push([oldLimit, newLimit]);
        inside ??= hold(pipeline);
      },
    })
    .build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  await pipeline.execute(() => {});
  assert.equal(inside.running, true);
  assert.deepEqual([limiter.limit, limiter.inflight], [2, 1]);
  inside.finish();
  await inside.promise;
  assert.deepEqual(limits, [[1, 2], [2, 3]]);
  assertIdle(limiter);
});

test('an execution that an algorithm starts while it is asked ends like any other', async () => {
  let inside;
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({
      algorithm: {
        onSample: ({ limit }) => {
          inside ??= pipeline.execute(() => 'from inside');
          return limit;
        },
      },
    })
    .build();
  await pipeline.execute(() => {});
  assert.equal(await inside, 'from inside');
  assertIdle(pipeline.getStrategy('AdaptiveConcurrencyLimiter'));
});

test('an execution started from an abort listener gets the permit of the one that is aborted', async () => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).build();
  const controller = new AbortController();
  const running = hold(pipeline, { signal: controller.signal });
  let next;
  running.context.signal.addEventListener('abort', () => {
    next = hold(pipeline);
  });
  controller.abort('gone');
  assert.equal(next.running, true);
  assert.equal(await rejection(running.promise), 'gone');
  next.finish();
  await next.promise;
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('a deadline spares the execution that took the place of one aborted in the same moment', async () => {
  const controller = new AbortController();
  const pipeline = new ResiliencePipelineBuilder().addTimeout(20).build();
  const first = hold(pipeline);
  const second = hold(pipeline, { signal: controller.signal });
  let third;
  // Both deadlines have passed when this runs, and that of the second is yet to be acted on.
  first.context.signal.addEventListener('abort', () => {
    controller.abort('gone');
    third = hold(pipeline);
  });
  const started = performance.now();
  while (performance.now() - started < 25);
  assert.equal((await rejection(first.promise)).code, 'TIMEOUT');
  assert.equal(await rejection(second.promise), 'gone');
  assert.equal(third.context.signal.aborted, false);
  third.finish('unharmed');
  assert.equal(await third.promise, 'unharmed');
  assertIdle();
});

test('shouldDrop that aborts its own execution changes nothing of how that ends', async () => {
  const ended = [];
  const controller = new AbortController();
  const pipeline = new ResiliencePipelineBuilder({
    telemetry: ({ name, args }) => name === 'PipelineExecuted' && ended.push(args.ok),
  })
    .addAdaptiveConcurrencyLimiter({
      shouldDrop: () => {
        controller.abort('too late');
        return false;
      },
    })
    .build();
  assert.equal(await pipeline.execute(() => 'done', { signal: controller.signal }), 'done');
  assert.deepEqual(ended, [true]);
  assertIdle(pipeline.getStrategy('AdaptiveConcurrencyLimiter'));
});

test('priority that aborts its own execution keeps it from queueing', async () => {
  const controller = new AbortController();
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter({
      permitLimit: 1,
      queueLimit: 5,
      priority: () => {
        controller.abort('no');
        return 0;
      },
    })
    .build();
  const promise = pipeline.execute(() => assert.fail('must not run'), { signal: controller.signal });
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
  assert.equal(await rejection(promise), 'no');
});

test('a telemetry listener may execute: its events are told too, and nothing is lost', async () => {
  const names = [];
  const pipeline = new ResiliencePipelineBuilder({
    telemetry: ({ name }) => {
      names.push(name);
      if (names.length === 1) inner = pipeline.execute(() => 'inner');
    },
  })
    .addConcurrencyLimiter(1, 1)
    .build();
  let inner;
  assert.equal(await pipeline.execute(() => 'outer'), 'outer');
  assert.equal(await inner, 'inner');
  await turn();
  assert.deepEqual(names.sort(), [
    'PipelineExecuted',
    'PipelineExecuted',
    'PipelineExecuting',
    'PipelineExecuting',
  ]);
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('waiters aborted while a disposal rejects them are rejected once, for what came first', async () => {
  const controller = new AbortController();
  const reasons = [];
  const pipeline = new ResiliencePipelineBuilder({
    telemetry: ({ name, args }) => {
      if (name !== 'OnRateLimiterRejected') return;
      reasons.push(args.reason);
      controller.abort('gone');
    },
  })
    .addConcurrencyLimiter(1, 500)
    .build();
  const running = hold(pipeline);
  const waiters = Array.from({ length: 300 }, () => hold(pipeline, { signal: controller.signal }));
  pipeline.dispose();
  assert.equal((await rejection(waiters[0].promise)).reason, 'disposed');
  for (const { promise } of waiters.slice(1)) assert.equal(await rejection(promise), 'gone');
  assert.deepEqual(reasons, ['disposed']);
  running.finish();
  await running.promise;
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('executions started inside one another, 20 000 deep, all end and give their permits back', async () => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(30_000).addTimeout('1h').build();
  const nest = (levels) => (levels === 0 ? 'the bottom' : pipeline.execute(() => nest(levels - 1)));
  assert.equal(await nest(20_000), 'the bottom');
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});
