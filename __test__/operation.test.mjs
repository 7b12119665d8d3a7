// The option `operation` of the adaptive limiter.
import assert from 'node:assert/strict';
import { on } from 'node:events';
import test from 'node:test';
import { ResiliencePipelineBuilder, standardPipeline } from '@ylcnfrht/resilience';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { listen } from './support/listen.mjs';

/** An algorithm that keeps its samples, and the limit where it is unless told otherwise. */
function watching(answer = ({ limit }) => limit) {
  const samples = [];
  const onSample = (sample) => {
    samples.push(sample);
    return answer(sample);
  };
  return { samples, algorithm: { onSample }, kinds: () => samples.map(({ operation }) => operation) };
}

const byKey = ({ operationKey }) => operationKey;
const unavailable = () => Promise.reject(Object.assign(new Error('busy'), { status: 503 }));
const notFound = () => Promise.reject(Object.assign(new Error('none'), { status: 404 }));

test('it is asked once for each sample, when the execution has ended, with its context', async () => {
  const { samples, algorithm } = watching();
  const asked = [];
  const operation = (context) => {
    asked.push([context, held.map(({ ended }) => ended)]);
    return byKey(context);
  };
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ algorithm, operation })
    .build();
  const held = [hold(pipeline, { operationKey: 'a' }), hold(pipeline, { operationKey: 'b' })];
  await turn();
  assert.deepEqual(asked, []);
  held[1].ended = true;
  held[1].finish();
  await held[1].promise;
  held[0].ended = true;
  held[0].fail(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
  await rejection(held[0].promise);
  assert.deepEqual(
    asked.map(([context, ends]) => [context === held[0].context, context === held[1].context, ends]),
    [
      [false, true, [undefined, true]],
      [true, false, [true, true]],
    ],
  );
  assert.deepEqual(
    samples.map((sample) => [sample.operation, sample.dropped]),
    [
      ['b', false],
      ['a', true],
    ],
  );
});

test('it is not asked about an execution that gives no sample', async (t) => {
  simulate(t);
  const { samples, algorithm } = watching();
  let asked = 0;
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout(1000)
    .addAdaptiveConcurrencyLimiter({
      algorithm,
      operation: () => {
        asked += 1;
        return 'any';
      },
      initialLimit: 1,
      queueLimit: 1,
      queueTimeout: 100,
    })
    .build();
  await rejection(pipeline.execute(notFound));
  await rejection(pipeline.execute(() => 1, { signal: AbortSignal.abort() }));
  const controller = new AbortController();
  const aborted = hold(pipeline, { signal: controller.signal });
  controller.abort();
  await rejection(aborted.promise);
  const running = hold(pipeline);
  const waiting = hold(pipeline);
  assert.equal((await rejection(pipeline.execute(() => 1))).reason, 'full');
  t.mock.timers.tick(100);
  assert.equal((await rejection(waiting.promise)).reason, 'queue-timeout');
  const late = hold(pipeline);
  pipeline.dispose();
  assert.equal((await rejection(late.promise)).reason, 'disposed');
  assert.deepEqual([asked, samples.length], [0, 0]);
  running.finish();
  await running.promise;
  assert.deepEqual([asked, samples.length], [1, 1]);
});

test('nor where shouldDrop failed, and where it decides that a success is a drop it is', async () => {
  const { builder, events } = listen();
  const { samples, algorithm } = watching();
  const pipeline = builder
    .addAdaptiveConcurrencyLimiter({
      algorithm,
      operation: byKey,
      shouldDrop: ({ outcome }) => {
        if (outcome.result === 'broken') throw new Error('broken');
        return outcome.result === 'busy';
      },
    })
    .build();
  await pipeline.execute(() => 'broken', { operationKey: 'a' });
  await pipeline.execute(() => 'busy', { operationKey: 'b' });
  await pipeline.execute(() => 'fine', { operationKey: 'c' });
  assert.deepEqual(
    samples.map(({ operation, dropped }) => [operation, dropped]),
    [
      ['b', true],
      ['c', false],
    ],
  );
  assert.deepEqual(
    events.filter(({ name }) => name === 'CallbackError').map(({ args }) => args.callback),
    ['shouldDrop'],
  );
});

