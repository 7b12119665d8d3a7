import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { collected } from './support/collected.mjs';
import { deferred } from './support/deferred.mjs';
import { hold, rejection, simulate, turn } from './support/hold.mjs';

const user = new AsyncLocalStorage();
const CONTEXTS = ['ambient', 'explicit'];

for (const context of CONTEXTS) {
  test(`each of 20 queued calls at limit 1 sees its own store (${context})`, async () => {
    const pipeline = new ResiliencePipelineBuilder({ context }).addConcurrencyLimiter(1, 20).build();
    const calls = Array.from({ length: 20 }, (_, id) =>
      user.run(id, () =>
        pipeline.execute(async () => {
          const before = user.getStore();
          await null;
          return [before, user.getStore()];
        }),
      ),
    );
    assert.deepEqual(await Promise.all(calls), calls.map((_, id) => [id, id]));
  });

  test(`calls admitted by a raised limit see their own store (${context})`, async () => {
    const algorithm = { onSample: () => 10 };
    const pipeline = new ResiliencePipelineBuilder({ context })
      .addAdaptiveConcurrencyLimiter({ algorithm, initialLimit: 1, queueLimit: 10 })
      .build();
    const first = user.run('first', () => hold(pipeline));
    const calls = Array.from({ length: 5 }, (_, id) =>
      user.run(id, () => pipeline.execute(async () => user.getStore())),
    );
    user.run('the releaser', () => first.finish());
    assert.deepEqual(await Promise.all(calls), [0, 1, 2, 3, 4]);
  });
}

for (const context of CONTEXTS) {
  const limited = () => new ResiliencePipelineBuilder({ context }).addConcurrencyLimiter(1, 5).addTimeout(30);
  const readStore = async () => {
    const before = user.getStore();
    await null;
    return [before, user.getStore()];
  };

  test(`a call let in by another one's deadline sees its own store (${context})`, async (t) => {
    simulate(t);
    const pipeline = limited().build();
    const late = user.run('late', () => hold(pipeline));
    const waiter = user.run('waiter', () => pipeline.execute(readStore));
    user.run('the timer', () => t.mock.timers.tick(30));
    assert.deepEqual(await waiter, ['waiter', 'waiter']);
    assert.equal((await rejection(late.promise)).code, 'TIMEOUT');
  });

  test(`a call let in by another one's abort sees its own store (${context})`, async () => {
    const pipeline = limited().build();
    const controller = new AbortController();
    const gone = user.run('gone', () => hold(pipeline, { signal: controller.signal }));
    const waiter = user.run('waiter', () => pipeline.execute(readStore));
    user.run('the aborter', () => controller.abort('gone'));
    assert.deepEqual(await waiter, ['waiter', 'waiter']);
    assert.equal(await rejection(gone.promise), 'gone');
  });

  test(`a fallback from a deadline runs in the store of the caller (${context})`, async (t) => {
    simulate(t);
    const seen = [];
    const note = (what) => () => seen.push([what, user.getStore()]);
    const pipeline = new ResiliencePipelineBuilder({ context })
      .addFallback({
        shouldHandle: note('shouldHandle'),
        onFallback: note('onFallback'),
        fallbackAction: note('fallbackAction'),
      })
      .addTimeout(30)
      .build();
    const call = user.run('caller', () => pipeline.execute(() => new Promise(() => {})));
    user.run('the timer', () => t.mock.timers.tick(30));
    await call;
    assert.deepEqual(seen, [
      ['shouldHandle', 'caller'],
      ['onFallback', 'caller'],
      ['fallbackAction', 'caller'],
    ]);
  });
}

