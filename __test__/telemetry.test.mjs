import assert from 'node:assert/strict';
import test from 'node:test';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { listen } from './support/listen.mjs';

const never = () => new Promise(() => {});

test('an execution begins and ends with an event', async (t) => {
  simulate(t);
  const { builder, events } = listen();
  const pipeline = builder.addTimeout(1000).build();
  const held = hold(pipeline, { operationKey: 'get' });
  assert.equal(events.length, 1);
  held.finish();
  await held.promise;
  await rejection(pipeline.execute(() => Promise.reject(new Error('boom'))));
  const { context } = held;
  assert.deepEqual(
    events.slice(0, 2).map((event) => ({ ...event, args: { ...event.args, duration: 0 } })),
    [
      {
        name: 'PipelineExecuting',
        severity: 'debug',
        pipelineName: 'search',
        strategyName: undefined,
        operationKey: 'get',
        args: { context, duration: 0 },
      },
      {
        name: 'PipelineExecuted',
        severity: 'information',
        pipelineName: 'search',
        strategyName: undefined,
        operationKey: 'get',
        args: { context, duration: 0, ok: true },
      },
    ],
  );
  assert.equal(Object.hasOwn(events[0].args, 'duration'), false);
  assert.ok(events[1].args.duration >= 0);
  assert.deepEqual(
    [events[3].name, events[3].args.ok, events[3].operationKey],
    ['PipelineExecuted', false, undefined],
  );
});

test('the duration of an execution is that of the clock, in milliseconds', async () => {
  const { builder, events } = listen();
  await builder.build().execute(() => new Promise((resolve) => setTimeout(resolve, 10)));
  assert.ok(events[1].args.duration > 9, String(events[1].args.duration));
});

test('a timeout tells its context and length, before the execution ends', async (t) => {
  simulate(t);
  const { builder, events, names } = listen();
  const held = hold(builder.addTimeout({ timeout: 100, name: 'budget' }).build(), { operationKey: 'get' });
  t.mock.timers.tick(100);
  await rejection(held.promise);
  await turn();
  assert.deepEqual(names(), ['PipelineExecuting', 'OnTimeout', 'PipelineExecuted']);
  assert.deepEqual(
    events.find(({ name }) => name === 'OnTimeout'),
    {
      name: 'OnTimeout',
      severity: 'error',
      pipelineName: 'search',
      strategyName: 'budget',
      operationKey: 'get',
      args: { context: held.context, timeout: 100 },
    },
  );
});

test("a limiter's rejection tells reason and counts, before the execution ends", async () => {
  for (const [add, strategyName] of [
    [(builder) => builder.addConcurrencyLimiter(1, 0), 'ConcurrencyLimiter'],
    [(builder) => builder.addAdaptiveConcurrencyLimiter({ initialLimit: 1 }), 'AdaptiveConcurrencyLimiter'],
  ]) {
    const { builder, events, names } = listen();
    const pipeline = add(builder).build();
    const held = hold(pipeline);
    await rejection(pipeline.execute(() => 1, { operationKey: 'get' }));
    await turn();
    assert.deepEqual(names(), [
      'PipelineExecuting',
      'PipelineExecuting',
      'OnRateLimiterRejected',
      'PipelineExecuted',
    ]);
    const event = events.find(({ name }) => name === 'OnRateLimiterRejected');
    const { context } = event.args;
    assert.equal(context, events[1].args.context);
    assert.deepEqual(event, {
      name: 'OnRateLimiterRejected',
      severity: 'error',
      pipelineName: 'search',
      strategyName,
      operationKey: 'get',
      args: { context, reason: 'full', active: 1, queued: 0, retryAfter: undefined },
    });
    held.finish();
    await held.promise;
  }
});

