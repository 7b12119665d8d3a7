// Clients that take nothing of what is there for them are cut off in time; nobody else is.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { withResilience } from '@ylcnfrht/resilience/http';
import { allAdapters, forEachAdapter, http1Adapters } from './support/http-adapters.mjs';
import { rawConnection } from './support/http-client.mjs';
import { serve, until } from './support/http-server.mjs';

const http2Adapter = allAdapters.find((adapter) => !http1Adapters.includes(adapter));
const nodeAdapter = http1Adapters.find(({ name }) => name === 'node:http');
/** More than the buffers of both ends of a loopback connection take. */
const LARGE = Buffer.alloc(32 * 2 ** 20, 'x');
const STALL_MS = 200;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const timeout = () => new ResiliencePipelineBuilder().addConcurrencyLimiter(5).addTimeout('5s').build();

const routes = {
  'GET /ended': (_req, res) => res.end(LARGE),
  'GET /going-on': (_req, res) => res.write(LARGE),
  'GET /events': (_req, res) => res.write('data: 0\n\n'),
};

forEachAdapter((adapter) => {
  for (const [how, options] of [
    ['a timeout', { timeout: '5s', concurrency: { permitLimit: 5 } }],
    ['a pipeline', { pipeline: timeout() }],
  ]) {
    test(`with ${how}, a client that takes nothing of its response is cut off`, async (t) => {
      const { server, port, limiter } = await serve(t, adapter, {
        options: { ...options, stallTimeout: STALL_MS },
        routes,
      });
      const accepted = [];
      server.on('connection', (socket) => accepted.push(once(socket, 'close').catch(() => {})));
      const started = performance.now();
      const clients = await Promise.all(['/ended', '/going-on', '/events'].map(() => rawConnection(port)));
      ['/ended', '/going-on', '/events'].forEach((path, index) => {
        clients[index].socket.pause();
        clients[index].get(path);
      });
      await Promise.all(accepted.slice(0, 2));
      assert.ok(performance.now() - started >= STALL_MS);
      await until(() => limiter.inflight === 1);
      // The third has nothing pending.
      await pause(STALL_MS);
      assert.equal(limiter.inflight, 1);
      for (const { socket } of clients) socket.destroy();
    });
  }
});

test('a client that takes its response slowly is not cut off', async (t) => {
  const { port } = await serve(t, nodeAdapter, {
    options: { timeout: '5s', stallTimeout: 2 * STALL_MS },
    routes,
  });
  const { socket, get } = await rawConnection(port);
  let received = 0;
  socket.removeAllListeners('data');
  socket.on('data', ({ length }) => {
    received += length;
    socket.pause();
    setTimeout(() => socket.resume(), length / 20_000);
  });
  const started = performance.now();
  get('/ended');
  await until(() => received > LARGE.length / 2 || socket.closed);
  assert.equal(socket.closed, false);
  assert.ok(performance.now() - started > 2 * STALL_MS, `${performance.now() - started} ms`);
  socket.destroy();
});

test('over HTTP/2 the stream of such a client is cut off, and its session goes on', async (t) => {
  const { port, limiter } = await serve(t, http2Adapter, {
    options: { timeout: '5s', stallTimeout: STALL_MS, concurrency: { permitLimit: 5 } },
    routes: {
      'GET /going-on': (_req, res) => res.write(LARGE.subarray(0, 2 ** 20)),
      'GET /small': (_req, res) => res.end('small'),
    },
  });
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  const stream = session.request({ ':path': '/going-on' });
  stream.on('error', () => {});
  await once(stream, 'response');
  stream.pause();
  await until(() => limiter.inflight === 0);
  const other = session.request({ ':path': '/small' });
  let text = '';
  for await (const chunk of other) text += chunk;
  assert.equal(text, 'small');
  session.destroy();
});

test('over HTTP/2 a client that reads nothing at all loses its session', async (t) => {
  const { server, port, limiter } = await serve(t, http2Adapter, {
    options: { timeout: '5s', stallTimeout: STALL_MS, concurrency: { permitLimit: 5 } },
    routes,
  });
  const gone = new Promise((resolve) => {
    server.on('session', (served) => served.on('error', () => {}).on('close', resolve));
  });
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  const window = Buffer.from([0x7f, 0xff, 0, 0]);
  socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  // SETTINGS with a large window for each stream, WINDOW_UPDATE for all, HEADERS of GET /going-on.
  socket.write(Buffer.concat([Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4]), window]));
  socket.write(Buffer.concat([Buffer.from([0, 0, 4, 8, 0, 0, 0, 0, 0]), Buffer.from([0x7f, 0, 0, 0])]));
  const path = Buffer.from('/going-on');
  const fields = Buffer.concat([Buffer.from([0x82, 0x86, 0x04, path.length]), path, Buffer.from([0x41, 1, 0x78])]);
  socket.write(Buffer.concat([Buffer.from([0, 0, fields.length, 1, 5, 0, 0, 0, 1]), fields]));
  await until(() => limiter.inflight === 1);
  await until(() => limiter.inflight === 0);
  await gone;
  socket.destroy();
});

test('stallTimeout needs a timeout', () => {
  const listener = () => {};
  const concurrency = { permitLimit: 1 };
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).build();
  const message =
    'withResilience takes stallTimeout beside a timeout, and in a pipeline with one: there is none';
  for (const options of [{ concurrency }, { pipeline }]) {
    assert.throws(() => withResilience(listener, { ...options, stallTimeout: '1s' }), { name: 'TypeError', message });
  }
  for (const [value, name] of [
    [0, 'RangeError'],
    [-1, 'RangeError'],
    [NaN, 'RangeError'],
    ['soon', 'RangeError'],
    [null, 'TypeError'],
    [{}, 'TypeError'],
  ]) {
    const take = () => withResilience(listener, { timeout: '5s', stallTimeout: value });
    assert.throws(take, { name, message: /^stallTimeout/ });
  }
  for (const options of [{ timeout: '5s' }, { pipeline: timeout() }, { deadlineHeader: 'x-timeout' }]) {
    withResilience(listener, { ...options, stallTimeout: '1s' });
  }
});
