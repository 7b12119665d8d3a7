import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import test from 'node:test';
import fc from 'fast-check';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { advance, scripted } from './support/attempts.mjs';
import { rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';
import { listen } from './support/listen.mjs';
import { generator } from './support/mix.mjs';

const { Backoff } = createRequire(import.meta.url)('../lib/backoff.js');

const boom = new Error('boom');
const SEED = 20_260_402;
const NO_MAX = Number.MAX_SAFE_INTEGER;

/** The tests whose time is simulated. */
const simulated = new WeakSet();

/** The delays that a retry makes between `retries + 1` attempts, each of them checked against the time. */
async function delaysOf(t, retries, options, builder = new ResiliencePipelineBuilder()) {
  if (!simulated.has(t)) simulate(t);
  simulated.add(t);
  const delays = [];
  const callback = scripted(boom);
  const pipeline = builder
    .addRetry({ maxRetryAttempts: retries, onRetry: ({ retryDelay }) => delays.push(retryDelay), ...options })
    .build();
  const error = rejection(pipeline.execute(callback));
  for (let attempts = 1; attempts <= retries; attempts += 1) {
    await turn();
    const delay = delays[attempts - 1];
    const breath = delay === 0 && attempts % 100 === 0;
    if (delay > 0 || breath) {
      assert.equal(callback.calls, attempts);
      await advance(t, Math.max(Math.ceil(delay) - 1, 0));
      assert.equal(callback.calls, attempts);
      await advance(t, 1);
    }
  }
  assert.equal(await error, boom);
  assert.equal(callback.calls, retries + 1);
  assertIdle();
  return delays;
}

test('constant, linear and exponential', async (t) => {
  assert.deepEqual(await delaysOf(t, 4, { delay: '1.5s' }), [1500, 1500, 1500, 1500]);
  assert.deepEqual(await delaysOf(t, 4, { delay: 100, backoffType: 'constant' }), [100, 100, 100, 100]);
  assert.deepEqual(await delaysOf(t, 4, { delay: 100, backoffType: 'linear' }), [100, 200, 300, 400]);
  assert.deepEqual(await delaysOf(t, 4, { delay: 100, backoffType: 'exponential' }), [100, 200, 400, 800]);
});

test('the default base is 2000 ms', async (t) => {
  assert.deepEqual(await delaysOf(t, 3, { backoffType: 'exponential' }), [2000, 4000, 8000]);
});

test('maxDelay caps every delay', async (t) => {
  const options = { delay: 100, maxDelay: '250ms' };
  assert.deepEqual(await delaysOf(t, 3, { ...options, backoffType: 'linear' }), [100, 200, 250]);
  assert.deepEqual(await delaysOf(t, 4, { ...options, backoffType: 'exponential' }), [100, 200, 250, 250]);
  assert.deepEqual(await delaysOf(t, 2, { delay: 100, maxDelay: 30 }), [30, 30]);
  assert.deepEqual(await delaysOf(t, 2, { delay: 100, maxDelay: 0 }), [0, 0]);
});

test('no delay at all: the next attempt comes at once', async (t) => {
  for (const backoffType of ['constant', 'linear', 'exponential']) {
    for (const useJitter of [false, true]) {
      assert.deepEqual(await delaysOf(t, 3, { delay: 0, backoffType, useJitter }), [0, 0, 0]);
    }
  }
});

test('the jitter of constant and linear delays is a quarter up and down', async (t) => {
  const random = t.mock.method(Math, 'random');
  const values = [0, 0.5, 0.75, 1];
  const with4 = async (options) => {
    let next = 0;
    random.mock.mockImplementation(() => values[next++ % 4]);
    return delaysOf(t, 4, { delay: 100, useJitter: true, ...options });
  };
  assert.deepEqual(await with4({}), [75, 100, 112.5, 125]);
  assert.deepEqual(await with4({ backoffType: 'linear' }), [75, 200, 337.5, 500]);
  assert.deepEqual(await with4({ maxDelay: 110 }), [75, 100, 110, 110]);
});

test('the jitter of exponential delays is decorrelated', async (t) => {
  const values = [0.5, 0.25, 0.75, 0];
  let next = 0;
  t.mock.method(Math, 'random', () => values[next++]);
  const options = { delay: 1000, backoffType: 'exponential', useJitter: true };
  const f = (time) => 2 ** time * Math.tanh(Math.sqrt(4 * time));
  const expected = [f(0.5), f(1.25) - f(0.5), f(2.75) - f(1.25), f(3) - f(2.75)];
  const delays = await delaysOf(t, 4, options);
  for (const [index, delay] of delays.entries()) {
    assert.ok(Math.abs(delay - (expected[index] / 1.4) * 1000) < 1e-6, `${index}: ${delay}`);
  }
});

test('the medians of decorrelated delays are near 1, 1, 2, 4 times the base', (t) => {
  const random = generator(SEED);
  t.mock.method(Math, 'random', random);
  const rule = { type: 'exponential', delayMs: 1000, maxDelayMs: NO_MAX, useJitter: true };
  const columns = [[], [], [], []];
  for (let run = 0; run < 4001; run += 1) {
    const backoff = new Backoff(rule);
    for (const [attempt, column] of columns.entries()) column.push(backoff.after(attempt));
  }
  const medians = columns.map((column) => column.sort((a, b) => a - b)[2000] / 1000);
  for (const [index, expected] of [1, 1, 2, 4].entries()) {
    const ratio = medians[index] / expected;
    assert.ok(ratio > 0.7 && ratio < 1.3, `attempt ${index}: median ${medians[index]}`);
  }
});

test('executions side by side have delays of their own', async (t) => {
  simulate(t);
  const delays = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addRetry({
      delay: 100,
      backoffType: 'exponential',
      maxRetryAttempts: 3,
      onRetry: ({ context, retryDelay }) => delays.push([context.operationKey, retryDelay]),
    })
    .build();
  const first = rejection(pipeline.execute(scripted(boom), { operationKey: 'a' }));
  await advance(t, 100);
  const second = rejection(pipeline.execute(scripted(boom), { operationKey: 'b' }));
  for (const ms of [100, 100, 200, 200, 300]) await advance(t, ms);
  await Promise.all([first, second]);
  for (const key of ['a', 'b']) {
    assert.deepEqual(delays.filter(([own]) => own === key).map(([, delay]) => delay), [100, 200, 400]);
  }
});

test('delay is at least 0, at most the maximum, and never NaN: any rule, any attempts', () => {
  const ms = fc.oneof(
    fc.constantFrom(0, -0, 5e-324, 1, 1e308, Number.MAX_VALUE),
    fc.double({ min: 0, max: 1e12, noNaN: true }),
  );
  const rule = fc.record({
    type: fc.constantFrom('constant', 'linear', 'exponential'),
    delayMs: ms,
    maxDelayMs: fc.oneof(ms, fc.constant(NO_MAX)),
    useJitter: fc.boolean(),
  });
  const numbers = fc
    .uniqueArray(fc.oneof(fc.integer({ min: 0, max: 3000 }), fc.constantFrom(2000, 1e9, 2 ** 53 - 1)), {
      minLength: 1,
      maxLength: 20,
    })
    .map((list) => list.sort((a, b) => a - b));
  fc.assert(
    fc.property(rule, numbers, (given, attempts) => {
      const backoff = new Backoff(given);
      for (const attempt of attempts) {
        const delay = backoff.after(attempt);
        assert.ok(delay >= 0 && delay <= given.maxDelayMs, `${delay} after attempt ${attempt}`);
      }
    }),
    { seed: SEED, numRuns: 3000 },
  );
});

test('from attempt 0 to 2000 the delays of each kind stay within their bounds', () => {
  for (const type of ['constant', 'linear', 'exponential']) {
    for (const useJitter of [false, true]) {
      for (const maxDelayMs of [30_000, NO_MAX]) {
        const backoff = new Backoff({ type, delayMs: 2000, maxDelayMs, useJitter });
        let last;
        for (let attempt = 0; attempt <= 2000; attempt += 1) {
          last = backoff.after(attempt);
          assert.ok(last >= 0 && last <= maxDelayMs, `${type} ${attempt}: ${last}`);
        }
        if (type === 'exponential') assert.equal(last, maxDelayMs);
      }
    }
  }
});

test('two thousand retries with exponential jitter and a maximum', async (t) => {
  const options = { delay: 1000, maxDelay: 5000, backoffType: 'exponential', useJitter: true };
  const delays = await delaysOf(t, 2001, options);
  assert.equal(delays.length, 2001);
  assert.ok(delays.every((delay) => delay >= 0 && delay <= 5000));
  assert.deepEqual(delays.slice(20), Array(1981).fill(5000));
});

test('delayGenerator replaces the computed delay, in every form; undefined leaves it', async (t) => {
  const seen = [];
  const answers = [250, '0.5s', undefined, 0, Promise.resolve(20), Promise.resolve(undefined)];
  const delays = await delaysOf(t, 6, {
    delay: 100,
    backoffType: 'linear',
    maxDelay: 350,
    delayGenerator: ({ outcome, context, attemptNumber }) => {
      seen.push([attemptNumber, outcome.error, context.signal.aborted]);
      return answers[attemptNumber];
    },
  });
  assert.deepEqual(delays, [250, 500, 300, 0, 20, 350]);
  assert.deepEqual(seen, [0, 1, 2, 3, 4, 5].map((number) => [number, boom, false]));
});

test('a delayGenerator that fails or answers nonsense is reported; the computed delay counts', async (t) => {
  const fail = () => {
    throw new Error('mine');
  };
  const answers = [NaN, -1, Infinity, '5', null, {}, true, fail, async () => fail(), async () => -5];
  const { builder, events } = listen();
  const delays = await delaysOf(t, answers.length, {
    delay: 100,
    delayGenerator: ({ attemptNumber }) => {
      const answer = answers[attemptNumber];
      return typeof answer === 'function' ? answer() : answer;
    },
  }, builder);
  assert.deepEqual(delays, Array(answers.length).fill(100));
  const errors = events.filter(({ name }) => name === 'CallbackError').map(({ args }) => args);
  assert.deepEqual(new Set(errors.map(({ callback }) => callback)), new Set(['delayGenerator']));
  assert.deepEqual(errors.map(({ error }) => error.name), [
    ...['RangeError', 'RangeError', 'RangeError', 'RangeError'],
    ...['TypeError', 'TypeError', 'TypeError', 'Error', 'Error', 'RangeError'],
  ]);
  assert.match(errors[1].error.message, /^the result of delayGenerator must be .*, at least 0, not -1$/);
});

test('a delay beyond 2^31 ms is kept', async (t) => {
  simulate(t);
  const callback = scripted(boom, 'saved');
  const result = new ResiliencePipelineBuilder().addRetry({ delay: '30d' }).build().execute(callback);
  await advance(t, 2 ** 31 - 1);
  await advance(t, 30 * 86_400_000 - 2 ** 31);
  assert.equal(callback.calls, 1);
  await advance(t, 1);
  assert.equal(await result, 'saved');
});

test('on the real clock no attempt comes too early', async () => {
  const times = [];
  const pipeline = new ResiliencePipelineBuilder().addRetry({ delay: 15, maxRetryAttempts: 2 }).build();
  await rejection(
    pipeline.execute(() => {
      times.push(performance.now());
      throw boom;
    }),
  );
  assert.equal(times.length, 3);
  assert.ok(times[1] - times[0] >= 15 && times[2] - times[1] >= 15, `${times}`);
});