for (const context of CONTEXTS) {
  test(`waiters of a rate limiter see their own stores (${context})`, async (t) => {
    simulate(t);
    const seen = [];
    const pipeline = new ResiliencePipelineBuilder({ context })
      .addTimeout('1h')
      .addRateLimiter({
        permitLimit: 2,
        window: 10,
        queueLimit: 20,
        key: () => void seen.push(user.getStore()),
      })
      .build();
    const calls = Array.from({ length: 9 }, (_, id) =>
      user.run(id, () =>
        pipeline.execute(async () => {
          const before = user.getStore();
          await null;
          return [before, user.getStore()];
        }),
      ),
    );
    for (let window = 0; window < 4; window += 1) {
      user.run('the timer', () => t.mock.timers.tick(10));
      await turn();
    }
    assert.deepEqual(await Promise.all(calls), calls.map((_, id) => [id, id]));
    assert.deepEqual(seen, calls.map((_, id) => id));
  });

  test(`attempts and their callbacks run in the store of the caller (${context})`, async (t) => {
    simulate(t);
    const seen = [];
    const note = (answer) => () => (seen.push(user.getStore()), answer);
    const pipeline = new ResiliencePipelineBuilder({ context })
      .addRetry({
        maxRetryAttempts: 1,
        delayGenerator: note(10),
        shouldHandle: note(true),
        onRetry: note(),
      })
      .addHedging({ delay: 10, onHedging: note(), shouldHandle: note(true) })
      .build();
    const call = user.run('caller', () => pipeline.execute(note('result')));
    for (let step = 0; step < 10; step += 1) {
      await turn();
      user.run('the timer', () => t.mock.timers.tick(10));
    }
    assert.equal(await call, 'result');
    assert.ok(seen.length >= 10, String(seen.length));
    assert.deepEqual(new Set(seen), new Set(['caller']));
  });
}

test('callbacks of a circuit breaker run in the store of the execution that moved it', async (t) => {
  simulate(t);
  const seen = [];
  const note = (what) => () => void seen.push([what, user.getStore()]);
  const pipeline = new ResiliencePipelineBuilder()
    .addCircuitBreaker({
      consecutiveFailures: 1,
      breakDuration: 1000,
      onOpened: note('opened'),
      onHalfOpened: note('half-opened'),
      onClosed: note('closed'),
    })
    .build();
  await user.run('failing', () => pipeline.settle(() => Promise.reject(new Error('boom'))));
  user.run('the timer', () => t.mock.timers.tick(1000));
  await user.run('probing', () => pipeline.settle(async () => {}));
  assert.deepEqual(seen, [
    ['opened', 'failing'],
    ['half-opened', 'probing'],
    ['closed', 'probing'],
  ]);
});

test('a call in a later part of the pipeline sees its own store', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter({ permitLimit: 2, queueLimit: 20, name: 'outer' })
    .addFallback({ fallbackAction: () => user.getStore() })
    .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 20, name: 'inner' })
    .build();
  const calls = Array.from({ length: 10 }, (_, id) =>
    user.run(id, () =>
      pipeline.execute(async () => {
        assert.equal(user.getStore(), id);
        if (id % 2 === 0) return id;
        throw new Error('for the fallback');
      }),
    ),
  );
  assert.deepEqual(await Promise.all(calls), calls.map((_, id) => id));
});

test('what follows an execution sees the store of its caller', async () => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1, 5).build();
  const first = hold(pipeline);
  const seen = user.run('mine', async () => {
    await pipeline.execute(() => {});
    return user.getStore();
  });
  user.run('the releaser', () => first.finish());
  assert.equal(await seen, 'mine');
});

test('priority and timeoutGenerator run in the store of the caller', async () => {
  const seen = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 9, priority: () => seen.push(user.getStore()) })
    .addTimeout({
      timeoutGenerator: async () => {
        seen.push(user.getStore());
        return 60_000;
      },
    })
    .build();
  await Promise.all(['a', 'b'].map((id) => user.run(id, () => pipeline.execute(async () => {}))));
  assert.deepEqual(seen, ['a', 'a', 'b', 'b']);
});

test('onTimeout runs in the store of the caller, running or queued, though a timer started it', async (t) => {
  simulate(t);
  const seen = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout({ timeout: 30, onTimeout: () => seen.push(user.getStore()) })
    .addConcurrencyLimiter(1, 5)
    .build();
  const calls = ['running', 'queued', 'queued too'].map((id) => user.run(id, () => hold(pipeline)));
  user.run('the timer', () => t.mock.timers.tick(30));
  for (const { promise } of calls) assert.equal((await rejection(promise)).code, 'TIMEOUT');
  assert.deepEqual(seen, ['running', 'queued', 'queued too']);
});

test('onTimeout of a call that had waited runs in the store of the caller', async (t) => {
  simulate(t);
  const seen = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter(1, 5)
    .addTimeout({ timeout: 30, onTimeout: () => seen.push(user.getStore()) })
    .build();
  const first = user.run('first', () => hold(pipeline));
  const second = user.run('second', () => hold(pipeline));
  user.run('the releaser', () => first.finish());
  await first.promise;
  await turn();
  assert.equal(second.running, true);
  user.run('the timer', () => t.mock.timers.tick(30));
  assert.equal((await rejection(second.promise)).code, 'TIMEOUT');
  assert.deepEqual(seen, ['second']);
});