test('each attempt of a retry is asked about', async () => {
  const { kinds, algorithm } = watching();
  const pipeline = new ResiliencePipelineBuilder()
    .addRetry({ maxRetryAttempts: 2, delay: 0 })
    .addAdaptiveConcurrencyLimiter({ algorithm, operation: byKey })
    .build();
  await rejection(pipeline.execute(unavailable, { operationKey: 'get' }));
  assert.deepEqual(kinds(), ['get', 'get', 'get']);
});

test('one that throws, or returns no string, is reported; its sample has no kind', async () => {
  const thrown = new Error('mine');
  const wrong = (shown) => `the result of operation must be a string or undefined, not ${shown}`;
  for (const [operation, check] of [
    [
      () => {
        throw thrown;
      },
      (error) => assert.equal(error, thrown),
    ],
    [
      () => {
        throw undefined;
      },
      (error) => assert.equal(error, undefined),
    ],
    [
      async () => 'get',
      ({ name, message }) => {
        assert.deepEqual([name, message], ['TypeError', wrong('a promise')]);
      },
    ],
    [() => 5, ({ message }) => assert.equal(message, wrong('5'))],
    [() => null, ({ message }) => assert.equal(message, wrong('null'))],
    [() => Symbol('get'), ({ message }) => assert.equal(message, wrong('Symbol(get)'))],
    [() => ['get'], ({ message }) => assert.equal(message, wrong("[ 'get' ]"))],
  ]) {
    const { builder, events } = listen();
    const { samples, algorithm } = watching();
    const pipeline = builder.addAdaptiveConcurrencyLimiter({ algorithm, operation }).build();
    assert.equal(await pipeline.execute(() => 'mine', { operationKey: 'get' }), 'mine');
    assert.equal(samples.length, 1);
    assert.equal(samples[0].operation, undefined);
    const [event, ...more] = events.filter(({ name }) => name === 'CallbackError');
    assert.deepEqual(more, []);
    assert.deepEqual(
      [event.strategyName, event.operationKey, event.args.callback],
      ['AdaptiveConcurrencyLimiter', 'get', 'operation'],
    );
    check(event.args.error);
  }
});

test('one that fails where nobody listens is a process warning', async () => {
  const failure = new Error('mine');
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({
      operation: () => {
        throw failure;
      },
    })
    .build();
  const warnings = on(process, 'warning');
  assert.equal(await pipeline.execute(() => 1), 1);
  for await (const [warning] of warnings) if (warning === failure) break;
});

test('without it a sample has no such member, with it one that may be undefined', async () => {
  for (const [operation, expected] of [
    [undefined, [false, undefined]],
    [() => undefined, [true, undefined]],
    [() => '', [true, '']],
    [() => '__proto__', [true, '__proto__']],
  ]) {
    const { samples, algorithm } = watching();
    const pipeline = new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({ algorithm, operation })
      .build();
    await pipeline.execute(() => 1);
    assert.deepEqual(['operation' in samples[0], samples[0].operation], expected);
  }
});

test('onLimitChanged and telemetry show the kind, whichever side the algorithm is on', async () => {
  for (const algorithm of [{ onSample: ({ limit }) => limit / 2 }, 'aimd']) {
    const { builder, events } = listen();
    const changes = [];
    const pipeline = builder
      .addAdaptiveConcurrencyLimiter({
        algorithm,
        operation: byKey,
        onLimitChanged: ({ sample }) => changes.push(sample.operation),
      })
      .build();
    await rejection(pipeline.execute(unavailable, { operationKey: 'put' }));
    assert.deepEqual(changes, ['put']);
    const { args } = events.find(({ name }) => name === 'OnLimitChanged');
    assert.equal(args.sample.operation, 'put');
  }
});

test('the first 64 kinds are told apart', async () => {
  const { kinds, algorithm } = watching();
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ algorithm, operation: byKey })
    .build();
  const keys = Array.from({ length: 70 }, (_, index) => `kind ${index}`);
  for (const operationKey of [...keys, keys[0], keys[63], keys[64]]) {
    await pipeline.execute(() => 1, { operationKey });
  }
  assert.deepEqual(kinds(), [
    ...keys.slice(0, 64),
    ...Array(6).fill(undefined),
    keys[0],
    keys[63],
    undefined,
  ]);
});

