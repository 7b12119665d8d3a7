import assert from 'node:assert/strict';
import test from 'node:test';
import vm from 'node:vm';
import fc from 'fast-check';
import {
  BulkheadRejectedError,
  ExecutionRejectedError,
  ResiliencePipelineBuilder,
} from '@ylcnfrht/resilience';
import { advance, scripted } from './support/attempts.mjs';
import { simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 3, 1, 12, 0, 0);
const utc = (ms) => new Date(ms).toUTCString();
const failure = (properties) => Object.assign(new Error('busy'), properties);
const withHeader = (value) => failure({ headers: { 'retry-after': value } });

/** The delay before the retry after `step`, a failure or a result. */
async function delayAfter(t, step, options) {
  const delays = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addRetry({
      maxRetryAttempts: 1,
      delay: 100,
      shouldHandle: () => true,
      onRetry: ({ retryDelay }) => delays.push(retryDelay),
      ...options,
    })
    .build();
  const callback = scripted(step, 'saved');
  const result = pipeline.settle(callback);
  await turn();
  assert.equal(delays.length, 1);
  pipeline.dispose();
  await result;
  assertIdle();
  return delays[0];
}

const simulateAt = (t) => t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: NOW });

test('seconds, dates and nonsense', async (t) => {
  simulateAt(t);
  const cases = {
    0: 100,
    1: 1000,
    3: 3000,
    '3.5': 3000,
    '0.9': 100,
    '-1': 100,
    '-0': 100,
    '+3': 100,
    '3s': 100,
    '1e12': 100,
    1000000000000: DAY_MS,
    '99999999999999999999999999': DAY_MS,
    [`${'9'.repeat(400)}`]: DAY_MS,
    Infinity: 100,
    NaN: 100,
    '': 100,
    ' ': 100,
    '0x10': 100,
    '3, 4': 100,
    soon: 100,
    'foo 5 GMT': 100,
    [utc(NOW + 5000)]: 5000,
    [utc(NOW + 50_000)]: 50_000,
    [utc(NOW)]: 100,
    [utc(NOW - 5000)]: 100,
    [utc(0)]: 100,
    [utc(NOW + 3 * DAY_MS)]: DAY_MS,
    'Wednesday, 01-Apr-26 12:00:07 GMT': 7000,
    'Wed, 01 Apr 2026 12:00:07 +0000': 100,
    'Wed, 01 Abc 2026 12:00:07 GMT': 100,
    'Wed, 01 Apr 2026 25:00:07 GMT': 100,
    '2026-04-01T12:00:07Z': 100,
    'Wed Apr  1 12:00:07 2026': 100,
  };
  for (const [value, expected] of Object.entries(cases)) {
    assert.equal(await delayAfter(t, withHeader(value)), expected, `'${value}'`);
  }
});

test('0 and a date in the past retry at once where there is no other delay', async (t) => {
  simulateAt(t);
  for (const value of ['0', '0.5', utc(NOW - 1), utc(0), '-1', 'garbage']) {
    const pipeline = new ResiliencePipelineBuilder().addRetry({ delay: 0 }).build();
    assert.equal(await pipeline.execute(scripted(withHeader(value), 'saved')), 'saved');
  }
});

test('a header that is a number, or no string at all', async (t) => {
  simulateAt(t);
  const cases = [[3, 3000], [3.5, 3000], [-1, 100], [NaN, 100], [Infinity, 100], [1e12, DAY_MS], [1e21, 100]];
  const others = [null, undefined, true, {}, [], ['3'], Symbol('3'), 3n, () => '3', new Date(NOW + 3000)];
  for (const other of others) cases.push([other, 100]);
  for (const [value, expected] of cases) assert.equal(await delayAfter(t, withHeader(value)), expected);
});

test('wherever a client puts it: headers or response.headers, of an error or a result', async (t) => {
  simulateAt(t);
  const headers = new Headers({ 'Retry-After': '7' });
  const inAnyCase = ['retry-after', 'Retry-After', 'RETRY-AFTER'].map((name) => ({ [name]: '7' }));
  const foreign = vm.runInNewContext("({ headers: { 'retry-after': '7' } })");
  const carriers = [
    failure({ headers }),
    failure({ response: { headers } }),
    new Response('', { status: 503, headers }),
    { status: 429, headers },
    { response: { headers } },
    failure({ headers: {}, response: { headers } }),
    failure({ headers: new Map([['retry-after', '7']]) }),
    ...inAnyCase.flatMap((plain) => [failure({ headers: plain }), { response: { headers: plain } }]),
    foreign,
  ];
  for (const carrier of carriers) assert.equal(await delayAfter(t, carrier), 7000);
  const odd = failure({ headers: '7', response: 7 });
  for (const none of [undefined, null, 7, '7', failure({}), odd, new Headers()]) {
    assert.equal(await delayAfter(t, none), 100);
  }
});

