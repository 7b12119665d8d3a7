import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import test from 'node:test';
import { ResiliencePipelineBuilder, getResilienceContext } from '@ylcnfrht/resilience';
import { advance, assertLost, attempted, scripted } from './support/attempts.mjs';
import { deferred } from './support/deferred.mjs';
import { rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';
import { listen } from './support/listen.mjs';

const boom = new Error('boom');
const withHedging = (options) => new ResiliencePipelineBuilder().addHedging(options).build();

test('shouldHandle chooses what does not win: results too, later or at once', async () => {
  for (const wrap of [(value) => value, async (value) => value]) {
    const seen = [];
    const pipeline = withHedging({
      maxHedgedAttempts: 2,
      delay: Infinity,
      shouldHandle: ({ outcome, context, attemptNumber }) => {
        seen.push([attemptNumber, outcome.ok ? outcome.result : outcome.error, context.operationKey]);
        return wrap(outcome.ok && outcome.result === 503);
      },
    });
    assert.equal(await pipeline.execute(scripted(503, 503, 200), { operationKey: 'get' }), 200);
    assert.deepEqual(seen.splice(0), [[0, 503, 'get'], [1, 503, 'get'], [2, 200, 'get']]);
    assert.equal(await rejection(pipeline.execute(scripted(boom))), boom);
    assert.equal(seen.splice(0).length, 1);
    assert.equal(await pipeline.execute(scripted(503)), 503);
  }
});

test('while shouldHandle is pending the delay goes on, and another attempt may win', async (t) => {
  simulate(t);
  const verdicts = [deferred(), deferred()];
  const shouldHandle = ({ attemptNumber }) => verdicts[attemptNumber].promise;
  const pipeline = withHedging({ delay: 100, shouldHandle });
  const callback = attempted();
  const result = pipeline.execute(callback);
  callback.attempts[0].finish('doubtful');
  await advance(t, 100);
  assert.equal(callback.attempts.length, 2);
  callback.attempts[1].finish('good');
  await turn();
  verdicts[1].resolve(false);
  assert.equal(await result, 'good');
  verdicts[0].resolve(true);
  await turn();
  assertIdle();
});

test('a shouldHandle that fails is reported, and the outcome wins as it is', async () => {
  const fail = () => {
    throw new Error('mine');
  };
  for (const shouldHandle of [fail, async () => fail()]) {
    const { builder, events } = listen();
    const pipeline = builder.addHedging({ delay: Infinity, shouldHandle }).build();
    const callback = scripted(boom);
    assert.equal(await rejection(pipeline.execute(callback)), boom);
    assert.equal(callback.calls, 1);
    const errors = events.filter(({ name }) => name === 'CallbackError');
    assert.deepEqual(
      errors.map(({ strategyName, args }) => [strategyName, args.callback, args.error.message]),
      [['Hedging', 'shouldHandle', 'mine']],
    );
  }
});

test('an actionGenerator gives the further attempts their actions', async (t) => {
  simulate(t);
  const seen = [];
  const pipeline = withHedging({
    maxHedgedAttempts: 2,
    delay: 100,
    actionGenerator: ({ primaryContext, actionContext, attemptNumber, callback }) => {
      seen.push([primaryContext.operationKey, actionContext.operationKey, attemptNumber]);
      assert.equal(actionContext.properties, primaryContext.properties);
      if (attemptNumber === 1) return () => callback(actionContext);
      return () => `replica ${attemptNumber}`;
    },
  });
  const callback = attempted();
  const result = pipeline.execute(callback, { operationKey: 'get' });
  assert.equal(seen.length, 0, 'the original call is what it is');
  await advance(t, 100);
  assert.equal(callback.attempts.length, 2);
  callback.attempts[1].fail(boom);
  assert.equal(await result, 'replica 2');
  assert.deepEqual(seen, [['get', 'get', 1], ['get', 'get', 2]]);
  assertLost(callback.attempts[0]);
  assertIdle();
});

test("an action's failure, synchronous or not, is an outcome like any other", async () => {
  for (const action of [() => { throw boom; }, async () => { throw boom; }, () => Promise.reject(boom)]) {
    const callback = scripted(new Error('first'));
    const pipeline = withHedging({ delay: Infinity, actionGenerator: () => action });
    assert.equal(await rejection(pipeline.execute(callback)), boom);
    assert.equal(callback.calls, 1);
  }
});

test('an action that loses has its signal aborted; what it does later is silent', async (t) => {
  const unhandled = t.mock.fn();
  process.on('unhandledRejection', unhandled);
  t.after(() => process.off('unhandledRejection', unhandled));
  const work = deferred();
  let signal;
  const callback = attempted();
  const pipeline = withHedging({
    delay: 0,
    actionGenerator: ({ actionContext, callback: inside }) => {
      ({ signal } = actionContext);
      return () => {
        // Nobody looks at this one.
        inside(actionContext);
        return work.promise;
      };
    },
  });
  const result = pipeline.execute(callback);
  assert.equal(signal.aborted, false);
  callback.attempts[0].finish('first');
  assert.equal(await result, 'first');
  assert.equal(signal.reason.message, 'another attempt was faster');
  work.reject(new Error('late'));
  callback.attempts[1].fail(new Error('later'));
  await turn();
  assert.equal(unhandled.mock.callCount(), 0);
  assertIdle();
});

test('an action runs in the context of its attempt, and nested pipelines stop with it', async () => {
  const inner = new ResiliencePipelineBuilder().addConcurrencyLimiter(5).build();
  const limiter = inner.getStrategy('ConcurrencyLimiter');
  for (const context of ['ambient', 'explicit']) {
    const held = attempted();
    const seen = [];
    const pipeline = new ResiliencePipelineBuilder({ context })
      .addHedging({
        delay: 0,
        actionGenerator: ({ actionContext }) => async () => {
          seen.push(getResilienceContext() === actionContext);
          await null;
          return inner.execute(held);
        },
      })
      .build();
    const callback = attempted();
    const result = pipeline.execute(callback);
    await turn();
    assert.deepEqual(seen, [context === 'ambient']);
    assert.equal(limiter.inflight, 1);
    callback.attempts[0].finish('first');
    assert.equal(await result, 'first');
    assert.equal(limiter.inflight, context === 'ambient' ? 0 : 1);
    held.attempts[0].finish();
    await turn();
    assertIdle(limiter);
  }
});

test('an actionGenerator that has no more actions starts no further attempt', async (t) => {
  simulate(t);
  for (const last of [undefined, 'throws', 'nonsense']) {
    const { builder, events } = listen();
    let asked = 0;
    const pipeline = builder
      .addHedging({
        maxHedgedAttempts: 5,
        delay: 100,
        actionGenerator: ({ attemptNumber, callback, actionContext }) => {
          asked += 1;
          if (attemptNumber === 1) return () => callback(actionContext);
          if (last === 'throws') throw new Error('mine');
          return last;
        },
      })
      .build();
    const callback = attempted();
    const error = rejection(pipeline.execute(callback));
    for (let step = 0; step < 5; step += 1) await advance(t, 100);
    assert.equal(callback.attempts.length, 2);
    callback.attempts[0].fail(new Error('first'));
    await turn();
    callback.attempts[1].fail(boom);
    assert.equal(await error, boom);
    assert.equal(asked, 2);
    const errors = events.filter(({ name }) => name === 'CallbackError').map(({ args }) => args);
    const messages = { throws: [/^mine$/], nonsense: [/^the result of actionGenerator must be a function/] };
    const expected = messages[last] ?? [];
    assert.equal(errors.length, expected.length);
    for (const [index, { callback: option, error }] of errors.entries()) {
      assert.equal(option, 'actionGenerator');
      assert.match(error.message, expected[index]);
    }
    assertIdle();
  }
});

test('onHedging comes before each hedged attempt, is not awaited and may fail', async (t) => {
  simulate(t);
  const seen = [];
  const { builder, events } = listen();
  const callback = attempted();
  const pipeline = builder
    .addHedging({
      maxHedgedAttempts: 2,
      delay: 100,
      onHedging: ({ context, attemptNumber, duration }) => {
        seen.push([context.operationKey, attemptNumber, duration, callback.attempts.length]);
        if (attemptNumber === 2) throw new Error('mine');
        return new Promise(() => {});
      },
    })
    .build();
  const result = pipeline.execute(callback, { operationKey: 'get' });
  await advance(t, 100);
  await advance(t, 30);
  callback.attempts[0].fail(boom);
  await turn();
  assert.equal(callback.attempts.length, 3);
  callback.attempts[2].finish('third');
  assert.equal(await result, 'third');
  assert.deepEqual(seen, [['get', 1, 100, 1], ['get', 2, 130, 2]]);
  const errors = events.filter(({ name }) => name === 'CallbackError').map(({ args }) => args);
  assert.deepEqual(errors.map((args) => [args.callback, args.error.message]), [['onHedging', 'mine']]);
});

test('telemetry tells of every hedged attempt, and of the end of each that counted', async (t) => {
  simulate(t);
  const { builder, events } = listen();
  const pipeline = builder.addHedging({ maxHedgedAttempts: 2, delay: 100, name: 'beside' }).build();
  const callback = attempted();
  const result = pipeline.execute(callback, { operationKey: 'get' });
  await advance(t, 100);
  await advance(t, 20);
  callback.attempts[1].fail(boom);
  await turn();
  await advance(t, 5);
  callback.attempts[2].finish('third');
  assert.equal(await result, 'third');
  callback.attempts[0].finish('late');
  await turn();
  const told = events
    .filter(({ name }) => name === 'ExecutionAttempt' || name === 'OnHedging')
    .map(({ name, severity, pipelineName, strategyName, operationKey, args }) => {
      assert.deepEqual([pipelineName, strategyName, operationKey], ['search', 'beside', 'get']);
      const { context, outcome, ...others } = args;
      assert.equal(context.operationKey, 'get');
      return [name, severity, outcome?.ok, others];
    });
  assert.deepEqual(told, [
    ['OnHedging', 'warning', undefined, { attemptNumber: 1, duration: 100 }],
    ['ExecutionAttempt', 'warning', false, { attemptNumber: 1, duration: 20, handled: true }],
    ['OnHedging', 'warning', undefined, { attemptNumber: 2, duration: 120 }],
    ['ExecutionAttempt', 'information', true, { attemptNumber: 2, duration: 5, handled: false }],
  ]);
});

test('every callback runs in the AsyncLocalStorage store of its caller', async (t) => {
  simulate(t);
  const storage = new AsyncLocalStorage();
  const seen = [];
  const look = (what) => seen.push([what, storage.getStore()]);
  const pipeline = new ResiliencePipelineBuilder()
    .addHedging({
      delay: 100,
      shouldHandle: () => void look('shouldHandle'),
      onHedging: () => void look('onHedging'),
      actionGenerator: ({ actionContext, callback }) => {
        look('actionGenerator');
        return () => {
          look('action');
          return callback(actionContext);
        };
      },
    })
    .addConcurrencyLimiter(2, 100)
    .build();
  const stores = Array.from({ length: 20 }, (_, index) => index);
  const held = attempted();
  const all = stores.map((store) =>
    storage.run(store, () => {
      const own = { calls: 0 };
      return pipeline.execute((context) => {
        own.calls += 1;
        look('callback');
        return own.calls === 1 && store < 2 ? held(context) : store;
      });
    }),
  );
  // Two hold the permits, so that the others are admitted by whatever ends: a hedged attempt waits for them.
  await advance(t, 100);
  for (const { finish } of held.attempts) finish('held');
  assert.deepEqual(await Promise.all(all), ['held', 'held', ...stores.slice(2)]);
  for (const store of stores) {
    const own = seen.filter(([, other]) => other === store).map(([what]) => what);
    assert.deepEqual(own.slice(0, store < 2 ? 4 : 3), [
      ...(store < 2 ? ['callback'] : []),
      'actionGenerator',
      'onHedging',
      'action',
    ]);
    assert.equal(own.at(-1), 'shouldHandle');
  }
  assert.equal(seen.filter(([, store]) => store === undefined).length, 0);
});
