import assert from 'node:assert/strict';
import test from 'node:test';
import { BulkheadRejectedError, ResiliencePipelineBuilder, TimeoutRejectedError } from '@ylcnfrht/resilience';
import { hold, rejection, turn } from './support/hold.mjs';

const boom = new Error('boom');
const fails = () => {
  throw boom;
};
const withFallback = (options) => new ResiliencePipelineBuilder().addFallback(options).build();

test('a failure is replaced by the value, a success is not', async () => {
  const pipeline = withFallback({ fallbackValue: 'substitute' });
  assert.equal(await pipeline.execute(() => 'mine'), 'mine');
  assert.equal(await pipeline.execute(async () => undefined), undefined);
  assert.equal(await pipeline.execute(fails), 'substitute');
  assert.equal(await pipeline.execute(async () => fails()), 'substitute');
});

test('any value is a substitute, undefined too where the option is given', async () => {
  for (const fallbackValue of [undefined, null, 0, '', false, []]) {
    assert.equal(await withFallback({ fallbackValue }).execute(fails), fallbackValue);
  }
});

test('a value inherited from a prototype is given', async () => {
  class Options {
    get fallbackValue() {
      return 'inherited';
    }
  }
  assert.equal(await withFallback(new Options()).execute(fails), 'inherited');
});

test('an action beside fallbackValue: undefined is the action', async () => {
  const pipeline = withFallback({ fallbackValue: undefined, fallbackAction: () => 'computed' });
  assert.equal(await pipeline.execute(fails), 'computed');
});

test("an action computes the substitute from the outcome, in the execution's context", async () => {
  const seen = [];
  for (const fallbackAction of [
    (args) => seen.push(args) && 'sync',
    async (args) => seen.push(args) && 'async',
    (args) => ({ then: (resolve) => resolve(seen.push(args) && 'thenable') }),
  ]) {
    const outcome = await withFallback({ fallbackAction }).settle(fails, { operationKey: 'get' });
    assert.deepEqual({ ...outcome }, { ok: true, result: ['sync', 'async', 'thenable'][seen.length - 1] });
  }
  for (const { outcome, context } of seen) {
    assert.deepEqual({ ...outcome }, { ok: false, error: boom });
    assert.equal(context.operationKey, 'get');
    assert.equal(context.signal.aborted, false);
  }
});

test('an action that throws or rejects makes the execution fail with that error', async () => {
  const mine = new Error('mine');
  for (const fallbackAction of [
    () => {
      throw mine;
    },
    async () => {
      throw mine;
    },
  ]) {
    assert.equal(await rejection(withFallback({ fallbackAction }).execute(fails)), mine);
  }
});

test('it replaces the rejections of the strategies further in, not of those further out', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter({ permitLimit: 2, name: 'outer' })
    .addFallback({ fallbackAction: ({ outcome }) => outcome.error })
    .addConcurrencyLimiter(1)
    .addTimeout(20)
    .build();
  const held = hold(pipeline);
  const saved = await pipeline.execute(() => 1);
  assert.ok(saved instanceof BulkheadRejectedError);
  assert.equal(saved.strategyName, 'ConcurrencyLimiter');
  const other = hold(new ResiliencePipelineBuilder().build());
  const second = pipeline.execute(() => other.promise);
  const error = await rejection(pipeline.execute(() => 1));
  assert.equal(error.strategyName, 'outer');
  assert.ok((await held.promise) instanceof TimeoutRejectedError);
  await second;
  other.finish();
  assert.deepEqual(
    ['outer', 'ConcurrencyLimiter'].map((name) => pipeline.getStrategy(name).inflight),
    [0, 0],
  );
});

test('the permit of a limiter outside is held until the substitute is there', async () => {
  let substitute;
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter(1)
    .addFallback({ fallbackAction: () => new Promise((resolve) => (substitute = resolve)) })
    .build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  const saved = pipeline.execute(fails);
  await turn();
  assert.equal(limiter.inflight, 1);
  substitute('late');
  assert.equal(await saved, 'late');
  assert.equal(limiter.inflight, 0);
});

test('the permit of a limiter inside is free before the substitute is computed', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addFallback({ fallbackAction: () => pipeline.getStrategy('ConcurrencyLimiter').inflight })
    .addConcurrencyLimiter(1)
    .build();
  assert.equal(await pipeline.execute(fails), 0);
});

