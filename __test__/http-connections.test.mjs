// Long-lived connections: nothing grows on them, request after request; and those of HTTP/2.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { createRequire } from 'node:module';
import test from 'node:test';
import { ResiliencePipelineBuilder, getResilienceSignal } from '@ylcnfrht/resilience';
import { HTTP_REQUEST, resilienceMiddleware } from '@ylcnfrht/resilience/http';
import { forEachAdapter } from './support/http-adapters.mjs';
import { oneConnection, rawConnection } from './support/http-client.mjs';
import { deferred, serve, turn, until } from './support/http-server.mjs';

const { thread } = createRequire(import.meta.url)('../lib/native.js');

/** How many listeners each event has. */
const listeners = (emitter) =>
  Object.fromEntries(emitter.eventNames().map((event) => [String(event), emitter.listenerCount(event)]));

/** What the socket holds under symbols: sets of ours must stay empty. */
const held = (socket) =>
  Object.getOwnPropertySymbols(socket)
    .map((symbol) => socket[symbol])
    .filter((value) => value instanceof Set)
    .map(({ size }) => size);

forEachAdapter((adapter) => {
  test('a thousand requests on one connection leave nothing on it', async (t) => {
    const seen = [];
    const warnings = [];
    const onWarning = (warning) => warnings.push(warning);
    process.on('warning', onWarning);
    t.after(() => process.off('warning', onWarning));
    const { server, send, limiter, resilience } = await serve(t, adapter, {
      options: { timeout: 15, concurrency: { permitLimit: 1 } },
      routes: {
        'GET /work': (req, res) => {
          seen.push([listeners(req), listeners(res), listeners(req.socket), held(req.socket)]);
          res.end('work');
        },
        'GET /late': () => {},
        'GET /taken': (req, res) => {
          // What a pipeline of streams does to a request that it gives up.
          req.socket = null;
          res.end();
        },
      },
    });
    let socket;
    let connections = 0;
    server.on('connection', (accepted) => {
      connections++;
      socket = accepted;
    });
    const agent = oneConnection();
    t.after(() => agent.destroy());
    const get = (path) => send(path, { agent }).response;
    for (let index = 0; index < 1000; index++) assert.equal((await get('/work')).status, 200);
    for (const [path, status] of [
      ['/late', 504],
      ['/taken', 200],
      ['/unknown', 404],
      ['/work', 200],
    ]) {
      assert.equal((await get(path)).status, status);
    }
    assert.deepEqual([connections, limiter.inflight, resilience.swallowed], [1, 0, 0]);
    for (const counts of seen) assert.deepEqual(counts, seen[0]);
    await turn();
    assert.deepEqual(held(socket), [0]);
    assert.deepEqual(warnings, []);
  });
});

forEachAdapter((adapter) => {
  test('hundreds of requests that end in every way, in every order, lose nothing', async (t) => {
    const random = randomNumbers(20_260);
    const pick = (choices) => choices[Math.floor(random() * choices.length)];
    const later = (act) => setTimeout(act, random() * 20);
    // Node.js 24 never closes the connection of a pipelined response that is destroyed before its turn.
    const destroy = (res) => (res.socket === null ? res.end() : res.destroy());
    const ends = {
      now: (res) => res.end('now'),
      later: (res) => later(() => res.end('later')),
      never: () => {},
      stream: (res) => {
        res.write('begin');
        later(() => res.end('end'));
      },
      destroy,
      'destroy-later': (res) => later(() => destroy(res)),
      throw: () => {
        throw new Error('thrown');
      },
      next: (_res, next) => later(() => next(new Error('passed on'))),
      hijack: (res) => res.socket?.end('HTTP/1.1 101 Hijacked\r\n\r\n'),
    };
    const pipeline = new ResiliencePipelineBuilder()
      .addConcurrencyLimiter({
        permitLimit: 4,
        queueLimit: 6,
        queueTimeout: 12,
        overflow: 'drop-lowest-priority',
        priority: ({ properties }) =>
          Number(adapter.requestOf(properties.get(HTTP_REQUEST)).headers['x-rank']),
      })
      .addTimeout(10)
      .build();
    let peak = 0;
    const { port, limiter } = await serve(t, adapter, {
      options: { pipeline },
      routes: {
        'GET /:end': (req, res, next) => {
          peak = Math.max(peak, limiter.inflight);
          ends[req.url.slice(1)](res, next);
        },
      },
    });
    const clients = [];
    for (let index = 0; index < 60; index++) {
      const client = await rawConnection(port);
      clients.push(new Promise((resolve) => client.socket.once('close', resolve)));
      for (let request = 0; request < 6; request++) {
        const leaves = request === 5 ? 'Connection: close\r\n' : '';
        client.get(`/${pick(Object.keys(ends))}`, `x-rank: ${pick([0, 1, 2])}\r\n${leaves}`);
        if (random() < 0.5) await turn();
      }
      if (random() < 0.3) later(() => client.socket.destroy());
      if (random() < 0.1) client.socket.resetAndDestroy();
    }
    await Promise.all(clients);
    await until(() => limiter.inflight + limiter.queued === 0);
    assert.ok(peak > 1 && peak <= 4, `${peak} at once`);
  });
});

/** Numbers from 0 to 1, the same in every run. */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

test('each HTTP/2 stream of a session is admitted, rejected, answered late or cancelled', async (t) => {
  const resilience = resilienceMiddleware({ timeout: 40, concurrency: { permitLimit: 1 } });
  const limiter = resilience.pipeline.getStrategy('ConcurrencyLimiter');
  const handled = [];
  const server = createHttp2Server((req, res) => {
    resilience(req, res, () => {
      handled.push({ res, signal: getResilienceSignal() });
      if (req.url === '/fast') res.end('fast');
      if (req.url === '/stream') res.write('part');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = connectHttp2(`http://127.0.0.1:${server.address().port}`);
  t.after(async () => {
    session.destroy();
    server.close();
    await once(server, 'close');
    assert.equal(thread.open, 0);
  });
  const get = (path) => session.request({ ':path': path });

  assert.deepEqual(await read(get('/fast')), [200, 'fast']);
  await until(() => limiter.inflight === 0);

  const stream = get('/stream');
  await until(() => handled.length === 2);
  const [status, text] = await read(get('/fast'));
  assert.deepEqual([status, JSON.parse(text).error], [503, 'BULKHEAD_FULL']);
  const aborted = deferred();
  handled[1].signal.addEventListener('abort', () => aborted.resolve(handled[1].signal.reason.name));
  stream.close();
  assert.equal(await aborted.promise, 'AbortError');
  assert.equal(limiter.inflight, 0);

  const late = await read(get('/slow'));
  assert.deepEqual([late[0], JSON.parse(late[1]).error], [504, 'TIMEOUT']);
  handled[2].res.end('late');
  assert.deepEqual([limiter.inflight, resilience.swallowed], [0, 1]);
  assert.deepEqual(await read(get('/fast')), [200, 'fast']);
});

async function read(stream) {
  const [headers] = await once(stream, 'response');
  stream.setEncoding('utf8');
  let text = '';
  for await (const chunk of stream) text += chunk;
  return [headers[':status'], text];
}