test('the rejections of waiters tell their own reason', async (t) => {
  simulate(t);
  const { builder, events } = listen();
  const pipeline = builder
    .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 1, queueTimeout: 100, overflow: 'drop-oldest' })
    .build();
  const held = [hold(pipeline), hold(pipeline, { operationKey: 'a' }), hold(pipeline, { operationKey: 'b' })];
  t.mock.timers.tick(100);
  held.push(hold(pipeline, { operationKey: 'c' }));
  pipeline.dispose();
  held[0].finish();
  await Promise.allSettled(held.map(({ promise }) => promise));
  await turn();
  assert.deepEqual(
    events
      .filter(({ name }) => name === 'OnRateLimiterRejected')
      .map(({ operationKey, args }) => [operationKey, args.reason]),
    [
      ['a', 'dropped'],
      ['b', 'queue-timeout'],
      ['c', 'disposed'],
    ],
  );
});

test('a fallback tells the outcome that it replaces', async () => {
  const { builder, events, names } = listen();
  const pipeline = builder.addFallback({ fallbackValue: 'substitute' }).build();
  const boom = new Error('boom');
  await pipeline.execute(() => Promise.reject(boom), { operationKey: 'get' });
  assert.deepEqual(names(), ['PipelineExecuting', 'OnFallback', 'PipelineExecuted']);
  const { args, ...rest } = events[1];
  assert.deepEqual(rest, {
    name: 'OnFallback',
    severity: 'warning',
    pipelineName: 'search',
    strategyName: 'Fallback',
    operationKey: 'get',
  });
  assert.deepEqual(Object.keys(args).sort(), ['context', 'outcome']);
  assert.deepEqual({ ...args.outcome }, { ok: false, error: boom });
  assert.equal(events[2].args.ok, true);
});

test('a changed limit tells old, new and the sample; it belongs to no operation', async () => {
  const { builder, events } = listen();
  const pipeline = builder
    .addAdaptiveConcurrencyLimiter({ initialLimit: 1, algorithm: { onSample: () => 3 } })
    .build();
  await pipeline.execute(() => 1, { operationKey: 'get' });
  const { args, ...rest } = events.find(({ name }) => name === 'OnLimitChanged');
  assert.deepEqual(rest, {
    name: 'OnLimitChanged',
    severity: 'information',
    pipelineName: 'search',
    strategyName: 'AdaptiveConcurrencyLimiter',
    operationKey: undefined,
  });
  const { rtt, now, startedAt } = args.sample;
  assert.ok(rtt >= 0);
  assert.ok(Math.abs(now - startedAt - rtt) < 1e-6, `${rtt} ms from ${startedAt} to ${now}`);
  assert.deepEqual(args, {
    oldLimit: 1,
    newLimit: 3,
    sample: { rtt, inflight: 1, dropped: false, limit: 1, now, startedAt },
  });
});

test('events of nested strategies come from the inside to the outside', async (t) => {
  simulate(t);
  const { builder, names } = listen();
  const pipeline = builder
    .addFallback({ fallbackValue: 'substitute' })
    .addAdaptiveConcurrencyLimiter({ initialLimit: 2, algorithm: 'aimd' })
    .addTimeout(100)
    .build();
  const held = hold(pipeline);
  t.mock.timers.tick(100);
  assert.equal(await held.promise, 'substitute');
  assert.deepEqual(names().slice(1, 3).sort(), ['OnLimitChanged', 'OnTimeout']);
  assert.deepEqual(
    [names()[0], ...names().slice(3)],
    ['PipelineExecuting', 'OnFallback', 'PipelineExecuted'],
  );
});

test('PipelineExecuted comes once for every execution, however it ends', async (t) => {
  simulate(t);
  const { builder, events } = listen();
  const pipeline = builder.addConcurrencyLimiter(1, 1).addTimeout(100).build();
  const controller = new AbortController();
  const ends = [
    pipeline.execute(never),
    pipeline.execute(() => 1, { signal: controller.signal }),
    pipeline.execute(() => 2),
    pipeline.execute(() => 3, { signal: AbortSignal.abort() }),
  ];
  controller.abort();
  t.mock.timers.tick(100);
  await Promise.allSettled(ends);
  pipeline.dispose();
  await rejection(pipeline.execute(() => 4));
  const contexts = events.filter(({ name }) => name === 'PipelineExecuted').map(({ args }) => args.context);
  assert.equal(contexts.length, 4);
  assert.equal(new Set(contexts).size, 4);
});
