// The queue of the event loop in front of a server: who waits, who starts, who is refused. How well it decides is
// tested in simulated time (tests/event_loop/).
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import test from 'node:test';
import { Worker } from 'node:worker_threads';
import { protect, withResilience } from '@ylcnfrht/resilience/http';
import { send } from './support/http-client.mjs';
import { DISPOSED, assertAnswer, deferred, listen, until } from './support/http-server.mjs';
import {
  OVERLOADED,
  PATIENT,
  STRICT,
  burn,
  nothingOpen,
  open,
  rawConnections,
  sendAll,
  sendTo,
  serve,
  statuses,
  warm,
} from './support/overload.mjs';

const { read } = createRequire(import.meta.url)('../lib/event-loop.js');

test.afterEach(nothingOpen);

/** Clients that send the same together and wait for `part` of the answer, and those of them that are refused. */
async function askTogether(t, port, request, part = '\r\n\r\n') {
  const clients = await rawConnections(t, port, 12);
  for (const { socket } of clients) socket.write(request);
  await Promise.all(clients.map((client) => client.receive(part)));
  const refused = clients.filter(({ received }) => received.startsWith('HTTP/1.1 503'));
  assert.ok(refused.length > 0, 'some are refused');
  return { clients, refused };
}

test('handlers start one after the other’s jobs, in the order of arrival', async (t) => {
  const log = [];
  let mostQueued = 0;
  const { port } = await serve(t, PATIENT, async (req, res, { queued }) => {
    mostQueued = Math.max(mostQueued, queued);
    log.push('start');
    for (let i = 0; i < 10; i += 1) await null;
    burn();
    log.push('end');
    res.end();
  });
  const clients = await rawConnections(t, port, 30);
  for (const client of clients) client.get('/');
  await Promise.all(clients.map((client) => client.receive('\r\n\r\n')));
  assert.ok(mostQueued > 5, `${mostQueued} have waited`);
  const nested = log.filter((entry, i) => entry === 'start' && log[i + 1] !== 'end');
  assert.deepEqual(nested, []);
});

test('connections are accepted while requests wait', async (t) => {
  const number = 60;
  let connections = 0;
  /** When each handler starts: how many had been accepted. */
  const accepted = [];
  const { server, port } = await serve(t, PATIENT, (_req, res) => {
    accepted.push(connections);
    burn();
    res.end();
  });
  await warm(port);
  server.on('connection', () => (connections += 1));
  accepted.length = 0;
  const sent = Array.from({ length: number }, (_, i) => send(port, `/?${i}`));
  assert.deepEqual(await statuses(sent), { 200: number });
  // Otherwise each turn of the loop accepts one and computes for it.
  assert.ok(accepted[number / 2] === number, `${accepted}`);
});

test('a request that waits keeps the stores of AsyncLocalStorage', async (t) => {
  const store = new AsyncLocalStorage();
  const seen = [];
  let waited = 0;
  const listener = withResilience(
    async (req, res) => {
      waited += listener.overload.queued > 0 ? 1 : 0;
      seen.push([req.url, store.getStore()]);
      burn(3);
      res.end();
    },
    { overload: PATIENT, timeout: '1m' },
  );
  const server = await listen(t, (req, res) => store.run(req.url, listener, req, res), listener);
  assert.deepEqual(await statuses(sendAll(server.address().port, 20)), { 200: 20 });
  assert.ok(waited > 0);
  assert.equal(seen.length, 20);
  for (const [url, own] of seen) assert.equal(own, url);
});

test('a client that leaves while its request waits: it never starts', async (t) => {
  const urls = [];
  let sent = [];
  let left = 0;
  const { server, port } = await serve(t, PATIENT, (req, res, { queued }) => {
    urls.push(req.url);
    // All of them are here.
    if (queued >= 20 && sent.length > 0) for (const { socket } of sent.splice(0, 10)) socket.destroy();
    burn();
    res.end();
  });
  await warm(port);
  urls.length = 0;
  server.on('connection', (socket) => socket.on('close', () => (left += 1)));
  const clients = await rawConnections(t, port, 32);
  sent = clients.slice(-10);
  clients.forEach((client, i) => client.get(`/${i}`));
  await Promise.all(clients.slice(0, 22).map((client) => client.receive('\r\n\r\n')));
  await until(() => open() === 0 && left === 10);
  assert.deepEqual(new Set(urls), new Set(clients.slice(0, 22).map((_, i) => `/${i}`)));
});

