// Responses that begin long before they end: the deadline guards the first byte, or with `body` the whole.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import test from 'node:test';
import { createGzip } from 'node:zlib';
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
        options: { timeout: { timeout: 50, body: true }, concurrency: { permitLimit: 1, queueLimit: 1 } },
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

  test('the latency of a stream is the time to its first byte', async (t) => {
    const samples = [];
    const ready = deferred();
    const pipeline = new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({
        algorithm: {
          onSample: (sample) => {
            samples.push(sample);
            return sample.limit;
          },
        },
      })
      .addTimeout('5s')
      .build();
    const { send } = await serve(t, adapter, {
      options: { pipeline },
      routes: {
        'GET /events': (_req, res) => {
          res.write('data: 0\n\n');
          ready.resolve({ res, firstByte: performance.now() });
        },
      },
    });
    const started = performance.now();
    const { response } = send('/events');
    const { res, firstByte } = await ready.promise;
    await pass(60);
    assert.deepEqual(samples, []);
    res.end();
    await response;
    await until(() => samples.length > 0);
    assert.equal(samples.length, 1);
    const [{ rtt, dropped, inflight }] = samples;
    assert.ok(rtt > 0 && rtt <= firstByte - started, `${rtt} ms`);
    assert.deepEqual([dropped, inflight], [false, 1]);
  });

  test('an adaptive limiter learns from served requests and drops, not from client errors', async (t) => {
    const dropped = [];
    const pipeline = new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({
        algorithm: {
          onSample: (sample) => {
            dropped.push(sample.dropped);
            return sample.limit;
          },
        },
      })
      .addTimeout(40)
      .build();
    const { send } = await serve(t, adapter, {
      options: { pipeline },
      routes: {
        'GET /status/:code': (req, res) => res.writeHead(Number(req.url.slice(-3))).end(),
        'GET /later/:code': async (req, res) => {
          await turn();
          res.writeHead(Number(req.url.slice(-3))).end();
        },
        'GET /slow': () => {},
      },
    });
    for (const [path, status, samples] of [
      ['/status/200', 200, [false]],
      ['/status/304', 304, [false]],
      ['/status/400', 400, []],
      ['/later/404', 404, []],
      ['/unknown', 404, []],
      ['/status/413', 413, []],
      ['/status/503', 503, [true]],
      ['/later/502', 502, [true]],
      ['/slow', 504, [true]],
      ['/later/200', 200, [false]],
    ]) {
      assert.equal((await send(path).response).status, status, path);
      assert.deepEqual(dropped.splice(0), samples, path);
    }
  });

  test('a middleware that waits for the head hears of it once, also of a 504', async (t) => {
    const heads = [];
    const patchWriteHead = (_req, res, next) => {
      const { writeHead } = res;
      res.writeHead = (...args) => {
        res.writeHead = writeHead;
        heads.push(res.statusCode);
        res.setHeader('x-patched', '1');
        return Reflect.apply(res.writeHead, res, args);
      };
      next();
    };
    for (const place of ['before', 'after']) {
      const { send } = await serve(t, adapter, {
        [place]: [patchWriteHead],
        options: { timeout: 30 },
        routes: { 'GET /work': (_req, res) => res.end('work'), 'GET /slow': () => {} },
      });
      const { text, headers } = await send('/work').response;
      assert.deepEqual([text, headers['x-patched']], ['work', '1']);
      const late = await send('/slow').response;
      assertAnswer(late, 504, 'TIMEOUT', LATE);
      assert.equal(late.headers['x-patched'], '1');
      assert.deepEqual(heads.splice(0), [200, 504]);
    }
  });

  for (const [name, middleware, decoded] of [
    ['compresses', compress, 'gzip'],
    ['ends later', endLater, undefined],
  ]) {
    test(`a middleware that ${name} works before and after, for answers of every kind`, async (t) => {
      for (const place of ['before', 'after']) {
        const { send, limiter, resilience } = await serve(t, adapter, {
          [place]: [middleware],
          options: { timeout: 30, concurrency: { permitLimit: 1 } },
          routes: {
            'GET /work': (_req, res) => {
              res.write('wo');
              res.end('rk');
            },
            'GET /slow': async (_req, res) => {
              await once(getResilienceSignal(), 'abort');
              await turn();
              res.end('late');
            },
          },
        });
        const served = await send('/work').response;
        assert.deepEqual([served.status, served.headers['content-encoding']], [200, decoded]);
        const late = await send('/slow').response;
        assert.deepEqual([late.status, late.headers['content-encoding']], [504, decoded]);
        await until(() => limiter.inflight === 0 && resilience.swallowed <= 1);
      }
    });
  }
});

/** Compresses every response, as middlewares do that patch `writeHead`, `write` and `end`. */
function compress(_req, res, next) {
  const { writeHead, write, end } = res;
  let gzip;
  res.writeHead = (...args) => {
    if (gzip === undefined) {
      gzip = createGzip();
      gzip.on('data', (chunk) => Reflect.apply(write, res, [chunk]));
      gzip.on('end', () => Reflect.apply(end, res, []));
      res.removeHeader('content-length');
      res.setHeader('content-encoding', 'gzip');
    }
    return Reflect.apply(writeHead, res, args);
  };
  res.write = (chunk) => {
    if (!res.headersSent) res.writeHead(res.statusCode);
    return gzip.write(chunk);
  };
  res.end = (chunk) => {
    if (!res.headersSent) res.writeHead(res.statusCode);
    gzip.end(chunk);
    return res;
  };
  next();
}

/** Ends every response a turn later, as middlewares do that have to store something first. */
function endLater(_req, res, next) {
  const { end } = res;
  let ended = false;
  res.end = (...args) => {
    if (ended) return res;
    ended = true;
    setImmediate(() => Reflect.apply(end, res, args));
    return res;
  };
  next();
}
