// The contract, with handlers that answer in their framework's own way.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import test from 'node:test';
import { getResilienceContext, getResilienceSignal } from '@ylcnfrht/resilience';
import { HTTP_REQUEST } from '@ylcnfrht/resilience/http';
import { allAdapters, forEachAdapter } from './support/http-adapters.mjs';
import { assertDisconnected } from './support/http-held-route.mjs';
import { nativeHeldRoute } from './support/http-native-route.mjs';
import {
  DISPOSED,
  FULL,
  LATE,
  QUEUE_TIMEOUT,
  assertAnswer,
  serve,
  turn,
  until,
} from './support/http-server.mjs';

const failure = () => Object.assign(new Error('secret'), { status: 500, statusCode: 500, expose: false });

forEachAdapter((adapter) => {
  const options = { timeout: '5s', concurrency: { permitLimit: 1, queueLimit: 1 } };

  test('answers of every kind arrive as they are, and give their permit back', async (t) => {
    const { send, limiter } = await serve(t, adapter, {
      options,
      answers: {
        'GET /text': () => ({ text: 'text' }),
        'GET /json': async () => ({ status: 201, json: { a: 1 }, headers: { 'x-own': 'yes' } }),
        'GET /stream': () => ({
          stream: Readable.from(['one ', 'two']),
          headers: { 'content-type': 'text/plain' },
        }),
        'GET /teapot': async () => ({ status: 418, text: 'short' }),
        'POST /echo': async ({ body }) => ({ text: `<${await body()}>` }),
      },
    });
    for (const [method, path, status, text] of [
      ['GET', '/text', 200, 'text'],
      ['GET', '/json', 201, '{"a":1}'],
      ['GET', '/stream', 200, 'one two'],
      ['GET', '/teapot', 418, 'short'],
      ['POST', '/echo', 200, '<body>'],
      ['HEAD', '/text', 200, ''],
      ['GET', '/unknown', 404, undefined],
    ]) {
      const headers = method === 'POST' ? { 'content-type': 'text/plain' } : undefined;
      const body = method === 'POST' ? 'body' : undefined;
      const answer = await send(path, { method, headers, body }).response;
      assert.equal(answer.status, status, path);
      if (text !== undefined) assert.equal(answer.text, text, path);
      if (path === '/json') assert.equal(answer.headers['x-own'], 'yes');
      await until(() => limiter.inflight === 0);
    }
  });

  test("the framework's own request is in the context, and the context is found by it", async (t) => {
    const { send } = await serve(t, adapter, {
      options,
      answers: {
        'GET /work': async ({ req, subject }) => {
          const context = getResilienceContext();
          await turn();
          return {
            json: [
              context.properties.get(HTTP_REQUEST) === subject,
              adapter.requestOf(subject) === req,
              getResilienceContext() === context,
              getResilienceContext(subject) === context,
              getResilienceContext(req) === context,
              getResilienceSignal() === context.signal,
            ],
          };
        },
      },
    });
    assert.deepEqual((await send('/work').response).json, Array(6).fill(true));
  });

  test('a handler that read its body is in the context', async (t) => {
    const { send } = await serve(t, adapter, {
      options,
      answers: {
        'POST /work': async ({ req, body }) => {
          const text = await body();
          return { json: [text, getResilienceContext() === getResilienceContext(req)] };
        },
      },
    });
    const body = (request) => {
      request.write('one ');
      setImmediate(() => request.end('two'));
    };
    const headers = { 'content-type': 'text/plain' };
    const { json } = await send('/work', { method: 'POST', headers, body }).response;
    assert.deepEqual(json, ['one two', true]);
  });

  test('served, queued, refused: as the table has it', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { send, limiter } = await serve(t, adapter, { options, answers });
    const first = send('/work');
    await until(() => held.length === 1);
    const second = send('/work');
    await until(() => limiter.queued === 1);
    assertAnswer(await send('/work').response, 503, 'BULKHEAD_FULL', FULL);
    assert.deepEqual([limiter.inflight, limiter.queued], [1, 1]);
    held[0].answer({ text: 'first' });
    assert.equal((await first.response).text, 'first');
    await until(() => held.length === 2);
    held[1].answer({ text: 'second' });
    assert.equal((await second.response).text, 'second');
    assert.equal(held[0].signal.aborted, false);
  });

  test('waited too long, and shutting down', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { send, limiter, resilience } = await serve(t, adapter, {
      options: { concurrency: { permitLimit: 1, queueLimit: 1, queueTimeout: 300 } },
      answers,
    });
    const first = send('/work');
    await until(() => held.length === 1);
    assertAnswer(await send('/work').response, 503, 'BULKHEAD_FULL', QUEUE_TIMEOUT);
    const waiting = send('/work');
    await until(() => limiter.queued === 1);
    resilience.dispose();
    assertAnswer(await waiting.response, 503, 'BULKHEAD_FULL', DISPOSED);
    assertAnswer(await send('/work').response, 503, 'PIPELINE_DISPOSED', 'The service is shutting down.');
    held[0].answer({ text: 'first' });
    assert.equal((await first.response).text, 'first');
  });

  for (const [how, end] of [
    ['answers a text', ({ answer }) => answer({ text: 'late' })],
    ['answers JSON', ({ answer }) => answer({ status: 201, json: {}, headers: { 'x-late': '1' } })],
    ['answers a stream', ({ answer }) => answer({ stream: Readable.from(['late']) })],
    ['fails', ({ fail }) => fail(failure())],
  ]) {
    test(`a handler that ${how} after its 504 changes nothing`, async (t) => {
      const { held, answers } = nativeHeldRoute();
      const { send, limiter, resilience } = await serve(t, adapter, {
        options: { timeout: 20, concurrency: { permitLimit: 1 } },
        answers: { ...answers, 'GET /next': () => ({ text: 'next' }) },
      });
      const answer = await send('/work').response;
      assertAnswer(answer, 504, 'TIMEOUT', LATE);
      assert.equal(answer.headers['x-late'], undefined);
      assert.equal((await held[0].aborted).code, 'TIMEOUT');
      assert.equal(limiter.inflight, 0);
      end(held[0]);
      await turn();
      await turn();
      assert.equal((await send('/next').response).text, 'next');
      if (['Express 5', 'Express 4', 'node:http', 'node:http2'].includes(adapter.name)) {
        assert.ok(resilience.swallowed >= 1, 'what was written is counted');
      }
    });
  }

  for (const [how, handler] of [
    [
      'throws',
      () => {
        throw failure();
      },
    ],
    ['rejects', () => Promise.reject(failure())],
    [
      'rejects later',
      async () => {
        await turn();
        throw failure();
      },
    ],
  ]) {
    test(`a handler that ${how} is the framework's to answer, and gives its permit back`, async (t) => {
      const { send, limiter } = await serve(t, adapter, { options, answers: { 'GET /work': handler } });
      for (let index = 0; index < 3; index++) {
        const warned = adapter.catchesErrors === false ? once(process, 'warning') : undefined;
        const { status, text } = await send('/work').response;
        assert.equal(status, 500);
        if (adapter.catchesErrors === false) {
          assert.ok(!text.includes('secret'));
          assert.equal((await warned)[0].message, 'secret');
        }
        await until(() => limiter.inflight === 0);
      }
    });
  }

  test('an error handler of the application answers, in the context of the request', async (t) => {
    const contexts = [];
    const { send, limiter } = await serve(t, adapter, {
      options,
      answers: {
        'GET /work': async () => {
          contexts.push(getResilienceContext());
          throw failure();
        },
      },
      onError: (error) => {
        contexts.push(getResilienceContext());
        return { status: 422, json: { told: error.message } };
      },
    });
    const { status, json } = await send('/work').response;
    assert.deepEqual([status, json], [422, { told: 'secret' }]);
    assert.equal(contexts[0], contexts[1]);
    await until(() => limiter.inflight === 0);
  });

  test('a client that leaves, running or queued, frees its place and is answered nothing', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { send, limiter } = await serve(t, adapter, { options, answers });
    const running = send('/work');
    await until(() => held.length === 1);
    const queued = send('/work');
    await until(() => limiter.queued === 1);
    queued.request.destroy();
    await assert.rejects(queued.response);
    await until(() => limiter.queued === 0);
    assert.equal(limiter.inflight, 1);
    running.request.destroy();
    await assert.rejects(running.response);
    assertDisconnected(await held[0].aborted);
    assert.equal(limiter.inflight, 0);
    held[0].answer({ text: 'for nobody' });
    const next = send('/work');
    await until(() => held.length === 2);
    held[1].answer({ text: 'next' });
    assert.equal((await next.response).text, 'next');
  });

  test('two admissions: both count, the inner one refuses, and both permits come back', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { send, limiter, others } = await serve(t, adapter, {
      options: { timeout: '5s', concurrency: { permitLimit: 2 } },
      also: [{ timeout: '5s', concurrency: { permitLimit: 1 } }],
      answers,
    });
    const first = send('/work');
    await until(() => held.length === 1);
    assertAnswer(await send('/work').response, 503, 'BULKHEAD_FULL', FULL);
    await until(() => limiter.inflight === 1);
    held[0].answer({ text: 'first' });
    assert.equal((await first.response).text, 'first');
    await until(() => limiter.inflight === 0);
    for (const { pipeline } of others) assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 0);
  });
}, allAdapters);
