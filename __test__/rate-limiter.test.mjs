import assert from 'node:assert/strict';
import test from 'node:test';
import {
  ExecutionRejectedError,
  RateLimiterRejectedError,
  ResiliencePipelineBuilder,
} from '@ylcnfrht/resilience';
import { boom, fails } from './support/circuit.mjs';
import { collected } from './support/collected.mjs';
import { hold, rejection, simulate } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';
import { listen } from './support/listen.mjs';
import { generator } from './support/mix.mjs';

const DAY_MS = 86_400_000;

/** A pipeline of nothing but a rate limiter, and ways to use it up. */
function limited(options) {
  const pipeline = new ResiliencePipelineBuilder().addRateLimiter(options).build();
  const limiter = pipeline.getStrategy('RateLimiter');
  /** How many of `times` executions start. */
  const start = async (times = 1) => {
    const outcomes = await Promise.all(Array.from({ length: times }, () => pipeline.settle(() => 'ran')));
    return outcomes.filter(({ ok }) => ok).length;
  };
  const retryAfter = async () =>
    (await rejection(pipeline.execute(() => assert.fail('must not run')))).retryAfter;
  return { pipeline, limiter, start, retryAfter };
}

test('an execution with a permit runs, one without is refused with the time to come back', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder({ name: 'search' })
    .addRateLimiter({ permitLimit: 1, window: '5s', name: 'quota' })
    .build();
  assert.equal(await pipeline.execute(async () => 'fine'), 'fine');
  t.mock.timers.tick(2000);
  const error = await rejection(pipeline.execute(() => assert.fail('must not run')));
  assert.ok(error instanceof RateLimiterRejectedError && error instanceof ExecutionRejectedError);
  const { name, code, statusCode, reason, retryAfter, pipelineName, strategyName } = error;
  assert.deepEqual(
    [name, code, statusCode, reason, retryAfter, pipelineName, strategyName],
    ['RateLimiterRejectedError', 'RATE_LIMITED', 429, 'full', 3000, 'search', 'quota'],
  );
  assertIdle();
});

test('fixed window: all permits come back a window after the first of them was taken', async (t) => {
  simulate(t);
  const { limiter, start, retryAfter } = limited({ permitLimit: 3, window: 1000 });
  assert.equal(await start(1), 1);
  t.mock.timers.tick(600);
  assert.equal(await start(5), 2);
  assert.deepEqual([await retryAfter(), limiter.available], [400, 0]);
  t.mock.timers.tick(399);
  assert.deepEqual([await retryAfter(), await start(1)], [1, 0]);
  t.mock.timers.tick(1);
  assert.equal(limiter.available, 3);
  t.mock.timers.tick(500);
  assert.equal(await start(9), 3);
  assert.equal(await retryAfter(), 1000, 'this window began when it was used');
});

test('sliding window: each permit comes back a window after it was taken', async (t) => {
  simulate(t);
  const { limiter, start, retryAfter } = limited({
    permitLimit: 3,
    window: 1000,
    algorithm: 'sliding-window',
  });
  for (let taken = 0; taken < 3; taken += 1) {
    assert.equal(await start(), 1);
    t.mock.timers.tick(300);
  }
  assert.deepEqual([await retryAfter(), limiter.available], [100, 0]);
  t.mock.timers.tick(99);
  assert.equal(await retryAfter(), 1);
  t.mock.timers.tick(1);
  assert.deepEqual([limiter.available, await start(5)], [1, 1]);
  assert.equal(await retryAfter(), 300);
  t.mock.timers.tick(600);
  assert.equal(await start(5), 2);
  assert.equal(await retryAfter(), 400);
});

test('token bucket: starts full and refills steadily, never above burst', async (t) => {
  simulate(t);
  const { limiter, start, retryAfter } = limited({
    permitLimit: 10,
    window: 1000,
    algorithm: 'token-bucket',
    burst: 3,
  });
  assert.deepEqual([limiter.available, await start(5)], [3, 3]);
  assert.equal(await retryAfter(), 100);
  t.mock.timers.tick(99);
  assert.deepEqual([await retryAfter(), await start()], [1, 0]);
  t.mock.timers.tick(1);
  assert.equal(await start(5), 1);
  t.mock.timers.tick(250);
  assert.deepEqual([limiter.available, await start(5), await retryAfter()], [2, 2, 50]);
  t.mock.timers.tick(DAY_MS);
  assert.deepEqual([limiter.available, await start(5)], [3, 3]);
});

test('token bucket: burst is permitLimit by default; emptied it is full a window later', async (t) => {
  simulate(t);
  for (const permitLimit of [1, 3, 7, 1000]) {
    const { limiter, start } = limited({ permitLimit, window: 1000, algorithm: 'token-bucket' });
    assert.equal(await start(permitLimit + 1), permitLimit);
    t.mock.timers.tick(999);
    assert.equal(limiter.available, Math.floor((permitLimit * 999) / 1000));
    t.mock.timers.tick(1);
    assert.deepEqual([limiter.available, await start(permitLimit + 1)], [permitLimit, permitLimit]);
    t.mock.timers.tick(1000);
  }
});