test('dispose: those that wait are refused, those that run go on', async (t) => {
  let isRunning = false;
  const { listener, port } = await serve(t, PATIENT, (_req, res, { queued }) => {
    burn();
    if (isRunning || queued < 5) return res.end();
    isRunning = true;
    listener.dispose();
    return setImmediate(() => res.end('went on'));
  });
  await warm(port);
  const sent = await sendAll(port, 20);
  const answers = await Promise.all(sent.map(({ response }) => response));
  const refused = answers.filter(({ status }) => status === 503);
  const waiters = refused.filter(({ json }) => json.error === 'OVERLOADED');
  assert.ok(waiters.length >= 5, `${waiters.length} of ${refused.length} have waited`);
  for (const answer of waiters) {
    assertAnswer(answer, 503, 'OVERLOADED', DISPOSED);
    assert.equal(answer.headers.connection, 'close');
  }
  assert.equal(listener.overload.queued, 0);
  assert.equal(answers.filter(({ text }) => text === 'went on').length, 1);
});

test('who would wait too long is refused at the door, with what there is to tell', async (t) => {
  const errors = [];
  const { port } = await serve(
    t,
    STRICT,
    (_req, res) => {
      burn();
      res.end();
    },
    { name: 'front', onRejected: ({ request, error }) => errors.push([request.url, error]) },
  );
  await warm(port);
  const answers = await Promise.all((await sendAll(port, 12)).map(({ response }) => response));
  const refused = answers.filter(({ status }) => status === 503);
  assert.ok(refused.length > 0 && refused.length < 12, `${refused.length}`);
  for (const answer of refused) {
    assertAnswer(answer, 503, 'OVERLOADED', OVERLOADED);
    assert.match(answer.headers['retry-after'], /^[123]$/);
    assert.equal(answer.headers['cache-control'], 'no-store');
  }
  assert.equal(errors.length, refused.length);
  for (const [, { code, statusCode, reason, delay, queued, retryAfter, pipelineName, stack }] of errors) {
    assert.deepEqual([code, statusCode, pipelineName], ['OVERLOADED', 503, 'front']);
    assert.ok(retryAfter >= 1 && retryAfter >= delay && queued >= 0, `${retryAfter}, ${delay} ms, ${queued}`);
    if (reason === 'full') assert.ok(delay > 0 && queued > 0, `${delay} ms, ${queued}`);
    else assert.equal(reason, 'queue-timeout');
    assert.doesNotMatch(stack, /\n/);
  }
});

test('a kept connection is kept over a refusal', async (t) => {
  const { port } = await serve(t, STRICT, (_req, res) => {
    burn();
    res.end('fine');
  });
  await warm(port);
  const { refused } = await askTogether(t, port, 'GET / HTTP/1.1\r\nHost: test\r\n\r\n');
  for (const { received } of refused) assert.doesNotMatch(received, /Connection: close/i);
  // Another request on it is read, whatever comes of it.
  for (const client of refused) {
    client.get('/');
    await client.receive('HTTP/1.1 ', 2);
  }
});

test('an upload that is refused is not read', async (t) => {
  const { port } = await serve(t, STRICT, (_req, res) => {
    burn();
    res.end();
  });
  await warm(port);
  const head = 'POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000\r\n\r\n';
  const { refused } = await askTogether(t, port, head);
  for (const { received } of refused) assert.match(received, /Connection: close/i);
});

