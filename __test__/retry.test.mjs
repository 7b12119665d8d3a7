import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import test from 'node:test';
import { ResiliencePipelineBuilder, getResilienceContext } from '@ylcnfrht/resilience';
import { advance, attempted, scripted } from './support/attempts.mjs';
import { deferred } from './support/deferred.mjs';
import { rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';
import { listen } from './support/listen.mjs';

const boom = new Error('boom');
const withRetry = (options) => new ResiliencePipelineBuilder().addRetry(options).build();

test('a success is not retried, in whatever form it comes', async () => {
  const pipeline = withRetry();
  const results = [() => 1, async () => undefined, () => ({ then: (resolve) => resolve('thenable') })];
  for (const [index, expected] of [1, undefined, 'thenable'].entries()) {
    assert.equal(await pipeline.execute(results[index]), expected);
  }
  assertIdle();
});

test('by default three retries, 2000 ms apart, and then the last failure', async (t) => {
  simulate(t);
  const errors = [0, 1, 2, 3].map((number) => new Error(`attempt ${number}`));
  const callback = scripted(...errors);
  const error = rejection(withRetry().execute(callback));
  await turn();
  for (const calls of [1, 2, 3]) {
    await advance(t, 1999);
    assert.equal(callback.calls, calls);
    await advance(t, 1);
    assert.equal(callback.calls, calls + 1);
  }
  assert.equal(await error, errors[3]);
  assertIdle();
});

test('a failure in any form is retried', async () => {
  const forms = [
    () => {
      throw boom;
    },
    () => Promise.reject(boom),
    () => ({ then: (_, reject) => reject(boom) }),
    () => {
      throw undefined;
    },
  ];
  for (const fail of forms) {
    let calls = 0;
    const result = await withRetry({ delay: 0 }).execute(() => ((calls += 1) < 3 ? fail() : 'saved'));
    assert.deepEqual([calls, result], [3, 'saved']);
  }
});

test('settle resolves with the last outcome', async () => {
  const pipeline = withRetry({ delay: 0, maxRetryAttempts: 1 });
  assert.deepEqual({ ...(await pipeline.settle(scripted(boom, 7))) }, { ok: true, result: 7 });
  assert.deepEqual({ ...(await pipeline.settle(scripted(boom))) }, { ok: false, error: boom });
});

test('maxRetryAttempts 0 runs once; Infinity runs until it succeeds', async () => {
  const once = scripted(boom);
  assert.equal(await rejection(withRetry({ maxRetryAttempts: 0 }).execute(once)), boom);
  assert.equal(once.calls, 1);
  const many = scripted(...Array(250).fill(boom), 'at last');
  assert.equal(await withRetry({ maxRetryAttempts: Infinity, delay: 0 }).execute(many), 'at last');
  assert.equal(many.calls, 251);
});

test("each attempt has a context and a signal of its own below the caller's", async () => {
  const contexts = [];
  const pipeline = withRetry({ delay: 0, maxRetryAttempts: 2 });
  await pipeline.settle((context) => {
    contexts.push(context);
    assert.equal(getResilienceContext(), context);
    context.properties.set(`attempt ${contexts.length}`, true);
    throw boom;
  }, { operationKey: 'get' });
  assert.equal(new Set(contexts.map(({ signal }) => signal)).size, 3);
  assert.equal(new Set(contexts).size, 3);
  assert.deepEqual([...contexts[2].properties.keys()], ['attempt 1', 'attempt 2', 'attempt 3']);
  assert.deepEqual(contexts.map(({ operationKey }) => operationKey), ['get', 'get', 'get']);
  assert.deepEqual(contexts.map(({ signal }) => signal.aborted), [false, false, false]);
});

test('shouldHandle decides on results and failures, with the number of the attempt', async () => {
  const thenable = (value) => ({ then: (resolve) => resolve(value) });
  for (const wrap of [(value) => value, async (value) => value, thenable]) {
    const seen = [];
    const pipeline = withRetry({
      delay: 0,
      shouldHandle: ({ outcome, context, attemptNumber }) => {
        seen.push([attemptNumber, outcome.ok ? outcome.result : outcome.error, context.operationKey]);
        return wrap(outcome.ok ? outcome.result === 503 : outcome.error === boom);
      },
    });
    assert.equal(await pipeline.execute(scripted(503, boom, 200), { operationKey: 'get' }), 200);
    assert.deepEqual(seen, [[0, 503, 'get'], [1, boom, 'get'], [2, 200, 'get']]);
    const other = new Error('other');
    const callback = scripted(other);
    assert.equal(await rejection(pipeline.execute(callback)), other);
    assert.equal(callback.calls, 1);
    assert.equal(await pipeline.execute(scripted(503)), 503, 'the last outcome, though it is a handled one');
  }
});

for (const [name, shouldHandle] of [
  ['throws', () => { throw new Error('mine'); }],
  ['rejects', async () => { throw new Error('mine'); }],
  ['gives a thenable that throws', () => ({ then: () => { throw new Error('mine'); } })],
]) {
  test(`a shouldHandle that ${name} is reported, and the outcome passes as it is`, async () => {
    const { builder, events } = listen();
    const pipeline = builder.addConcurrencyLimiter(1).addRetry({ delay: 0, shouldHandle }).build();
    const callback = scripted(boom);
    assert.equal(await rejection(pipeline.execute(callback)), boom);
    assert.equal(callback.calls, 1);
    const errors = events.filter((event) => event.name === 'CallbackError');
    assert.deepEqual(
      errors.map(({ strategyName, args }) => [strategyName, args.callback, args.error.message]),
      [['Retry', 'shouldHandle', 'mine']],
    );
    assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
  });
}

test('onRetry comes before the delay, is awaited, and tells of it', async (t) => {
  simulate(t);
  const seen = [];
  const told = deferred();
  const pipeline = withRetry({
    delay: 100,
    maxRetryAttempts: 1,
    onRetry: (args) => {
      seen.push(args);
      return told.promise;
    },
  });
  const callback = attempted();
  const result = pipeline.execute(callback, { operationKey: 'get' });
  await advance(t, 40);
  callback.attempts[0].fail(boom);
  await turn();
  await advance(t, 1000);
  assert.equal(callback.attempts.length, 1, 'the delay has not begun');
  told.resolve();
  await turn();
  await advance(t, 99);
  assert.equal(callback.attempts.length, 1);
  await advance(t, 1);
  callback.attempts[1].finish('saved');
  assert.equal(await result, 'saved');
  assert.equal(seen.length, 1);
  const { outcome, context, ...others } = seen[0];
  assert.deepEqual({ ...outcome }, { ok: false, error: boom });
  assert.equal(context.operationKey, 'get');
  assert.deepEqual(others, { attemptNumber: 0, retryDelay: 100, duration: 40 });
});

test('an onRetry that fails is reported, and the retry comes all the same', async () => {
  for (const onRetry of [
    () => {
      throw new Error('mine');
    },
    async () => {
      throw new Error('mine');
    },
  ]) {
    const { builder, events } = listen();
    const pipeline = builder.addRetry({ delay: 0, onRetry }).build();
    assert.equal(await pipeline.execute(scripted(boom, 'saved')), 'saved');
    const errors = events.filter((event) => event.name === 'CallbackError');
    assert.deepEqual(errors.map(({ args }) => [args.callback, args.error.message]), [['onRetry', 'mine']]);
  }
});

test('telemetry tells of every attempt and every retry', async (t) => {
  simulate(t);
  const { builder, events } = listen();
  const pipeline = builder.addRetry({ delay: 100, maxRetryAttempts: 1, name: 'again' }).build();
  const callback = attempted();
  const error = rejection(pipeline.execute(callback, { operationKey: 'get' }));
  await advance(t, 10);
  callback.attempts[0].fail(boom);
  await turn();
  await advance(t, 100);
  await advance(t, 20);
  callback.attempts[1].fail(boom);
  assert.equal(await error, boom);
  await pipeline.execute(() => 'fine');
  const told = events
    .filter(({ name }) => name === 'ExecutionAttempt' || name === 'OnRetry')
    .map(({ name, severity, pipelineName, strategyName, operationKey, args }) => {
      assert.deepEqual([pipelineName, strategyName], ['search', 'again']);
      const { outcome, context, duration, ...others } = args;
      assert.equal(context.operationKey, operationKey);
      return [name, severity, operationKey, outcome.ok, duration, others];
    });
  assert.deepEqual(told, [
    ['ExecutionAttempt', 'warning', 'get', false, 10, { attemptNumber: 0, handled: true }],
    ['OnRetry', 'warning', 'get', false, 10, { attemptNumber: 0, retryDelay: 100 }],
    ['ExecutionAttempt', 'error', 'get', false, 20, { attemptNumber: 1, handled: true }],
    ['ExecutionAttempt', 'information', undefined, true, 0, { attemptNumber: 0, handled: false }],
  ]);
});

test('every callback runs in the AsyncLocalStorage store of its caller', async (t) => {
  simulate(t);
  const storage = new AsyncLocalStorage();
  const seen = [];
  const look = (what) => seen.push([what, storage.getStore()]);
  const pipeline = new ResiliencePipelineBuilder()
    .addRetry({
      delay: 100,
      shouldHandle: ({ outcome }) => look('shouldHandle') && !outcome.ok,
      delayGenerator: () => void look('delayGenerator'),
      onRetry: () => void look('onRetry'),
    })
    .addConcurrencyLimiter(1, 100)
    .build();
  const stores = Array.from({ length: 20 }, (_, index) => index);
  const all = stores.map((store) =>
    storage.run(store, () => {
      const step = scripted(boom, store);
      return pipeline.execute(async () => {
        look('callback');
        await null;
        return step();
      });
    }),
  );
  await turn();
  await advance(t, 100);
  assert.deepEqual(await Promise.all(all), stores);
  const first = ['callback', 'shouldHandle', 'delayGenerator', 'onRetry', 'callback', 'shouldHandle'];
  for (const store of stores) {
    assert.deepEqual(seen.filter(([, own]) => own === store).map(([what]) => what), first);
  }
  assert.equal(seen.length, 120);
});

test('an explicit context: retries work the same, and nothing is ambient', async () => {
  const pipeline = new ResiliencePipelineBuilder({ context: 'explicit' }).addRetry({ delay: 0 }).build();
  const seen = [];
  const result = await pipeline.execute((context) => {
    seen.push([getResilienceContext(), context.signal.aborted]);
    if (seen.length < 3) throw boom;
    return 'saved';
  });
  assert.equal(result, 'saved');
  assert.deepEqual(seen, Array(3).fill([undefined, false]));
});

test('options of the wrong type or out of range are errors that name them', () => {
  const objects = [{}, [], null, () => 1];
  const types = {
    maxRetryAttempts: [...objects, '3', true],
    delay: [...objects, true],
    maxDelay: [...objects, true],
    backoffType: [...objects, 1],
    useJitter: [...objects, 1, 'true'],
    respectRetryAfter: [...objects, 0],
    delayGenerator: [{}, [], null, 100],
    shouldHandle: [{}, [], null, true],
    onRetry: [{}, [], null, 'log'],
    budget: [...objects, 1, { balance: 1 }],
    name: [...objects, 1],
  };
  const ranges = {
    maxRetryAttempts: [-1, 1.5, NaN, -Infinity],
    delay: [-1, NaN, Infinity, '', '5', '-1s', '5 s'],
    maxDelay: [-1, NaN, Infinity, 'x'],
    backoffType: ['', 'Exponential', 'toString'],
    name: [''],
  };
  for (const [name, table] of [['TypeError', types], ['RangeError', ranges]]) {
    for (const [option, values] of Object.entries(table)) {
      for (const value of values) {
        const message = new RegExp(`^${option} must be .*, not `);
        assert.throws(() => withRetry({ [option]: value }), { name, message });
      }
    }
  }
  assert.throws(() => withRetry({ retries: 3 }), /^TypeError: addRetry has no option 'retries'; it takes /);
  for (const options of [null, 3, 'x', () => 1, []]) {
    assert.throws(() => withRetry(options), /^TypeError: the options of addRetry must be an object, not /);
  }
  withRetry(undefined);
  withRetry({ maxRetryAttempts: Infinity, delay: '0ms', maxDelay: 0, name: undefined, budget: undefined });
});