test('shouldHandle chooses: outcomes that it does not choose pass', async () => {
  const pipeline = withFallback({
    fallbackValue: 'substitute',
    shouldHandle: ({ outcome }) => (outcome.ok ? outcome.result === 503 : outcome.error === boom),
  });
  assert.equal(await pipeline.execute(() => 200), 200);
  assert.equal(await pipeline.execute(() => 503), 'substitute');
  assert.equal(await pipeline.execute(fails), 'substitute');
  const other = new Error('other');
  assert.equal(
    await rejection(
      pipeline.execute(() => {
        throw other;
      }),
    ),
    other,
  );
});

test('shouldHandle may be asynchronous, and gets outcome and context', async () => {
  const seen = [];
  const pipeline = withFallback({
    fallbackValue: 'substitute',
    shouldHandle: async (args) => {
      seen.push(args);
      return args.context.operationKey === 'save';
    },
  });
  assert.equal(await pipeline.execute(fails, { operationKey: 'save' }), 'substitute');
  assert.equal(await rejection(pipeline.execute(fails, { operationKey: 'no' })), boom);
  assert.deepEqual(
    seen.map(({ outcome }) => ({ ...outcome })),
    [
      { ok: false, error: boom },
      { ok: false, error: boom },
    ],
  );
});

test('a shouldHandle that throws loses no outcome: it passes as it is', async () => {
  const events = [];
  for (const shouldHandle of [
    () => {
      throw new Error('mine');
    },
    async () => {
      throw new Error('mine');
    },
  ]) {
    const pipeline = new ResiliencePipelineBuilder({
      telemetry: ({ name, args }) => events.push([name, args.callback]),
    })
      .addConcurrencyLimiter(1)
      .addFallback({ fallbackValue: 'substitute', shouldHandle })
      .build();
    assert.equal(await rejection(pipeline.execute(fails)), boom);
    assert.equal(await pipeline.execute(() => 'fine'), 'fine');
    assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 0);
  }
  assert.deepEqual(
    events.filter(([name]) => name === 'CallbackError'),
    Array(4).fill(['CallbackError', 'shouldHandle']),
  );
});

test('onFallback comes before the action, is not awaited and may fail', async () => {
  const order = [];
  const pipeline = withFallback({
    onFallback: ({ outcome, context }) => {
      order.push(['onFallback', outcome.error, context.operationKey]);
      return new Promise(() => {});
    },
    fallbackAction: () => order.push(['fallbackAction']),
  });
  await pipeline.execute(fails, { operationKey: 'get' });
  assert.deepEqual(order, [['onFallback', boom, 'get'], ['fallbackAction']]);
  assert.equal(await pipeline.execute(() => 'fine'), 'fine');
  assert.equal(order.length, 2);
});

test("the caller's abort passes, and nothing is called", async () => {
  const called = [];
  for (const shouldHandle of [undefined, () => called.push('shouldHandle')]) {
    const controller = new AbortController();
    const pipeline = withFallback({
      shouldHandle,
      fallbackAction: () => called.push('fallbackAction'),
      onFallback: () => called.push('onFallback'),
    });
    const running = hold(pipeline, { signal: controller.signal });
    controller.abort('left');
    assert.equal(await rejection(running.promise), 'left');
    const late = hold(pipeline, { signal: controller.signal });
    assert.equal(await rejection(late.promise), 'left');
    running.fail(boom);
    await turn();
  }
  assert.deepEqual(
    called.filter((name) => name !== 'shouldHandle'),
    [],
  );
});

test('an abort during the action rejects at once, and its late failure is silent', async () => {
  const controller = new AbortController();
  let failLate;
  const pipeline = withFallback({ fallbackAction: () => new Promise((_, reject) => (failLate = reject)) });
  const saved = pipeline.execute(fails, { signal: controller.signal });
  await turn();
  controller.abort('left');
  assert.equal(await rejection(saved), 'left');
  failLate(new Error('late'));
  await turn();
});

test('of two fallbacks the inner one answers first, the outer one saves its failure', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addFallback({ fallbackAction: ({ outcome }) => `outer after ${outcome.error.message}`, name: 'outer' })
    .addFallback({
      fallbackAction: () => {
        throw new Error('inner');
      },
      name: 'inner',
    })
    .build();
  assert.equal(await pipeline.execute(fails), 'outer after inner');
  assert.deepEqual(
    ['outer', 'inner'].map((name) => pipeline.getStrategy(name).name),
    ['outer', 'inner'],
  );
  assert.equal(pipeline.getStrategy('Fallback'), undefined);
});

for (const options of [undefined, null, 1, 'x', () => 1]) {
  test(`addFallback(${String(options)}) is a TypeError`, () => {
    assert.throws(() => new ResiliencePipelineBuilder().addFallback(options), {
      name: 'TypeError',
      message: /^the options of addFallback must be an object, not /,
    });
  });
}