test('two limiters side by side each have their own', async () => {
  const route = () => 'route';
  for (const [outer, inner, expected] of [
    [byKey, route, ['get', 'route']],
    [byKey, undefined, ['get', undefined]],
    [undefined, route, [undefined, 'route']],
    [undefined, undefined, [undefined, undefined]],
  ]) {
    const outside = watching();
    const inside = watching();
    const pipeline = new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({ algorithm: outside.algorithm, operation: outer, name: 'outer' })
      .addConcurrencyLimiter(5)
      .addAdaptiveConcurrencyLimiter({ algorithm: inside.algorithm, operation: inner, name: 'inner' })
      .addTimeout(1000)
      .build();
    await pipeline.execute(() => 1, { operationKey: 'get' });
    await rejection(pipeline.execute(unavailable, { operationKey: 'get' }));
    assert.deepEqual(
      [...outside.kinds(), ...inside.kinds()],
      [expected[0], expected[0], expected[1], expected[1]],
    );
  }
});

test('two pipelines of one builder number their kinds apart', async () => {
  const changes = [];
  const builder = new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter({
    algorithm: 'aimd',
    operation: byKey,
    onLimitChanged: ({ sample }) => changes.push(sample.operation),
  });
  const pipelines = [builder.build(), builder.build()];
  await rejection(pipelines[0].execute(unavailable, { operationKey: 'a' }));
  await rejection(pipelines[1].execute(unavailable, { operationKey: 'b' }));
  assert.deepEqual(changes, ['a', 'b']);
});

test('a call that an inner limiter refused is a drop of its kind', async () => {
  const { samples, algorithm } = watching();
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ algorithm, operation: byKey })
    .addFallback({ fallbackAction: ({ outcome }) => Promise.reject(outcome.error) })
    .addConcurrencyLimiter(1)
    .build();
  const held = hold(pipeline, { operationKey: 'a' });
  await rejection(pipeline.execute(() => 1, { operationKey: 'b' }));
  assert.deepEqual(
    samples.map(({ operation, dropped }) => [operation, dropped]),
    [['b', true]],
  );
  held.finish();
  await held.promise;
});

test('knee measures each kind against its own latency without a queue', async (t) => {
  simulate(t);
  const { builder, events } = listen();
  const apart = builder
    .addAdaptiveConcurrencyLimiter({ algorithm: 'knee', operation: byKey, name: 'apart' })
    .build();
  const other = listen();
  const together = other.builder
    .addAdaptiveConcurrencyLimiter({ algorithm: 'knee', name: 'together' })
    .build();
  /** Some reads, and five reports of ten times their latency. */
  const round = async (reads) => {
    const held = (operationKey, count) =>
      [apart, together].flatMap((pipeline) =>
        Array.from({ length: count }, () => hold(pipeline, { operationKey })),
      );
    const quick = held('read', reads);
    const slow = held('report', 5);
    t.mock.timers.tick(10);
    for (const { finish } of quick) finish();
    await Promise.all(quick.map(({ promise }) => promise));
    t.mock.timers.tick(90);
    for (const { finish } of slow) finish();
    await Promise.all(slow.map(({ promise }) => promise));
  };
  for (let count = 0; count < 60; count += 1) await round(10);
  const ratios = (heard) =>
    heard
      .splice(0)
      .filter(({ name }) => name === 'OnLimitDecision')
      .map(({ args }) => args.latencyRatio);
  ratios(events);
  ratios(other.events);
  for (let count = 0; count < 10; count += 1) await round(0);
  const [told, untold] = [ratios(events), ratios(other.events)];
  assert.ok(told.length > 1 && untold.length > 1);
  assert.ok(told.at(-1) < 1.2, String(told));
  assert.ok(untold.at(-1) > 2, String(untold));
});

test('it is a function of the adaptive limiter, and of nothing else', () => {
  for (const operation of ['get', null, 5, {}]) {
    assert.throws(() => new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter({ operation }), {
      name: 'TypeError',
      message: /^operation must be a function, not /,
    });
  }
  assert.throws(
    () => new ResiliencePipelineBuilder().addConcurrencyLimiter({ permitLimit: 1, operation: byKey }),
    { name: 'TypeError', message: /no option 'operation'/ },
  );
  assert.throws(() => standardPipeline({ concurrencyLimiter: { operation: byKey } }), {
    name: 'TypeError',
    message: /no option 'operation'/,
  });
});
