import assert from 'node:assert/strict';
import diagnostics_channel from 'node:diagnostics_channel';
import { once } from 'node:events';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { listen } from './support/listen.mjs';

/** Subscribes for the length of one test. */
function subscribe(t, name) {
  const events = [];
  const channel = `ylcnfrht.resilience.${name}`;
  const listener = (event) => events.push(event);
  diagnostics_channel.subscribe(channel, listener);
  t.after(() => diagnostics_channel.unsubscribe(channel, listener));
  return events;
}

test('diagnostics_channel carries the same event object, beside a listener or without one', async (t) => {
  simulate(t);
  const subscribed = subscribe(t, 'OnTimeout');
  const { builder, events } = listen();
  const first = hold(builder.addTimeout(100).build());
  const second = hold(new ResiliencePipelineBuilder().addTimeout(100).build());
  t.mock.timers.tick(100);
  await Promise.all([rejection(first.promise), rejection(second.promise)]);
  assert.equal(subscribed.length, 2);
  assert.equal(
    subscribed[0],
    events.find(({ name }) => name === 'OnTimeout'),
  );
  assert.deepEqual(
    [subscribed[1].pipelineName, subscribed[1].strategyName, subscribed[1].severity],
    [undefined, 'Timeout', 'error'],
  );
});

for (const name of ['PipelineExecuting', 'PipelineExecuted']) {
  test(`a subscriber of ${name} alone hears it`, async (t) => {
    const events = subscribe(t, name);
    await new ResiliencePipelineBuilder({ name: 'quiet' }).build().execute(() => 1);
    assert.deepEqual(
      events.map((event) => [event.name, event.pipelineName]),
      [[name, 'quiet']],
    );
  });
}

test('each event has a channel of its own', async (t) => {
  const heard = Object.fromEntries(
    ['OnFallback', 'OnRateLimiterRejected', 'OnLimitChanged', 'CallbackError'].map((name) => [
      name,
      subscribe(t, name),
    ]),
  );
  const pipeline = new ResiliencePipelineBuilder()
    .addFallback({ fallbackValue: 1 })
    .addAdaptiveConcurrencyLimiter({
      initialLimit: 1,
      algorithm: { onSample: () => 2 },
      onLimitChanged: () => {
        throw 1;
      },
    })
    .build();
  const held = hold(pipeline);
  assert.equal(await pipeline.execute(() => 5), 1);
  held.finish(7);
  assert.equal(await held.promise, 7);
  for (const [name, events] of Object.entries(heard))
    assert.deepEqual(
      events.map((event) => event.name),
      [name],
    );
});

test('so has each event of circuits, attempts and rates', async (t) => {
  simulate(t);
  const names = [
    'OnCircuitOpened',
    'OnCircuitHalfOpened',
    'OnCircuitClosed',
    'OnRetry',
    'OnHedging',
    'ExecutionAttempt',
    'OnRateLimiterRejected',
  ];
  const heard = names.map((name) => subscribe(t, name));
  let calls = 0;
  const circuit = new ResiliencePipelineBuilder()
    .addCircuitBreaker({ consecutiveFailures: 1, breakDuration: 1000 })
    .build();
  await circuit.settle(() => Promise.reject(new Error('boom')));
  t.mock.timers.tick(1000);
  await circuit.execute(async () => 1);
  const pipeline = new ResiliencePipelineBuilder()
    .addRetry({ delay: 0, maxRetryAttempts: 1 })
    .addHedging({ delay: Infinity })
    .addRateLimiter({ permitLimit: 3, window: '1h' })
    .build();
  await pipeline.settle(() => {
    calls += 1;
    throw new Error('boom');
  });
  assert.equal(calls, 3);
  assert.deepEqual(
    heard.map((events) => events.map(({ name }) => name)),
    // Two attempts of the retry, of each two hedged ones; the last found no permit.
    names.map((name, index) => Array([1, 1, 1, 1, 2, 6, 1][index]).fill(name)),
  );
});

test('a listener that throws or rejects changes nothing, and is a process warning each time', async () => {
  for (const telemetry of [
    () => {
      throw new Error('mine');
    },
    async () => {
      throw new Error('mine');
    },
  ]) {
    const warnings = [];
    const note = (warning) => warning.name === 'Error' && warnings.push(String(warning));
    process.on('warning', note);
    const pipeline = new ResiliencePipelineBuilder({ telemetry }).addConcurrencyLimiter(1).build();
    assert.equal(await pipeline.execute(async () => 'fine'), 'fine');
    assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 0);
    await turn();
    process.off('warning', note);
    assert.deepEqual(warnings, ['Error: mine', 'Error: mine']);
  }
});

test('a listener that throws at a CallbackError is heard once and ends there', async () => {
  const seen = [];
  const telemetry = ({ name }) => {
    seen.push(name);
    if (name === 'CallbackError') throw new Error('mine');
  };
  const warning = once(process, 'warning');
  const pipeline = new ResiliencePipelineBuilder({ telemetry })
    .addAdaptiveConcurrencyLimiter({
      shouldDrop: () => {
        throw new Error('other');
      },
    })
    .build();
  assert.equal(await pipeline.execute(() => 'fine'), 'fine');
  assert.equal(String((await warning)[0]), 'Error: mine');
  assert.deepEqual(seen, ['PipelineExecuting', 'CallbackError', 'PipelineExecuted']);
});

test('a listener may execute: its own events are nested, none is lost', async () => {
  const names = [];
  let nested;
  const pipeline = new ResiliencePipelineBuilder({
    telemetry: ({ name, operationKey }) => {
      names.push([name, operationKey]);
      if (name === 'PipelineExecuting' && operationKey === 'outer') {
        nested = pipeline.execute(() => 'nested', { operationKey: 'inner' });
      }
    },
  }).build();
  assert.equal(await pipeline.execute(() => 'mine', { operationKey: 'outer' }), 'mine');
  assert.equal(await nested, 'nested');
  assert.deepEqual(names, [
    ['PipelineExecuting', 'outer'],
    ['PipelineExecuting', 'inner'],
    ['PipelineExecuted', 'inner'],
    ['PipelineExecuted', 'outer'],
  ]);
});

test('without a subscriber no execution is measured and no event is made', async (t) => {
  const now = t.mock.method(performance, 'now');
  const publish = t.mock.method(diagnostics_channel.Channel.prototype, 'publish');
  const quiet = new ResiliencePipelineBuilder()
    .addFallback({ fallbackValue: 'substitute' })
    .addConcurrencyLimiter(1)
    .build();
  const held = hold(quiet);
  assert.equal(await quiet.execute(() => 1), 'substitute');
  held.finish();
  await held.promise;
  assert.equal(now.mock.callCount(), 0);
  assert.equal(publish.mock.callCount(), 0);
  const { builder } = listen();
  await builder.build().execute(() => 1);
  assert.equal(now.mock.callCount(), 2);
});