test("a thrown primitive and a thrown response have no error's shape", async (t) => {
  simulateAt(t);
  const delays = [];
  const thrown = [7, null, undefined, new Response('', { headers: { 'retry-after': '7' } })];
  const pipeline = new ResiliencePipelineBuilder()
    .addRetry({ maxRetryAttempts: 4, delay: 100, onRetry: ({ retryDelay }) => delays.push(retryDelay) })
    .build();
  let calls = 0;
  const result = pipeline.execute(() => {
    calls += 1;
    if (calls <= thrown.length) throw thrown[calls - 1];
    return 'saved';
  });
  for (const ms of [100, 100, 100, 7000]) await advance(t, ms);
  assert.equal(await result, 'saved');
  assert.deepEqual(delays, [100, 100, 100, 7000]);
});

test('getters that throw say nothing', async (t) => {
  simulateAt(t);
  const bite = () => {
    throw new Error('mine');
  };
  const biting = (key) => Object.defineProperty(failure({}), key, { get: bite });
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const cases = [
    biting('headers'),
    biting('response'),
    failure({ headers: { get: bite } }),
    failure({ headers: Object.defineProperty({}, 'retry-after', { get: bite, enumerable: true }) }),
    failure({ headers: proxy }),
    failure({ headers: {}, response: proxy }),
  ];
  for (const each of cases) assert.equal(await delayAfter(t, each), 100);
});

test("a rejection's own retryAfter counts, in milliseconds", async (t) => {
  simulateAt(t);
  const rejected = (retryAfter) => Object.assign(new ExecutionRejectedError('no'), { retryAfter });
  const cases = [[2500, 2500], [Infinity, DAY_MS], ...[undefined, 0, 50, -1, NaN].map((none) => [none, 100])];
  for (const [retryAfter, expected] of cases) {
    assert.equal(await delayAfter(t, rejected(retryAfter)), expected);
  }
  const full = new BulkheadRejectedError('full', { active: 1, queued: 0 });
  assert.equal(await delayAfter(t, full), 100);
  const both = Object.assign(rejected(1500), { headers: { 'retry-after': '9' } });
  assert.equal(await delayAfter(t, both), 1500);
});

test('it lengthens the computed delay, up to maxDelay, and never shortens it', async (t) => {
  simulateAt(t);
  assert.equal(await delayAfter(t, withHeader('5'), { delay: '10s' }), 10_000);
  assert.equal(await delayAfter(t, withHeader('5'), { delay: '10s', maxDelay: '8s' }), 8000);
  assert.equal(await delayAfter(t, withHeader('5'), { maxDelay: '8s' }), 5000);
  assert.equal(await delayAfter(t, withHeader('9'), { maxDelay: '8s' }), 8000);
  assert.equal(await delayAfter(t, withHeader('1000000000000'), { maxDelay: '8s' }), 8000);
  assert.equal(await delayAfter(t, withHeader('1000000000000'), { maxDelay: '3d' }), 3 * DAY_MS);
  assert.equal(await delayAfter(t, withHeader('1000000000000'), { delay: '2d' }), 2 * DAY_MS);
  assert.equal(await delayAfter(t, withHeader('0'), { maxDelay: 0 }), 0);
});

test('respectRetryAfter: false ignores it; a delayGenerator replaces it', async (t) => {
  simulateAt(t);
  assert.equal(await delayAfter(t, withHeader('5'), { respectRetryAfter: false }), 100);
  assert.equal(await delayAfter(t, withHeader('5'), { delayGenerator: () => 20 }), 20);
  assert.equal(await delayAfter(t, withHeader('5'), { delayGenerator: () => undefined }), 5000);
});

test('the retry comes when the time is over', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder().addRetry({ delay: 100 }).build();
  const callback = scripted(withHeader('3'), 'saved');
  const result = pipeline.execute(callback);
  await advance(t, 2999);
  assert.equal(callback.calls, 1);
  await advance(t, 1);
  assert.equal(await result, 'saved');
});

test('any header makes a delay between the computed one and the cap', async (t) => {
  simulateAt(t);
  const text = fc.oneof(
    fc.string(),
    fc.double().map(String),
    fc.nat({ max: 10_000 }).map(String),
    fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    fc.stringMatching(/^\d{1,30}(\.\d{0,5})?$/),
  );
  await fc.assert(
    fc.asyncProperty(text, async (value) => {
      const delay = await delayAfter(t, withHeader(value), { maxDelay: '1h' });
      assert.ok(delay >= 100 && delay <= 3_600_000, `${delay}`);
      if (/^\d+$/.test(value)) assert.equal(delay, Math.min(Math.max(Number(value) * 1000, 100), 3_600_000));
    }),
    { seed: 20_260_403, numRuns: 300 },
  );
});