test('a deadline that passes between a release and the start of the callback is told once', async (t) => {
  simulate(t);
  const seen = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout({ timeout: 30, onTimeout: () => seen.push(user.getStore()) })
    .addConcurrencyLimiter(1, 5)
    .build();
  const controller = new AbortController();
  hold(pipeline, { signal: controller.signal });
  const waiter = user.run('waiter', () => pipeline.execute(() => assert.fail('must not run')));
  controller.abort();
  assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 1);
  t.mock.timers.tick(30);
  assert.equal((await rejection(waiter)).code, 'TIMEOUT');
  assert.deepEqual(seen, ['waiter']);
  assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 0);
});

test('onRejected runs in the store of the caller, whatever brought the rejection about', async (t) => {
  simulate(t);
  const seen = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter({
      permitLimit: 1,
      queueLimit: 2,
      queueTimeout: 30,
      overflow: 'drop-lowest-priority',
      priority: ({ properties }) => properties.get('priority') ?? 0,
      onRejected: ({ reason }) => seen.push([user.getStore(), reason]),
    })
    .build();
  const start = (id, priority) =>
    user.run(id, () => hold(pipeline, { properties: [['priority', priority]] }));
  const running = start('running', 0);
  const calls = [start('late', 0), start('victim', 9), start('newcomer', 5), start('refused', 9)];
  user.run('the timer', () => t.mock.timers.tick(30));
  const more = start('waiter', 0);
  user.run('the disposer', () => pipeline.dispose());
  const errors = await Promise.all([...calls, more].map(({ promise }) => rejection(promise)));
  assert.deepEqual(errors.map(({ reason }) => reason), [
    'queue-timeout',
    'dropped',
    'queue-timeout',
    'full',
    'disposed',
  ]);
  assert.deepEqual(new Map(seen), new Map([
    ['refused', 'full'],
    ['victim', 'dropped'],
    ['late', 'queue-timeout'],
    ['newcomer', 'queue-timeout'],
    ['waiter', 'disposed'],
  ]));
  running.finish();
  await running.promise;
});

test('onTimeout has run when the rejection arrives', async (t) => {
  simulate(t);
  const order = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout({ timeout: 30, onTimeout: () => order.push('onTimeout') })
    .build();
  const caught = pipeline.execute(() => new Promise(() => {})).catch(() => order.push('rejection'));
  t.mock.timers.tick(30);
  await caught;
  assert.deepEqual(order, ['onTimeout', 'rejection']);
});

for (const context of CONTEXTS) {
  test(`nothing keeps a store alive after its execution has settled (${context})`, async () => {
    const pipeline = new ResiliencePipelineBuilder({ context })
      .addTimeout({ timeout: 60_000, onTimeout: () => {} })
      .addFallback({ fallbackValue: 'replaced', shouldHandle: () => false })
      .addConcurrencyLimiter(1, 5)
      .build();
    const { signal } = new AbortController();
    const references = [];
    const run = (end) => {
      const store = { large: 'store' };
      references.push(new WeakRef(store));
      return user.run(store, () => pipeline.settle(async (own) => end(own.signal), { signal }));
    };
    // A function of its own, so that no variable of the test holds a promise.
    const runAll = async () => {
      const failed = () => {
        throw new Error('failed');
      };
      await Promise.all([run(() => 'ok'), run(failed), run(() => 'queued')]);
    };
    await runAll();
    for (const reference of references) assert.equal(await collected(reference), true);
  });
}

test('nothing keeps the store of an execution that timed out, though its callback never ends', async () => {
  const pipeline = new ResiliencePipelineBuilder().addTimeout({ timeout: 5, onTimeout: () => {} }).build();
  let reference;
  const run = () => {
    const store = { large: 'store' };
    reference = new WeakRef(store);
    return user.run(store, () => pipeline.settle(() => new Promise(() => {})));
  };
  assert.equal((await run()).error.code, 'TIMEOUT');
  assert.equal(await collected(reference), true);
});

test('nothing keeps the last result alive', async () => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).build();
  const run = async () => new WeakRef(await pipeline.execute(() => ({ large: 'result' })));
  assert.equal(await collected(await run()), true);
});

test('a pending execution does keep its store', async () => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1, 1).build();
  const first = hold(pipeline);
  const seen = deferred();
  user.run({ kept: true }, () => pipeline.execute(() => seen.resolve(user.getStore())));
  globalThis.gc();
  first.finish();
  assert.deepEqual(await seen.promise, { kept: true });
});