test('Expect: 100-continue under protect(): who is refused is never told to go on', async (t) => {
  const server = createServer((_req, res) => {
    burn();
    res.end('fine');
  });
  const inbound = protect(server, { overload: STRICT });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address();
  await warm(port);
  const expects = 'POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n';
  const { clients, refused } = await askTogether(t, port, expects, 'Content-Length');
  const served = clients.filter(({ received }) => received.startsWith('HTTP/1.1 100 Continue'));
  assert.ok(served.length > 0, `${served.length}, ${refused.length}`);
  assert.equal(served.length + refused.length, 12);
  for (const { received } of served) assert.match(received, /HTTP\/1.1 200/);
  for (const { received } of refused) assert.doesNotMatch(received, /100 Continue/);
  assert.equal(inbound.overload.queued, 0);
});

test('two adapters in one process share one queue', async (t) => {
  const order = [];
  const seen = [];
  const make = (name) =>
    serve(t, PATIENT, (req, res) => {
      if (req.url.startsWith('/?')) order.push(name);
      seen.push([one.listener.overload.queued, other.listener.overload.queued]);
      burn();
      res.end();
    });
  const one = await make('one');
  const other = await make('other');
  await warm(one.port);
  order.length = 0;
  const ports = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? one : other).port);
  assert.deepEqual(await statuses(sendTo(ports)), { 200: 20 });
  for (const [a, b] of seen) assert.equal(a, b);
  assert.ok(Math.max(...seen.map(([queued]) => queued)) > 5);
  // Neither is served before the other.
  assert.ok(order.slice(0, 15).includes('one') && order.slice(0, 15).includes('other'), order.join());
});

test('a health check that is skipped is answered while others wait', async (t) => {
  let queuedAtCheck = 0;
  const { port } = await serve(
    t,
    PATIENT,
    (req, res, { queued }) => {
      if (req.url === '/healthz') queuedAtCheck = queued;
      else burn();
      res.end();
    },
    { skip: (req) => req.url === '/healthz' },
  );
  await warm(port);
  const sent = await sendAll(port, 40);
  const check = send(port, '/healthz');
  assert.equal((await check.response).status, 200);
  assert.ok(queuedAtCheck > 0, `${queuedAtCheck} waited`);
  assert.deepEqual(await statuses(sent), { 200: 40 });
});

test('an event stream is in flight until its first byte has left', async (t) => {
  const streams = [];
  const { port } = await serve(t, true, async (req, res) => {
    if (req.url === '/stream') {
      await new Promise(setImmediate);
      res.write('data: 1\n\n');
      streams.push(res);
    } else {
      res.end();
    }
  });
  const sent = await sendAll(port, 10, () => '/stream');
  await until(() => streams.length === 10 && open() === 0);
  assert.equal(read(0).inflight, 0);
  for (const res of streams) res.end();
  assert.deepEqual(await statuses(sent), { 200: 10 });
});

test('nothing is refused of what the loop can serve', async (t) => {
  const { listener, port } = await serve(t, true, async (_req, res) => {
    await null;
    burn(1);
    res.end();
  });
  const clients = Array.from({ length: 3 }, async () => {
    for (let i = 0; i < 40; i += 1) {
      assert.equal((await send(port, '/').response).status, 200);
      // As long as that has taken, nobody asks.
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  });
  await Promise.all(clients);
  assert.equal(listener.overload.queued, 0);
});

test('each thread has a gate of its own', async (t) => {
  const { listener, port } = await serve(t, PATIENT, (_req, res) => res.end());
  const before = { ...listener.overload };
  const worker = new Worker(new URL('./support/overload-worker.mjs', import.meta.url));
  t.after(() => worker.terminate());
  const messages = deferred();
  worker.once('message', messages.resolve);
  worker.once('error', messages.reject);
  const { mostQueued, statuses: own } = await messages.promise;
  assert.deepEqual(own, { 200: 20 });
  assert.ok(mostQueued > 0, 'some have waited there');
  const { queued, pace, limit } = listener.overload;
  assert.deepEqual({ queued, pace, limit }, { queued: 0, pace: before.pace, limit: before.limit });
  assert.equal((await send(port, '/').response).status, 200);
});
