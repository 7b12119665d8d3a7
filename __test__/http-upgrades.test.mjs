// A request that takes its connection over, and runs through the app on its way, passes by every adapter.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { ServerResponse } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import test from 'node:test';
import { Hono } from 'hono';
import { getResilienceContext } from '@ylcnfrht/resilience';
import { honoResilience, protect, resilienceMiddleware, withResilience } from '@ylcnfrht/resilience/http';
import { forEachAdapter } from './support/http-adapters.mjs';
import { rawConnection } from './support/http-client.mjs';
import { heldRoute } from './support/http-held-route.mjs';
import { FULL, LATE, assertAnswer, deferred, listen, serve, until } from './support/http-server.mjs';

const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
const ASKS = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';

/** A handler of Node.js that takes the socket over, and sends back what it receives. */
function echo(contexts) {
  return (req) => {
    contexts.push(getResilienceContext() ?? getResilienceContext(req));
    const { socket } = req;
    socket.write(SWITCH);
    socket.on('data', (chunk) => socket.write(chunk));
    socket.on('end', () => socket.end());
  };
}

/** What modules for WebSockets do to take an upgrade through the app. */
const throughApp = (listener) => (req, socket) => {
  socket.on('error', () => {});
  const res = new ServerResponse(req);
  res.assignSocket(socket);
  return listener(req, res);
};

forEachAdapter((adapter) => {
  test('an upgrade takes no permit, has no deadline, and is not counted', async (t) => {
    const contexts = [];
    const { handler } = heldRoute();
    const { server, port, limiter, send, resilience } = await serve(t, adapter, {
      options: {
        timeout: 20,
        concurrency: { permitLimit: 1 },
        rateLimit: { permitLimit: 2, window: '1h' },
      },
      routes: { 'GET /work': handler, 'GET /socket': echo(contexts) },
    });
    server.on('upgrade', throughApp(server.listeners('request')[0]));
    const sockets = await Promise.all([port, port, port].map(rawConnection));
        for (const { get, receive } of sockets) {
      get('/socket', ASKS);
      await receive('101 Switching');
    }
    assert.deepEqual(contexts, [undefined, undefined, undefined]);
    assert.equal(limiter.inflight, 0);
    assert.equal(resilience.pipeline.getStrategy('RateLimiter').availableFor('127.0.0.1'), 2);
    // Its deadline is later than those of the upgrades would have been.
    assertAnswer(await send('/work').response, 504, 'TIMEOUT', LATE);
    for (const { socket, receive } of sockets) {
      socket.write('still here');
      await receive('still here');
    }
    resilience.dispose();
    for (const { socket, receive } of sockets) {
      socket.write('and goes on');
      await receive('and goes on');
      socket.destroy();
    }
  });

  test('an Upgrade header that the server does not take makes no upgrade of a request', async (t) => {
    const { held, handler } = heldRoute();
    const { port, limiter } = await serve(t, adapter, {
      options: { concurrency: { permitLimit: 1 } },
      routes: { 'GET /work': handler },
    });
    const [first, ...others] = await Promise.all([port, port, port].map(rawConnection));
    first.get('/work', 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n');
    await until(() => held.length === 1);
    assert.equal(limiter.inflight, 1);
    for (const [index, { get, receive }] of others.entries()) {
      get('/work', index === 0 ? ASKS : 'Connection: Upgrade\r\nUpgrade: h2c\r\n');
      assert.match(await receive(FULL), /^HTTP\/1\.1 503 /);
    }
    held[0].answer();
    await first.receive('/work');
    for (const { socket } of [first, ...others]) socket.destroy();
  });
});

test('protect lets an upgrade pass that is handed to the listeners of requests', async (t) => {
  const contexts = [];
  const server = await listen(t, echo(contexts));
  const inbound = protect(server, { timeout: 20, concurrency: { permitLimit: 1 } });
  server.on('upgrade', throughApp((req, res) => server.emit('request', req, res)));
  const { get, receive, socket } = await rawConnection(server.address().port);
  inbound.dispose();
  get('/socket', ASKS);
  await receive('101 Switching');
  assert.deepEqual(contexts, [undefined]);
  socket.write('echo');
  await receive('echo');
  socket.destroy();
});

test('a tunnel of HTTP/2, as WebSockets have it, passes by', { timeout: 10_000 }, async (t) => {
  const asked = deferred();
  const resilience = withResilience(
    (req, res) => {
      asked.resolve([req.method, getResilienceContext()]);
      res.writeHead(200);
      req.pipe(res);
    },
    { timeout: 20, concurrency: { permitLimit: 1 } },
  );
  resilience.dispose();
  const settings = { enableConnectProtocol: true };
  const server = createHttp2Server({ settings }, (_req, res) => res.end());
  server.on('connect', resilience);
  protect(server, { concurrency: { permitLimit: 1 } }).dispose();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = connect(`http://127.0.0.1:${server.address().port}`);
  t.after(async () => {
    session.destroy();
    server.close();
    await once(server, 'close');
  });
  await once(session, 'remoteSettings');
  const tunnel = session.request({
    ':method': 'CONNECT',
    ':protocol': 'websocket',
    ':path': '/',
    ':scheme': 'http',
    ':authority': 'localhost',
  });
  const [{ ':status': status }] = await once(tunnel, 'response');
  assert.equal(status, 200);
  assert.deepEqual(await asked.promise, ['CONNECT', undefined]);
  tunnel.write('echo');
  assert.equal(String((await once(tunnel, 'data'))[0]), 'echo');
  tunnel.close();
});

test('an upgrade for which there is a stub for a response, or none, passes by', async () => {
  const options = { timeout: 20, concurrency: { permitLimit: 1 } };
  const req = { method: 'GET', url: '/', headers: { upgrade: 'websocket', connection: 'upgrade' } };
  // As the middlewares of an engine for WebSockets are called.
  class Stub extends EventEmitter {
    end() {
      this.emit('finish');
    }
  }
  const middleware = resilienceMiddleware(options);
  const passed = [];
  for (const upgrade of [true, undefined]) {
    middleware({ ...req, upgrade }, new Stub(), (error) => passed.push(error));
  }
  assert.deepEqual(passed, [undefined, undefined]);
  assert.equal(middleware.pipeline.getStrategy('ConcurrencyLimiter').inflight, 0);

  const resilience = honoResilience(options);
  const app = new Hono().use(resilience).get('/', (c) => c.text('upgraded'));
  const response = await app.request('/', {}, { incoming: { ...req, upgrade: true }, outgoing: undefined });
  assert.equal(await response.text(), 'upgraded');
});

test("what a listener rejects with for an upgrade is its caller's", async () => {
  const failure = new Error('of the listener');
  const listener = withResilience(() => Promise.reject(failure), { concurrency: { permitLimit: 1 } });
  const req = { method: 'GET', headers: { upgrade: 'websocket' }, upgrade: true };
  await assert.rejects(listener(req, {}), failure);
});
