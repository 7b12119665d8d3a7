import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BulkheadRejectedError,
  PipelineDisposedError,
  ResiliencePipelineBuilder,
} from '@ylcnfrht/resilience';
import { deferred } from './support/deferred.mjs';
import { hold, rejection, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const failure = new Error('failed');
/** Pipelines whose executions take different ways: no segment, one, and a combinator between two. */
const PIPELINES = {
  empty: () => new ResiliencePipelineBuilder(),
  'empty, explicit': () => new ResiliencePipelineBuilder({ context: 'explicit' }),
  'one segment': () => new ResiliencePipelineBuilder().addConcurrencyLimiter(1).addTimeout(60_000),
  'several parts': () =>
    new ResiliencePipelineBuilder()
      .addTimeout(60_000)
      .addFallback({ fallbackValue: 'unused', shouldHandle: () => false })
      .addAdaptiveConcurrencyLimiter(),
};
const throwing = () => {
  throw failure;
};
const thenable = (then) => ({ then });

const SUCCESSES = {
  'a value': [() => 42, 42],
  undefined: [() => {}, undefined],
  null: [() => null, null],
  'a promise': [() => Promise.resolve('later'), 'later'],
  'an async function': [async () => 'later', 'later'],
  'a thenable': [() => thenable((resolve) => resolve('then')), 'then'],
  'a thenable that is a function': [() => Object.assign(() => {}, thenable((resolve) => resolve('f'))), 'f'],
  'a thenable of a thenable': [
    () => thenable((resolve) => resolve(thenable((inner) => inner('deep')))),
    'deep',
  ],
  'a thenable that calls both callbacks': [
    () => thenable((resolve, reject) => {
      resolve('first');
      reject(failure);
      resolve('second');
    }),
    'first',
  ],
  'a thenable that resolves and throws': [
    () => thenable((resolve) => {
      resolve('first');
      throw failure;
    }),
    'first',
  ],
  'an object whose then is no function': [() => ({ then: 'x' }), { then: 'x' }],
  'an error that is returned': [() => failure, failure],
};
const FAILURES = {
  'a throw': throwing,
  'a rejection': () => Promise.reject(failure),
  'an async throw': async () => throwing(),
  'a thenable that rejects': () => thenable((_, reject) => reject(failure)),
  'a thenable that throws': () => thenable(throwing),
  'a thenable whose getter throws': () => Object.defineProperty({}, 'then', { get: throwing }),
};

for (const [kind, builder] of Object.entries(PIPELINES)) {
  for (const [name, [callback, expected]] of Object.entries(SUCCESSES)) {
    test(`${kind}: ${name} is the result`, async () => {
      const pipeline = builder().build();
      assert.deepEqual(await pipeline.execute(callback), expected);
      assert.deepEqual({ ...(await pipeline.settle(callback)) }, { ok: true, result: expected });
      assertIdle();
    });
  }

  for (const [name, callback] of Object.entries(FAILURES)) {
    test(`${kind}: ${name} is the error`, async () => {
      const pipeline = builder().build();
      assert.equal(await rejection(pipeline.execute(callback)), failure);
      const outcome = await pipeline.settle(callback);
      assert.equal(outcome.ok, false);
      assert.equal(outcome.error, failure);
      assertIdle();
    });
  }

  test(`${kind}: whatever is thrown is the error, undefined too`, async () => {
    for (const thrown of [undefined, null, 0, 'text', Symbol('s'), { ok: true, result: 1 }]) {
      const outcome = await builder().build().settle(() => {
        throw thrown;
      });
      assert.equal(outcome.ok, false);
      assert.equal(outcome.error, thrown);
    }
  });

  test(`${kind}: a callback that is no function is a TypeError`, async () => {
    for (const callback of [undefined, null, {}, 'f', Promise.resolve()]) {
      const pipeline = builder().build();
      assert.ok((await rejection(pipeline.execute(callback))) instanceof TypeError);
      assert.ok((await pipeline.settle(callback)).error instanceof TypeError);
    }
  });

  test(`${kind}: after dispose, executions reject and do not run`, async () => {
    const pipeline = builder().build();
    pipeline.dispose();
    pipeline.dispose();
    const run = () => assert.fail('must not run');
    const error = await rejection(pipeline.execute(run));
    assert.ok(error instanceof PipelineDisposedError);
    assert.equal(error.code, 'PIPELINE_DISPOSED');
    assert.ok((await pipeline.settle(run)).error instanceof PipelineDisposedError);
  });
}

test('the callback starts in the same turn when nothing is in its way', async () => {
  for (const builder of Object.values(PIPELINES)) {
    const held = hold(builder().build());
    assert.equal(held.running, true);
    held.finish('done');
    assert.equal(await held.promise, 'done');
  }
});

test('the callback gets the context and nothing else, and no this', async () => {
  await PIPELINES['one segment']().build().execute(function callback(...args) {
    assert.equal(args.length, 1);
    assert.equal(args[0].signal.aborted, false);
    assert.ok(this === undefined || this === null);
  });
});

test('getStrategy finds by name, the outer one of two, and undefined for what is not there', () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter({ permitLimit: 7, name: 'outer' })
    .addConcurrencyLimiter(3)
    .addConcurrencyLimiter(4)
    .addFallback({ fallbackValue: 1 })
    .addTimeout(1000)
    .build();
  assert.equal(pipeline.getStrategy('outer').permitLimit, 7);
  assert.equal(pipeline.getStrategy('ConcurrencyLimiter').permitLimit, 3);
  assert.equal(pipeline.getStrategy('Fallback').name, 'Fallback');
  assert.equal(pipeline.getStrategy('Timeout').abandoned, 0);
  for (const name of ['AdaptiveConcurrencyLimiter', 'toString', '__proto__', '']) {
    assert.equal(pipeline.getStrategy(name), undefined);
  }
  assert.throws(() => pipeline.getStrategy(1), TypeError);
});

