// The pauses of retries and hedged attempts: they end when they should, and leave nothing behind.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { attempted, scripted } from './support/attempts.mjs';
import { boom } from './support/circuit.mjs';
import { collected } from './support/collected.mjs';
import { rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const DAY_MS = 86_400_000;
const retrying = (delay, options) =>
  new ResiliencePipelineBuilder().addRetry({ delay, maxRetryAttempts: 1, ...options }).build();
const hedging = (delay) => new ResiliencePipelineBuilder().addHedging({ delay }).build();

for (const apis of [['setTimeout'], ['setTimeout', 'Date']]) {
  test(`a pause ends when its time has come, and not before (${apis})`, async (t) => {
    t.mock.timers.enable({ apis });
    for (const delay of [1, 1000, 60_000, 2 ** 31 - 1]) {
      const callback = scripted(boom, 'fine');
      const promise = retrying(delay).execute(callback);
      await turn();
      t.mock.timers.tick(delay - 1);
      await turn();
      assert.equal(callback.calls, 1);
      t.mock.timers.tick(1);
      assert.equal(await promise, 'fine');
      assertIdle();
    }
  });

  test(`a pause beyond 2^31 ms (${apis})`, async (t) => {
    t.mock.timers.enable({ apis });
    const callback = scripted(boom, 'fine');
    const promise = retrying('30d').execute(callback);
    await turn();
    t.mock.timers.tick(2 ** 31 - 1);
    await turn();
    t.mock.timers.tick(30 * DAY_MS - 2 ** 31);
    await turn();
    assert.equal(callback.calls, 1);
    t.mock.timers.tick(1);
    assert.equal(await promise, 'fine');
    assertIdle();
  });
}

test('pauses end in the order of their times, and of their beginning if those are equal', async (t) => {
  simulate(t);
  const order = [];
  const promises = [50, 20, 50, 10, 20].map((delay, index) => {
    let failed = false;
    return retrying(delay).execute(() => {
      if (failed) return order.push(index);
      failed = true;
      throw boom;
    });
  });
  await turn();
  for (let ms = 0; ms < 50; ms += 1) {
    t.mock.timers.tick(1);
    await turn();
  }
  await Promise.all(promises);
  assert.deepEqual(order, [3, 1, 4, 0, 2]);
  assertIdle();
});

test('10 000 pauses on the real clock all end, none early', async () => {
  const pipeline = retrying(20);
  const calls = await Promise.all(
    Array.from({ length: 10_000 }, () => {
      const starts = [];
      return pipeline.execute(() => {
        starts.push(performance.now());
        if (starts.length === 1) throw boom;
        return starts[1] - starts[0];
      });
    }),
  );
  assert.ok(Math.min(...calls) > 19.9, String(Math.min(...calls)));
  assertIdle();
});

test('an abort ends a pause in the same turn', async (t) => {
  simulate(t);
  const controller = new AbortController();
  const callback = scripted(boom);
  const promise = retrying('1h').execute(callback, { signal: controller.signal });
  await turn();
  controller.abort('gone');
  assertIdle();
  assert.equal(await rejection(promise), 'gone');
  assert.equal(callback.calls, 1);
});

test('a timeout outside that is known by its signal alone ends a pause', async (t) => {
  simulate(t);
  const callback = scripted(boom);
  const pipeline = new ResiliencePipelineBuilder().addTimeout(100).build();
  const inner = new ResiliencePipelineBuilder({ context: 'explicit' }).addRetry({ delay: '1h' }).build();
  const promise = pipeline.execute(({ signal }) => inner.execute(callback, { signal }));
  promise.catch(() => {});
  await turn();
  t.mock.timers.tick(100);
  assert.equal((await rejection(promise)).code, 'TIMEOUT');
  await turn();
  assert.equal(callback.calls, 1);
  assertIdle();
});

test('dispose ends every pause of its pipeline with the last outcome, and none of another', async (t) => {
  simulate(t);
  const [one, other] = [retrying('1h'), retrying('1h')];
  const promises = [
    one.execute(scripted(boom)),
    one.execute(scripted(boom)),
    other.execute(scripted(boom, 'fine')),
  ];
  for (const promise of promises) promise.catch(() => {});
  await turn();
  one.dispose();
  assert.equal(await rejection(promises[0]), boom);
  assert.equal(await rejection(promises[1]), boom);
  t.mock.timers.tick(3_600_000);
  assert.equal(await promises[2], 'fine');
  assertIdle();
});

test('a pause that is to begin after the dispose does not', async () => {
  const pipeline = retrying('1h');
  const callback = attempted();
  const promise = pipeline.execute(callback);
  pipeline.dispose();
  callback.attempts[0].fail(boom);
  assert.equal(await rejection(promise), boom);
  assert.equal(callback.attempts.length, 1);
  assertIdle();
});

test('a hedged attempt that is no longer wanted leaves no timer', async (t) => {
  simulate(t);
  const callback = attempted();
  const promise = hedging('1h').execute(callback);
  await turn();
  callback.attempts[0].finish('first');
  assert.equal(await promise, 'first');
  assertIdle();
  t.mock.timers.tick(3_600_000);
  await turn();
  assert.equal(callback.attempts.length, 1);
});

test('abort and dispose leave no timer of a hedged attempt', async (t) => {
  simulate(t);
  const controller = new AbortController();
  const [aborted, disposed] = [hedging('1h'), hedging('1h')];
  const callback = attempted();
  const promise = aborted.execute(callback, { signal: controller.signal });
  promise.catch(() => {});
  const other = disposed.execute(callback);
  await turn();
  controller.abort('gone');
  disposed.dispose();
  await turn();
  assertIdle();
  assert.equal(await rejection(promise), 'gone');
  callback.attempts[1].finish('fine');
  assert.equal(await other, 'fine');
  assert.equal(callback.attempts.length, 2);
});

test('what follows a pause runs in the stores of the caller, whoever ended it', async (t) => {
  simulate(t);
  const user = new AsyncLocalStorage();
  const seen = [];
  const call = (id, pipeline, options) => {
    let failed = false;
    return user.run(id, () =>
      pipeline.execute(() => {
        seen.push(user.getStore());
        if (failed) return;
        failed = true;
        throw boom;
      }, options),
    );
  };
  const promise = call('retried', retrying(100));
  await turn();
  user.run('the timer', () => t.mock.timers.tick(100));
  await promise;
  const callback = attempted();
  const hedged = user.run('hedged', () =>
    hedging(100).execute((context) => {
      seen.push(user.getStore());
      return callback(context);
    }),
  );
  await turn();
  user.run('the timer', () => t.mock.timers.tick(100));
  await turn();
  callback.attempts[1].finish();
  await hedged;
  assert.deepEqual(seen, ['retried', 'retried', 'hedged', 'hedged']);
});

test('a pause of a pipeline that nobody holds is kept by its execution', async () => {
  const callback = scripted(boom, 'fine');
  const promise = (() => retrying(20).execute(callback))();
  await turn();
  globalThis.gc();
  assert.equal(await promise, 'fine');
});

test('nothing keeps a store alive after its pause', async () => {
  const user = new AsyncLocalStorage();
  const pipeline = retrying(5);
  let reference;
  const run = () => {
    const store = { large: 'store' };
    reference = new WeakRef(store);
    return user.run(store, () => pipeline.execute(scripted(boom, 'fine')));
  };
  assert.equal(await run(), 'fine');
  assert.equal(await collected(reference), true);
});
