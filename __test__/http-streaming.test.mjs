// Responses that begin long before they end: the deadline guards the first byte, or with `body` the whole.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import test from 'node:test';
import { ResiliencePipelineBuilder, getResilienceSignal } from '@ylcnfrht/resilience';
import { forEachAdapter } from './support/http-adapters.mjs';
import { oneConnection, rawConnection } from './support/http-client.mjs';
import { FULL, LATE, assertAnswer, deferred, serve, turn, until } from './support/http-server.mjs';

/** More than the buffers of both ends of a loopback connection take. */
const LARGE = Buffer.alloc(64 * 2 ** 20, 'x');

/** Resolves when a timeout of a pipeline of its own has passed. */
const pass = (ms) =>
  new ResiliencePipelineBuilder()
    .addTimeout(ms)
    .build()
    .settle(() => new Promise(() => {}), {});

forEachAdapter((adapter) => {
  /** How a handler may send its first byte. */
  const beginnings = {
    write: (res) => res.write('data: 0\n\n'),
    flushHeaders: (res) => res.flushHeaders(),
    writeHead: (res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 0\n\n'),
    pipe: (res) => Readable.from(['data: 0\n\n']).pipe(res, { end: false }),
  };
  for (const [name, begin] of Object.entries(beginnings)) {
    test(`a stream begun by ${name} goes on past the deadline`, async (t) => {
      const ready = deferred();
      const { send, limiter, resilience } = await serve(t, adapter, {
        options: { timeout: 30, concurrency: { permitLimit: 1 } },
        routes: {
          'GET /events': (_req, res) => {
            begin(res);
            ready.resolve({ res, signal: getResilienceSignal() });
          },
        },
      });
      const started = performance.now();
      const { response } = send('/events');
      const { res, signal } = await ready.promise;
      await pass(60);
      assert.ok(performance.now() - started >= 60);
      assert.deepEqual([signal.aborted, limiter.inflight], [false, 1]);
      assertAnswer(await send('/events').response, 503, 'BULKHEAD_FULL', FULL);
      res.end('data: 1\n\n');
      const { status, text } = await response;
      assert.equal(status, 200);
      assert.ok(text.endsWith('data: 1\n\n'));
      assert.deepEqual([limiter.inflight, resilience.swallowed], [0, 0]);
    });
  }

  test('a waiter whose headers an earlier middleware has sent is cut off at the deadline', async (t) => {
    const ready = deferred();
    const { send, limiter } = await serve(t, adapter, {
      options: { pipeline: new ResiliencePipelineBuilder().addTimeout(40).addConcurrencyLimiter(1, 1).build() },
      before: [
        (req, res, next) => {
          if (req.url === '/early') res.flushHeaders();
          next();
        },
      ],
      routes: {
        'GET /events': (_req, res) => {
          res.write('data: 0\n\n');
          ready.resolve(res);
        },
        'GET /early': () => assert.fail('must not run'),
      },
    });
    const stream = send('/events');
    const res = await ready.promise;
    const early = send('/early');
    await assert.rejects(early.response, { code: 'ECONNRESET' });
    assert.deepEqual([limiter.inflight, limiter.queued], [1, 0]);
    res.end();
    assert.equal((await stream.response).status, 200);
  });

  test('what precedes the response is no first byte', async (t) => {
    const { send } = await serve(t, adapter, {
      options: { timeout: 30 },
      routes: {
        'GET /work': (_req, res) => {
          res.setHeader('x-early', '1');
          res.writeProcessing();
        },
      },
    });
    assertAnswer(await send('/work').response, 504, 'TIMEOUT', LATE);
  });

  test('with body, the deadline cuts a stream off', async (t) => {
    const abort = deferred();
    let response;
    const { port, limiter, resilience } = await serve(t, adapter, {
      options: { timeout: { timeout: 40, body: true }, concurrency: { permitLimit: 1 } },
      routes: {
        'GET /events': (_req, res) => {
          const signal = getResilienceSignal();
          signal.addEventListener('abort', () => abort.resolve(signal.reason));
          res.write('data: 0\n\n');
          response = res;
        },
      },
    });
    const client = await rawConnection(port);
    const closed = once(client.socket, 'close');
    const started = performance.now();
    client.get('/events');
    await closed;
    assert.ok(performance.now() - started >= 40);
    assert.match(client.received, /^HTTP\/1\.1 200 OK\r\n.*data: 0\n\n\r\n$/s);
    assert.equal((await abort.promise).code, 'TIMEOUT');
    const error = await new Promise((resolve) => response.write('late', resolve));
    assert.equal(error.code, 'ERR_STREAM_DESTROYED');
    assert.deepEqual([response.headersSent, resilience.swallowed, limiter.inflight], [true, 0, 0]);
  });

  test('with body, a request without a first byte is answered 504, one in time is left alone', async (t) => {
    const { server, send, limiter } = await serve(t, adapter, {
      options: { timeout: { timeout: 40, body: true }, concurrency: { permitLimit: 1 } },
      routes: {
        'GET /slow': () => {},
        'GET /fast': (_req, res) => {
          res.write('on ');
          res.end('time');
        },
      },
    });
    let connections = 0;
    server.on('connection', () => connections++);
    const agent = oneConnection();
    t.after(() => agent.destroy());
    assert.equal((await send('/fast', { agent }).response).text, 'on time');
    assertAnswer(await send('/slow', { agent }).response, 504, 'TIMEOUT', LATE);
    assert.equal((await send('/fast', { agent }).response).text, 'on time');
    await until(() => limiter.inflight === 0);
    assert.equal(connections, 1);
  });

  test('a client that leaves in the middle of a stream aborts its signal', async (t) => {
    const ready = deferred();
    const { port, limiter } = await serve(t, adapter, {
      options: { timeout: 30, concurrency: { permitLimit: 1 } },
      routes: {
        'GET /events': (_req, res) => {
          res.write('data: 0\n\n');
          ready.resolve(getResilienceSignal());
        },
      },
    });
    const client = await rawConnection(port);
    client.get('/events');
    const signal = await ready.promise;
    await client.receive('data: 0');
    const aborted = once(signal, 'abort');
    client.socket.destroy();
    await aborted;
    assert.deepEqual([signal.reason.name, limiter.inflight], ['AbortError', 0]);
  });

  test('a client that stops reading an ended response holds no permit', async (t) => {
    const ended = deferred();
    const { port, send, limiter } = await serve(t, adapter, {
      options: { timeout: '5s', concurrency: { permitLimit: 1 } },
      routes: {
        'GET /large': (_req, res) => {
          res.end(LARGE);
          ended.resolve(res);
        },
        'GET /work': (_req, res) => res.end('served'),
      },
    });
    const client = await rawConnection(port);
    client.socket.pause();
    client.get('/large');
    const res = await ended.promise;
    await turn();
    assert.deepEqual([res.writableEnded, res.writableFinished, limiter.inflight], [true, false, 0]);
    assert.equal((await send('/work').response).text, 'served');
    assert.equal(res.writableFinished, false);
    client.socket.destroy();
  });

  for (const [name, answer] of [
    ['an ended response', (res) => res.end(LARGE)],
    ['a stream', (res) => Readable.from([LARGE, LARGE]).pipe(res)],
  ]) {
    test(`with body, a client that stops reading ${name} is cut off at the deadline`, async (t) => {
      const answered = deferred();
      const { port, send, limiter } = await serve(t, adapter, {
        options: { timeout: { timeout: 250, body: true }, concurrency: { permitLimit: 1, queueLimit: 1 } },
        routes: {
          'GET /large': (_req, res) => {
            answer(res);
            answered.resolve(res);
          },
          'GET /work': (_req, res) => res.end('served'),
        },
      });
      const client = await rawConnection(port);
      client.socket.pause();
      client.get('/large');
      const closed = answered.promise.then((res) => once(res, 'close'));
      await answered.promise;
      const waiting = send('/work');
      await until(() => limiter.inflight === 1 && limiter.queued === 1);
      await closed;
      assert.equal((await waiting.response).text, 'served');
      client.socket.resume();
      await once(client.socket, 'close');
      assert.ok(client.received.length < LARGE.length);
    });
  }
});
