// The caller's deadline, the callbacks, and problem details.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { allAdapters, forEachAdapter } from './support/http-adapters.mjs';
import { nativeHeldRoute } from './support/http-native-route.mjs';
import { FULL, LATE, assertAnswer, serve, until } from './support/http-server.mjs';

const deadlineHeader = 'X-Request-Timeout-Ms';
const within = (ms) => ({ headers: { 'x-request-timeout-ms': ms } });

forEachAdapter((adapter) => {
  test('a deadline of the caller shortens that of the server', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { send } = await serve(t, adapter, { options: { timeout: '60s', deadlineHeader }, answers });
    const started = performance.now();
    assertAnswer(await send('/work', within('40')).response, 504, 'TIMEOUT', LATE);
    assert.ok(performance.now() - started >= 40);
    assert.equal((await held[0].aborted).timeout, 40);
    assert.ok(held[0].remaining <= 40, `${held[0].remaining} ms`);
  });

  test('one that is longer leaves that of the server alone', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { send } = await serve(t, adapter, { options: { timeout: 40, deadlineHeader }, answers });
    assertAnswer(await send('/work', within('60000')).response, 504, 'TIMEOUT', LATE);
    assert.equal((await held[0].aborted).timeout, 40);
  });

  test('without time left a request is answered 504 and its handler never runs', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { send } = await serve(t, adapter, { options: { deadlineHeader }, answers });
    assertAnswer(await send('/work', within('0')).response, 504, 'TIMEOUT', LATE);
    assert.equal(held.length, 0);
  });

  test('one that is no number of milliseconds is none', async (t) => {
    const { send } = await serve(t, adapter, {
      options: { deadlineHeader },
      answers: { 'GET /work': () => ({ text: 'work' }) },
    });
    for (const value of ['soon', '-1', '1.5', '1e3', '5s', '', ' ', '9'.repeat(16), '0x10', '1, 1']) {
      assert.equal((await send('/work', within(value)).response).text, 'work', value);
    }
    assert.equal((await send('/work').response).text, 'work');
  });

  test('it counts the wait in the queue', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { send, limiter } = await serve(t, adapter, {
      options: { deadlineHeader, concurrency: { permitLimit: 1, queueLimit: 1 } },
      answers,
    });
    const first = send('/work');
    await until(() => held.length === 1);
    const started = performance.now();
    assertAnswer(await send('/work', within('40')).response, 504, 'TIMEOUT', LATE);
    assert.ok(performance.now() - started >= 40);
    assert.deepEqual([held.length, limiter.inflight, limiter.queued], [1, 1, 0]);
    held[0].answer({ text: 'first' });
    assert.equal((await first.response).status, 200);
  });

  test('skipped requests run at once, outside of the pipeline', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { send, limiter } = await serve(t, adapter, {
      options: {
        timeout: '60s',
        concurrency: { permitLimit: 1 },
        skip: (subject) => adapter.requestOf(subject).url === '/healthz',
      },
      answers: { ...answers, 'GET /healthz': () => ({ json: { inflight: limiter.inflight } }) },
    });
    const first = send('/work');
    await until(() => held.length === 1);
    assert.deepEqual((await send('/healthz').response).json, { inflight: 1 });
    assertAnswer(await send('/work').response, 503, 'BULKHEAD_FULL', FULL);
    held[0].answer({ text: 'first' });
    assert.equal((await first.response).status, 200);
  });

  test("a skip that throws, or promises, is the framework's error", async (t) => {
    for (const skip of [
      () => {
        throw Object.assign(new Error('no'), { status: 500 });
      },
      async () => true,
    ]) {
      const { send } = await serve(t, adapter, { options: { timeout: '5s', skip }, answers: {} });
      const warned = adapter.catchesErrors === false ? once(process, 'warning') : undefined;
      assert.equal((await send('/work').response).status, 500);
      await warned;
    }
  });

  test("onRejected hears of each request that is answered in the handler's place", async (t) => {
    const heard = [];
    const { held, answers } = nativeHeldRoute();
    const { send, resilience } = await serve(t, adapter, {
      options: {
        timeout: 300,
        concurrency: { permitLimit: 1 },
        rateLimit: { permitLimit: 3, window: '1h' },
        onRejected: ({ request, error }) => {
          heard.push([adapter.requestOf(request).url, error.code, error.statusCode]);
        },
      },
      answers: { ...answers, 'GET /teapot': () => ({ status: 503 }) },
    });
    assert.equal((await send('/teapot').response).status, 503);
    assert.deepEqual(heard, []);
    const first = send('/work?late');
    await until(() => held.length === 1);
    await send('/work?full').response;
    assert.equal((await first.response).status, 504);
    await send('/work?quota').response;
    resilience.dispose();
    await send('/work?disposed').response;
    assert.deepEqual(heard, [
      ['/work?full', 'BULKHEAD_FULL', 503],
      ['/work?late', 'TIMEOUT', 504],
      ['/work?quota', 'RATE_LIMITED', 429],
      ['/work?disposed', 'PIPELINE_DISPOSED', 503],
    ]);
  });

  for (const [how, onRejected] of [
    [
      'throws',
      () => {
        throw new Error('of the callback');
      },
    ],
    ['rejects', () => Promise.reject(new Error('of the callback'))],
  ]) {
    test(`an onRejected that ${how} is a process warning, and the answer goes out`, async (t) => {
      const { send } = await serve(t, adapter, {
        options: { rateLimit: { permitLimit: 1, window: '1h' }, onRejected },
        answers: {},
      });
      assert.equal((await send('/work').response).status, 404);
      const warned = once(process, 'warning');
      assert.equal((await send('/work').response).status, 429);
      assert.equal((await warned)[0].message, 'of the callback');
    });
  }

  test('shouldDrop says which answers an adaptive limiter takes for overload', async (t) => {
    const dropped = [];
    const asked = [];
    const pipeline = new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({
        algorithm: {
          onSample: (sample) => {
            dropped.push(sample.dropped);
            return sample.limit;
          },
        },
      })
      .build();
    const { send, limiter } = await serve(t, adapter, {
      options: {
        pipeline,
        shouldDrop: ({ request, statusCode }) => {
          asked.push([adapter.requestOf(request).url, statusCode]);
          if (statusCode === 404) throw new Error('of the callback');
          return statusCode === 429;
        },
      },
      answers: {
        'GET /200': () => ({}),
        'GET /429': () => ({ status: 429 }),
        'GET /503': () => ({ status: 503 }),
      },
    });
    const warned = once(process, 'warning');
    for (const [path, samples] of [
      ['/200', [false]],
      ['/429', [true]],
      ['/503', []],
      ['/404', []],
    ]) {
      await send(path).response;
      await until(() => limiter.inflight === 0);
      assert.deepEqual(dropped.splice(0), samples, path);
    }
    assert.equal((await warned)[0].message, 'of the callback');
    assert.deepEqual(asked, [
      ['/429', 429],
      ['/503', 503],
      ['/404', 404],
    ]);
  });

  test('problem details of 429, 503 and 504', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { send } = await serve(t, adapter, {
      options: {
        name: 'api',
        timeout: 300,
        concurrency: { permitLimit: 1 },
        rateLimit: { permitLimit: 2, window: '1h' },
        problemDetails: true,
      },
      answers,
    });
    const first = send('/work');
    await until(() => held.length === 1);
    const refused = await send('/work').response;
    const late = await first.response;
    const limited = await send('/work').response;
    for (const { headers } of [refused, late, limited]) {
      assert.equal(headers['content-type'], 'application/problem+json');
    }
    assert.deepEqual(refused.json, {
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'Request cannot be satisfied due to temporary server capacity constraints',
      status: 503,
      detail: FULL,
      code: 'BULKHEAD_FULL',
    });
    assert.deepEqual(late.json, {
      type: 'about:blank',
      title: 'Gateway Timeout',
      status: 504,
      detail: LATE,
      code: 'TIMEOUT',
    });
    assert.deepEqual(limited.json, {
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: 'The client has used up its quota.',
      code: 'RATE_LIMITED',
      'violated-policies': ['api'],
    });
  });
}, allAdapters);
