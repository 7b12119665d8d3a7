// A protected server whose `emit` is instrumented, as OpenTelemetry does it to the prototype of all servers, and
// others to a single one: each request has one span, in which it waits, is refused, and is handled.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { Server } from 'node:http';
import test from 'node:test';
import { getResilienceContext } from '@ylcnfrht/resilience';
import { protect, resilienceMiddleware, withResilience } from '@ylcnfrht/resilience/http';
import { rawConnection, send } from './support/http-client.mjs';
import { FULL, LATE, assertAnswer, listen, until } from './support/http-server.mjs';

const active = new AsyncLocalStorage();
const METHODS = ['addListener', 'on', 'once', 'prependListener', 'prependOnceListener'];

/** Lets the listeners that are added to an emitter run in the present span, by functions around them. */
function bindEmitter(emitter) {
  const span = active.getStore();
  let wrapping = false;
  for (const name of METHODS) {
    const original = emitter[name];
    emitter[name] = function add(event, listener) {
      if (wrapping) return Reflect.apply(original, this, [event, listener]);
      wrapping = true;
      try {
        const bound = function bound(...args) {
          return active.run(span, () => Reflect.apply(listener, this, args));
        };
        return Reflect.apply(original, this, [event, bound]);
      } finally {
        wrapping = false;
      }
    };
  }
}

const instrument = (emit, spans) =>
  function instrumented(event, ...args) {
    if (event !== 'request') return Reflect.apply(emit, this, [event, ...args]);
    const [req, res] = args;
    const span = { url: req.url, port: this.address().port, status: undefined };
    spans.push(span);
    return active.run(span, () => {
      bindEmitter(req);
      bindEmitter(res);
      res.on('close', () => (span.status = res.statusCode));
      return Reflect.apply(emit, this, [event, ...args]);
    });
  };

/** Instruments all servers of the process until the test has ended. */
function instrumentAll(t, spans) {
  const own = Object.getOwnPropertyDescriptor(Server.prototype, 'emit');
  Server.prototype.emit = instrument(Server.prototype.emit, spans);
  t.after(() => {
    if (own === undefined) delete Server.prototype.emit;
    else Object.defineProperty(Server.prototype, 'emit', own);
  });
}

const instrumentOne = (server, spans) => {
  server.emit = instrument(server.emit, spans);
};

for (const [how, prepare] of [
  ['all servers, before it is protected', (t, server, spans) => (instrumentAll(t, spans), () => {})],
  ['all servers, after it was protected', (t, server, spans) => () => instrumentAll(t, spans)],
  ['it alone, before it is protected', (t, server, spans) => (instrumentOne(server, spans), () => {})],
  ['it alone, after it was protected', (t, server, spans) => () => instrumentOne(server, spans)],
]) {
  test(`spans of requests, where the instrumentation is of ${how}`, async (t) => {
    const spans = [];
    const rejected = [];
    const held = [];
    const server = await listen(t, (req, res) => {
      held.push({ req, res, span: active.getStore(), context: getResilienceContext() });
    });
    const instrumentNow = prepare(t, server, spans);
    const onRejected = ({ error }) => rejected.push([error.code, active.getStore()]);
    const skip = (req) => {
      assert.equal(active.getStore()?.url, req.url);
      return req.url === '/skipped';
    };
    const outer = protect(server, { concurrency: { permitLimit: 50 }, skip, onRejected });
    const inbound = protect(server, { concurrency: { permitLimit: 1, queueLimit: 1 }, skip, onRejected });
    instrumentNow();
    const limiter = inbound.pipeline.getStrategy('ConcurrencyLimiter');
    const { port } = server.address();
    const get = (path) => send(port, path).response;

    const first = get('/first');
    await until(() => held.length === 1);
    const second = get('/second');
    await until(() => limiter.queued === 1);
    assert.deepEqual(spans, [
      { url: '/first', port, status: undefined },
      { url: '/second', port, status: undefined },
    ]);
    assertAnswer(await get('/full'), 503, 'BULKHEAD_FULL', FULL);
    assert.deepEqual(rejected, [['BULKHEAD_FULL', spans[2]]]);
    const asking = await rawConnection(port);
    asking.socket.write('POST /asks HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n');
    assert.doesNotMatch(await asking.receive(FULL), / 100 /);
    held[0].res.end('first');
    await first;
    await until(() => held.length === 2);
    held[1].res.end('second');
    await second;
    const again = await rawConnection(port);
    again.socket.write('POST /goes-on HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n');
    await again.receive('100 Continue');
    await until(() => held.length === 3);
    held[2].res.end('third');
    await again.receive('third');
    const skipped = get('/skipped');
    await until(() => held.length === 4);
    held[3].res.end('skipped');
    await skipped;
    outer.dispose();
    assert.equal((await get('/disposed')).status, 503);
    await until(() => spans.every(({ status }) => status !== undefined));
    assert.deepEqual(spans, [
      { url: '/first', port, status: 200 },
      { url: '/second', port, status: 200 },
      { url: '/full', port, status: 503 },
      { url: '/asks', port, status: 503 },
      { url: '/goes-on', port, status: 200 },
      { url: '/skipped', port, status: 200 },
      { url: '/disposed', port, status: 503 },
    ]);
    for (const [index, { req, span, context }] of held.entries()) {
      assert.equal(span.url, req.url);
      if (index < 3) assert.equal(getResilienceContext(req), context);
    }
    for (const { socket } of [asking, again]) socket.destroy();
  });
}

test('under an instrumentation a request is known to every middleware', async (t) => {
  const spans = [];
  instrumentAll(t, spans);
  const contexts = [];
  const middleware = resilienceMiddleware({ timeout: 20, rateLimit: { permitLimit: 5, window: '1h' } });
  const listener = withResilience(
    (req, res) =>
      middleware(req, res, () => {
        middleware(req, res, () => contexts.push(getResilienceContext(req), getResilienceContext()));
      }),
    { concurrency: { permitLimit: 1 } },
  );
  const server = await listen(t, listener, listener);
  const { port } = server.address();
  assertAnswer(await send(port, '/').response, 504, 'TIMEOUT', LATE);
  assert.equal(contexts.length, 2);
  assert.notEqual(contexts[0], undefined);
  assert.equal(contexts[0], contexts[1]);
  assert.equal(middleware.pipeline.getStrategy('RateLimiter').availableFor('127.0.0.1'), 4);
  await until(() => spans[0].status === 504);
});

test('the listeners of a protected server are its own', async (t) => {
  const server = await listen(t, (_req, res) => res.end('first'));
  protect(server, { concurrency: { permitLimit: 1 } });
  const [original] = server.listeners('request');
  // As a module does that answers some paths itself.
  server.removeAllListeners('request');
  server.on('request', (req, res) => (req.url === '/own' ? res.end('own') : original(req, res)));
  const { port } = server.address();
  assert.equal((await send(port, '/own').response).text, 'own');
  assert.equal((await send(port, '/').response).text, 'first');
  const closed = once(server, 'custom');
  server.emit('custom', 7);
  assert.deepEqual(await closed, [7]);
});