test('token bucket: over any time it lets burst and permitLimit per window pass, to the last', async (t) => {
  simulate(t);
  for (const [permitLimit, window] of [
    [3, 1000],
    [7, 333],
    [1000, 777],
  ]) {
    const { start } = limited({ permitLimit, window, algorithm: 'token-bucket', burst: 1000 });
    let total = await start(2000);
    assert.equal(total, 1000);
    for (let ms = 1; ms <= 2000; ms += 1) {
      t.mock.timers.tick(1);
      total += await start(3);
      assert.equal(total, 1000 + Math.floor((permitLimit * ms) / window), `after ${ms} ms`);
    }
  }
});

test('sliding window of many permits: never too many, and a fifteenth late at the most', async (t) => {
  simulate(t);
  const random = generator(11);
  const [permitLimit, window] = [50, 3000];
  const { start } = limited({ permitLimit, window, algorithm: 'sliding-window' });
  const taken = [];
  const within = (length) => taken.filter((at) => Date.now() - at < length).length;
  for (let step = 0; step < 3000; step += 1) {
    t.mock.timers.tick(Math.floor(random() * 40));
    const granted = await start();
    if (granted === 1) taken.push(Date.now());
    assert.ok(within(window) <= permitLimit);
    if (granted === 0) assert.ok(within(window + window / 15) >= permitLimit, 'held back for too long');
  }
  assert.ok(taken.length > 500);
});

for (const algorithm of ['fixed-window', 'sliding-window', 'token-bucket']) {
  test(`${algorithm}: waiting as long as retryAfter says is enough, a millisecond less is not`, async (t) => {
    simulate(t);
    const random = generator(5);
    const upTo = (most) => 1 + Math.floor(random() * most);
    for (let round = 0; round < 100; round += 1) {
      const options = { permitLimit: upTo(16), window: upTo(5000), algorithm };
      const { start, retryAfter } = limited(options);
      for (let step = 0; step < 20; step += 1) {
        t.mock.timers.tick(upTo(600));
        await start(upTo(3));
        if ((await start()) === 1) continue;
        const wait = await retryAfter();
        assert.ok(wait >= 1, 'an integer above 0');
        t.mock.timers.tick(wait - 1);
        assert.equal(await start(), 0, JSON.stringify(options));
        t.mock.timers.tick(1);
        assert.equal(await start(), 1, JSON.stringify(options));
      }
    }
  });

  test(`${algorithm}: a window of 40 days`, async (t) => {
    simulate(t);
    const { start, retryAfter, limiter } = limited({ permitLimit: 1, window: '40d', algorithm });
    assert.equal(await start(2), 1);
    assert.equal(await retryAfter(), 40 * DAY_MS);
    t.mock.timers.setTime(40 * DAY_MS - 1);
    assert.deepEqual([await retryAfter(), await start(), limiter.available], [1, 0, 0]);
    t.mock.timers.setTime(40 * DAY_MS);
    assert.equal(await start(2), 1);
    assertIdle();
  });

  test(`${algorithm}: a window below a millisecond`, async (t) => {
    simulate(t);
    const { start, retryAfter } = limited({ permitLimit: 2, window: 0.25, algorithm });
    assert.equal(await start(3), 2);
    assert.equal(await retryAfter(), 1);
    t.mock.timers.tick(1);
    assert.equal(await start(3), 2);
  });

  test(`${algorithm}: a clock that was set back locks nobody out for longer than a window`, async (t) => {
    simulate(t);
    t.mock.timers.setTime(1e9);
    const { start, retryAfter } = limited({ permitLimit: 2, window: 1000, algorithm });
    assert.equal(await start(3), 2);
    t.mock.timers.setTime(5e8);
    assert.ok((await retryAfter()) <= 1000);
    t.mock.timers.tick(1000);
    assert.equal(await start(3), 2);
  });

  test(`${algorithm}: a permit is not given back, however the execution ends`, async (t) => {
    simulate(t);
    const { pipeline, limiter, start } = limited({ permitLimit: 4, window: 1000, algorithm });
    const controller = new AbortController();
    const aborted = hold(pipeline, { signal: controller.signal });
    controller.abort();
    await rejection(aborted.promise);
    assert.equal(await rejection(pipeline.execute(fails)), boom);
    assert.equal(await pipeline.execute(() => 'fine'), 'fine');
    assert.equal(limiter.available, 1);
    assert.equal(await start(2), 1);
  });

  test(`${algorithm}: an execution aborted before its start takes no permit`, async () => {
    const { pipeline, limiter } = limited({ permitLimit: 1, window: '1h', algorithm });
    await rejection(pipeline.execute(() => 1, { signal: AbortSignal.abort() }));
    assert.equal(limiter.available, 1);
  });

  test(`${algorithm}: executions started inside one another each take a permit`, async () => {
    const { pipeline } = limited({ permitLimit: 2, window: '1h', algorithm });
    const third = await pipeline.execute(() => pipeline.execute(() => pipeline.settle(() => 1)));
    assert.equal(third.error.code, 'RATE_LIMITED');
    assertIdle();
  });
}