test('each build owns fresh state', async () => {
  const builder = new ResiliencePipelineBuilder().addConcurrencyLimiter(1, 1).addTimeout(60_000);
  const [first, second] = [builder.build(), builder.build()];
  const running = hold(first);
  assert.equal(first.getStrategy('ConcurrencyLimiter').inflight, 1);
  assert.equal(second.getStrategy('ConcurrencyLimiter').inflight, 0);
  assert.equal(await second.execute(() => 'free'), 'free');
  second.dispose();
  running.finish();
  await running.promise;
  assert.equal(await first.execute(() => 'not disposed'), 'not disposed');
});

test('what is added after a build is in the next one only', async () => {
  const builder = new ResiliencePipelineBuilder();
  const before = builder.build();
  const after = builder.addConcurrencyLimiter(1).build();
  assert.equal(before.getStrategy('ConcurrencyLimiter'), undefined);
  assert.equal(after.getStrategy('ConcurrencyLimiter').permitLimit, 1);
});

test('dispose rejects every one of 10 000 waiters, in order, and lets the running ones finish', async () => {
  const order = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout(60_000)
    .addConcurrencyLimiter({
      permitLimit: 2,
      queueLimit: 10_000,
      queueTimeout: 50_000,
      onRejected: ({ context }) => order.push(Number(context.operationKey)),
    })
    .build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  const running = [hold(pipeline), hold(pipeline)];
  const waiters = Array.from({ length: 10_000 }, (_, index) =>
    pipeline.settle(() => assert.fail('must not run'), { operationKey: String(index) }),
  );
  pipeline.dispose();
  assert.deepEqual([limiter.inflight, limiter.queued], [2, 0]);
  const outcomes = await Promise.all(waiters);
  assert.equal(outcomes.filter(({ error }) => error instanceof BulkheadRejectedError).length, 10_000);
  assert.equal(outcomes.filter(({ error }) => error.reason === 'disposed').length, 10_000);
  assert.deepEqual(order, waiters.map((_, index) => index));
  running[0].finish('a value');
  running[1].fail(failure);
  assert.equal(await running[0].promise, 'a value');
  assert.equal(await rejection(running[1].promise), failure);
  assertIdle(limiter);
});

test('Symbol.dispose disposes', { skip: Symbol.dispose === undefined }, async () => {
  const pipeline = PIPELINES['one segment']().build();
  pipeline[Symbol.dispose]();
  assert.equal((await rejection(pipeline.execute(() => {}))).code, 'PIPELINE_DISPOSED');
});

test('an execution between two parts of a pipeline that is disposed waits for nothing', async () => {
  const generated = deferred();
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter(5)
    .addTimeout({ timeoutGenerator: () => generated.promise })
    .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 5, name: 'inner' })
    .build();
  const promise = pipeline.execute(() => assert.fail('must not run'));
  pipeline.dispose();
  generated.resolve(60_000);
  assert.equal((await rejection(promise)).code, 'PIPELINE_DISPOSED');
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'), pipeline.getStrategy('inner'));
});

test('dispose from inside a callback, an abort listener and an onRejected', async () => {
  const controller = new AbortController();
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 5, onRejected: () => pipeline.dispose() })
    .build();
  const running = hold(pipeline, { signal: controller.signal });
  running.context.signal.addEventListener('abort', () => pipeline.dispose());
  const waiters = [hold(pipeline), hold(pipeline)];
  controller.abort('gone');
  assert.equal(await rejection(running.promise), 'gone');
  await turn();
  // The abort had given the permit to the first of them.
  assert.deepEqual(waiters.map((waiter) => waiter.running), [true, false]);
  assert.equal((await rejection(waiters[1].promise)).reason, 'disposed');
  waiters[0].finish();
  await waiters[0].promise;
  const own = PIPELINES['one segment']().build();
  assert.equal(await own.execute(() => own.dispose()), undefined);
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'), own.getStrategy('ConcurrencyLimiter'));
});