test('onRejected and telemetry tell reason, counts and time', async (t) => {
  simulate(t);
  const told = [];
  const { builder, events } = listen();
  const pipeline = builder
    .addRateLimiter({ permitLimit: 1, window: 1500, onRejected: (args) => void told.push(args) })
    .build();
  await pipeline.execute(() => 1);
  t.mock.timers.tick(250);
  await rejection(pipeline.execute(() => 1, { operationKey: 'get' }));
  const event = events.find(({ name }) => name === 'OnRateLimiterRejected');
  const { context } = event.args;
  assert.equal(context.operationKey, 'get');
  assert.deepEqual(event, {
    name: 'OnRateLimiterRejected',
    severity: 'error',
    pipelineName: 'search',
    strategyName: 'RateLimiter',
    operationKey: 'get',
    args: { context, reason: 'full', active: 0, queued: 0, retryAfter: 1250 },
  });
  assert.deepEqual(told, [{ context, reason: 'full', retryAfter: 1250 }]);
});

test('onRejected that throws or rejects is a CallbackError and changes nothing', async () => {
  for (const onRejected of [
    () => {
      throw boom;
    },
    () => Promise.reject(boom),
  ]) {
    const { builder, events } = listen();
    const pipeline = builder.addRateLimiter({ permitLimit: 1, window: '1h', onRejected }).build();
    await pipeline.execute(() => 1);
    assert.equal((await rejection(pipeline.execute(() => 1))).code, 'RATE_LIMITED');
    await new Promise(setImmediate);
    const errors = events.filter(({ name }) => name === 'CallbackError').map(({ args }) => args);
    assert.deepEqual(errors, [{ callback: 'onRejected', error: boom }]);
  }
});

test('the live limiter has its name, its permits and what is left of them', async () => {
  const { limiter, start } = limited({ permitLimit: 3, window: '1h' });
  const read = () => [limiter.name, limiter.permitLimit, limiter.available, limiter.queued, limiter.keys];
  assert.deepEqual(read(), ['RateLimiter', 3, 3, 0, 0]);
  await start(2);
  assert.deepEqual(read(), ['RateLimiter', 3, 1, 0, 1]);
  assert.deepEqual([limiter.availableFor(undefined), limiter.evictions], [1, 0]);
});

test('a limiter can be read for as long as somebody holds its live form', async () => {
  const make = async () => {
    const { pipeline, limiter, start } = limited({ permitLimit: 3, window: '1h' });
    await start(2);
    return { reference: new WeakRef(pipeline), limiter };
  };
  const { reference, limiter } = await make();
  assert.equal(await collected(reference), true);
  for (let round = 0; round < 5; round += 1) await collected(new WeakRef({}));
  assert.deepEqual([limiter.available, limiter.keys], [1, 1]);
});

test('each build has permits of its own', async () => {
  const builder = new ResiliencePipelineBuilder().addRateLimiter({ permitLimit: 1, window: '1h' });
  const [one, other] = [builder.build(), builder.build()];
  await one.execute(() => 1);
  assert.equal((await rejection(one.execute(() => 1))).code, 'RATE_LIMITED');
  assert.equal(await other.execute(() => 1), 1);
});

test('inside of a retry each attempt takes a permit, and a refused one comes when it is due', async (t) => {
  simulate(t);
  const starts = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addRetry({ maxRetryAttempts: 5, delay: 10 })
    .addRateLimiter({ permitLimit: 2, window: 1000, algorithm: 'sliding-window' })
    .build();
  const promise = pipeline.execute(() => {
    starts.push(Date.now());
    if (starts.length < 4) throw boom;
    return 'fine';
  });
  for (let ms = 0; ms < 2000; ms += 1) {
    await new Promise(setImmediate);
    t.mock.timers.tick(1);
  }
  assert.equal(await promise, 'fine');
  assert.deepEqual(starts, [0, 10, 1000, 1010]);
});

test('outside of a retry one permit is for all attempts', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addRateLimiter({ permitLimit: 1, window: '1h' })
    .addRetry({ maxRetryAttempts: 3, delay: 0 })
    .build();
  let calls = 0;
  await rejection(pipeline.execute(() => ((calls += 1), fails())));
  assert.equal(calls, 4);
  assert.equal((await rejection(pipeline.execute(fails))).code, 'RATE_LIMITED');
});

test('two limiters in a row: one a second, and ten a minute', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder()
    .addRateLimiter({ name: 'minute', permitLimit: 10, window: '1m' })
    .addRateLimiter({ name: 'second', permitLimit: 1, window: '1s' })
    .build();
  const ends = [];
  for (let second = 0; second < 12; second += 1) {
    for (let call = 0; call < 2; call += 1) {
      const { error } = await pipeline.settle(() => 1);
      ends.push(error?.strategyName ?? 'ran');
    }
    t.mock.timers.tick(1000);
  }
  // The outer permit is spent on what the inner one refuses.
  assert.deepEqual(ends, [...Array(5).fill(['ran', 'second']).flat(), ...Array(14).fill('minute')]);
});
