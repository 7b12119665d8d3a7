// The interceptor over real connections, with undici's own clients.
import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createServer2 } from 'node:http2';
import { Readable, Writable } from 'node:stream';
import test from 'node:test';
import { Agent, MockAgent, fetch, interceptors, request, stream } from 'undici';
import {
  ResiliencePipelineBuilder,
  getResilienceSignal,
  isTransient,
  standardPipeline,
} from '@ylcnfrht/resilience';
import { resilienceInterceptor, withResilience } from '@ylcnfrht/resilience/http';
import { deferred } from './support/deferred.mjs';
import { hold, rejection, turn } from './support/hold.mjs';

const LARGE = Buffer.alloc(4 * 1024 * 1024);
const builder = () => new ResiliencePipelineBuilder();
const retrying = (options) =>
  builder()
    .addRetry({ delay: 0, maxRetryAttempts: 5, shouldHandle: isTransient, ...options })
    .build();

/** A server that is asked, and counts. `listener` gets the number of the request, from 1 on. */
async function serve(t, listener) {
  const served = { requests: 0, connections: 0, open: 0, headers: [] };
  const server = createServer((req, res) => {
    served.requests += 1;
    served.headers.push(req.headers);
    listener(served.requests, req, res);
  }).listen(0, '127.0.0.1');
  server.on('connection', (socket) => {
    served.connections += 1;
    served.open += 1;
    socket.on('close', () => (served.open -= 1));
  });
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  served.server = server;
  served.url = `http://127.0.0.1:${server.address().port}`;
  return served;
}

function compose(t, pipeline, options, { connections = 1, ...more } = {}) {
  const agent = new Agent({ connections, ...more });
  t.after(() => agent.destroy());
  return agent.compose(resilienceInterceptor(pipeline, options));
}

/** Answers 503 to every request but each third. */
const thirdTime = (count, _req, res) => {
  if (count % 3 !== 0) res.statusCode = 503;
  res.setHeader('x-count', count);
  res.end(`answer ${count}`);
};

test('request: 503, 503, 200 over one connection, which is reused', async (t) => {
  const server = await serve(t, thirdTime);
  const dispatcher = compose(t, retrying());
  for (let calls = 1; calls <= 5; calls += 1) {
    const { statusCode, headers, body } = await request(server.url, { dispatcher });
    assert.deepEqual([statusCode, headers['x-count']], [200, String(calls * 3)]);
    assert.equal(await body.text(), `answer ${calls * 3}`);
  }
  assert.deepEqual([server.requests, server.connections], [15, 1]);
});

test('fetch and stream, too', async (t) => {
  const server = await serve(t, thirdTime);
  const dispatcher = compose(t, retrying());
  const response = await fetch(server.url, { dispatcher });
  assert.deepEqual([response.status, await response.text()], [200, 'answer 3']);
  const chunks = [];
  await stream(server.url, { dispatcher, method: 'GET' }, ({ statusCode }) => {
    assert.equal(statusCode, 200);
    return new Writable({ write: (chunk, _encoding, done) => done(null, chunks.push(chunk) && undefined) });
  });
  assert.equal(Buffer.concat(chunks).toString(), 'answer 6');
});

test('the last response is the result when all attempts are used up', async (t) => {
  const server = await serve(t, (_count, _req, res) => {
    res.statusCode = 503;
    res.end('busy');
  });
  const { statusCode, body } = await request(server.url, { dispatcher: compose(t, retrying()) });
  assert.deepEqual([statusCode, await body.text(), server.requests], [503, 'busy', 6]);
});

test('a pool of one connection is not exhausted by responses that are large, or never end', async (t) => {
  const server = await serve(t, (count, _req, res) => {
    if (count % 3 === 0) return res.end(LARGE);
    res.statusCode = 503;
    return count % 3 === 1 ? res.end(LARGE) : res.write('and so on');
  });
  const dispatcher = compose(t, retrying());
  for (let calls = 0; calls < 3; calls += 1) {
    const { statusCode, body } = await request(server.url, { dispatcher });
    assert.deepEqual([statusCode, (await body.arrayBuffer()).byteLength], [200, LARGE.length]);
  }
  assert.equal(server.requests, 9);
});

test('standardPipeline: Retry-After, and the budget of each attempt', async (t) => {
  const times = [];
  const server = await serve(t, (count, _req, res) => {
    times.push(performance.now());
    if (count === 1) res.writeHead(429, { 'Retry-After': '1' });
    res.end();
  });
  const pipeline = standardPipeline({ totalTimeout: '5s', attemptTimeout: '4500ms', retry: { delay: 1 } });
  const { statusCode } = await request(server.url, { dispatcher: compose(t, pipeline) });
  assert.equal(statusCode, 200);
  assert.ok(times[1] - times[0] >= 999, `${times[1] - times[0]} ms`);
  const [first, second] = server.headers.map((headers) => Number(headers['x-request-timeout-ms']));
  assert.ok(first > 0 && first <= 4500, `${first} ms`);
  assert.ok(second > 0 && second <= 4001, `${second} ms`);
});

for (const [name, options, requests] of [
  ['GET', {}, 6],
  ['PUT with a string', { method: 'PUT', body: 'text' }, 6],
  ['PUT with bytes', { method: 'PUT', body: Buffer.from('text') }, 6],
  ['DELETE', { method: 'DELETE' }, 6],
  ['PUT with a stream', { method: 'PUT', body: () => Readable.from(['text']) }, 1],
  ['PUT with an iterable', { method: 'PUT', body: () => [Buffer.from('text')].values() }, 1],
  ['POST', { method: 'POST', body: 'text' }, 1],
  ['PATCH', { method: 'PATCH', body: 'text' }, 1],
  ['POST with a key', { method: 'POST', body: 'text', headers: { 'Idempotency-Key': '1' } }, 6],
  ['POST with a key in a list', { method: 'POST', headers: ['a', 'b', 'idempotency-key', '1'] }, 6],
  ['POST with a key in a map', { method: 'POST', headers: new Map([['Idempotency-Key', '1']]) }, 6],
  ['POST with a key as a value', { method: 'POST', headers: ['a', 'idempotency-key'] }, 1],
]) {
  test(`${name} is sent ${requests === 1 ? 'once' : 'again'}`, async (t) => {
    const server = await serve(t, (_count, req, res) => {
      res.statusCode = 503;
      req.resume().on('end', () => res.end());
    });
    const body = typeof options.body === 'function' ? options.body() : options.body;
    const pipeline = builder()
      .addTimeout('20s')
      .addRetry({ delay: 0, maxRetryAttempts: 5, shouldHandle: isTransient })
      .build();
    const dispatcher = compose(t, pipeline);
    const { statusCode } = await request(server.url, { ...options, body, dispatcher });
    assert.deepEqual([statusCode, server.requests], [503, requests]);
    for (const headers of server.headers) {
      assert.match(headers['x-request-timeout-ms'], /^\d+$/);
      if (/with a key(?! as)/.test(name)) assert.equal(headers['idempotency-key'], '1');
    }
  });
}

test('deadlineHeader: another name, none, or the one that is there', async (t) => {
  const server = await serve(t, (_count, _req, res) => res.end());
  const pipeline = builder().addTimeout('20s').build();
  const sent = async (options, headers) => {
    const { body } = await request(server.url, { dispatcher: compose(t, pipeline, options), headers });
    await body.dump();
    return server.headers.pop();
  };
  assert.match((await sent({ deadlineHeader: 'X-Budget' }))['x-budget'], /^\d+$/);
  assert.equal((await sent({ deadlineHeader: false }))['x-request-timeout-ms'], undefined);
  assert.equal((await sent({}, { 'X-Request-Timeout-Ms': '7' }))['x-request-timeout-ms'], '7');
  assert.equal((await sent({}, ['x-request-timeout-ms', '7']))['x-request-timeout-ms'], '7');
});

test('hedging: the fast one wins, the slow one is aborted', async (t) => {
  const server = await serve(t, (count, _req, res) => {
    if (count === 2) res.end('fast');
  });
  const pipeline = builder().addHedging({ delay: 5 }).build();
  const { body } = await request(server.url, { dispatcher: compose(t, pipeline, {}, { connections: 2 }) });
  assert.equal(await body.text(), 'fast');
  while (server.open > 1) await turn();
});

test('a timeout rejects with its error, and ends the connection', async (t) => {
  const server = await serve(t, () => {});
  const dispatcher = compose(t, builder().addTimeout(50).build());
  assert.equal((await rejection(request(server.url, { dispatcher }))).code, 'TIMEOUT');
  while (server.open > 0) await turn();
  const error = await rejection(fetch(server.url, { dispatcher }));
  assert.equal(error.cause.code, 'TIMEOUT');
});

test('a connection that is refused is retried, and then its error', async (t) => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const url = `http://127.0.0.1:${closed.address().port}`;
  closed.close();
  await once(closed, 'close');
  let retries = 0;
  const dispatcher = compose(t, retrying({ onRetry: () => (retries += 1) }));
  assert.equal((await rejection(request(url, { dispatcher }))).code, 'ECONNREFUSED');
  assert.equal(retries, 5);
});

test('a request that waits for its permit can be aborted', async (t) => {
  const server = await serve(t, () => {});
  const pipeline = builder().addConcurrencyLimiter(1, 1).build();
  const held = hold(pipeline);
  const controller = new AbortController();
  const dispatcher = compose(t, pipeline);
  const waiting = rejection(request(server.url, { dispatcher, signal: controller.signal }));
  await turn();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  assert.equal(limiter.queued, 1);
  const reason = new Error('enough');
  controller.abort(reason);
  assert.equal(limiter.queued, 0);
  assert.equal(await waiting, reason);
  held.finish();
  await held.promise;
  assert.equal(server.requests, 0);
});

test('aborted before it starts, while it runs, and while its body is read', async (t) => {
  const server = await serve(t, (_count, _req, res) => res.write('first'));
  const dispatcher = compose(t, standardPipeline());
  const reason = new Error('enough');
  assert.equal(await rejection(request(server.url, { dispatcher, signal: AbortSignal.abort(reason) })), reason);
  assert.equal(server.requests, 0);

  const silent = await serve(t, () => running.resolve());
  const running = deferred();
  const first = new AbortController();
  const result = rejection(request(silent.url, { dispatcher, signal: first.signal }));
  await running.promise;
  first.abort(reason);
  assert.equal(await result, reason);
  while (silent.open > 0) await turn();
  assert.equal(silent.requests, 1);

  const second = new AbortController();
  const { body } = await request(server.url, { dispatcher, signal: second.signal });
  const text = rejection(body.text());
  second.abort(reason);
  assert.equal(await text, reason);
  while (server.open > 0) await turn();
});

test('a body is streamed: past the deadlines, and no faster than it is read', async (t) => {
  const written = deferred();
  const server = await serve(t, async (_count, _req, res) => {
    let sent = 0;
    while (sent < 64 && res.write(LARGE)) sent += 1;
    if (sent < 64) written.resolve('held back');
    await once(res, 'drain');
    res.end();
  });
  const dispatcher = compose(t, builder().addTimeout(100).build());
  const { body } = await request(server.url, { dispatcher });
  assert.equal(await written.promise, 'held back');
  const started = performance.now();
  while (performance.now() - started < 120) await turn();
  let received = 0;
  for await (const chunk of body) received += chunk.length;
  assert.ok(received >= LARGE.length);
});

test('an enclosing execution aborts the reading of a body, and keeps nothing of one that was read', async (t) => {
  const server = await serve(t, (count, _req, res) => (count <= 10 ? res.end('all') : res.write('first')));
  const dispatcher = compose(t, standardPipeline());
  const outer = builder().addTimeout(500).build();
  const error = await rejection(
    outer.execute(async () => {
      const signal = getResilienceSignal();
      for (let calls = 0; calls < 10; calls += 1) {
        await (await request(server.url, { dispatcher })).body.text();
      }
      assert.equal(getEventListeners(signal, 'abort').length, 0);
      return (await request(server.url, { dispatcher })).body.text();
    }),
  );
  assert.equal(error.code, 'TIMEOUT');
  while (server.open > 0) await turn();
});

test('from an inbound request to an outbound one, the budget shrinks', async (t) => {
  const behind = await serve(t, (_count, _req, res) => res.end('found'));
  const dispatcher = compose(t, standardPipeline());
  const inbound = withResilience(async (_req, res) => {
    res.end(await (await request(behind.url, { dispatcher })).body.text());
  }, { timeout: '8s' });
  const front = await serve(t, (_count, req, res) => inbound(req, res));
  assert.equal(await (await request(front.url, { dispatcher: compose(t, builder().build()) })).body.text(), 'found');
  const budget = Number(behind.headers[0]['x-request-timeout-ms']);
  assert.ok(budget > 0 && budget <= 8000, `${budget} ms`);
});

test('an upgrade and a CONNECT pass by the pipeline', async (t) => {
  const server = await serve(t, () => {});
  for (const event of ['upgrade', 'connect']) {
    server.server.on(event, (_req, socket) => {
      socket.resume().on('end', () => socket.end());
      socket.write(
        event === 'connect'
          ? 'HTTP/1.1 200 OK\r\n\r\nhello'
          : 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nhello',
      );
    });
  }
  const pipeline = builder().build();
  const dispatcher = compose(t, pipeline);
  pipeline.dispose();
  for (const open of [
    () => dispatcher.upgrade({ origin: server.url, path: '/', protocol: 'echo' }),
    () => dispatcher.connect({ origin: server.url, path: 'example.test:80' }),
  ]) {
    const { socket } = await open();
    assert.equal(String((await once(socket, 'data'))[0]), 'hello');
    socket.destroy();
  }
  assert.equal((await rejection(request(server.url, { dispatcher }))).code, 'PIPELINE_DISPOSED');
});

test('informational responses come with the response that is taken', async (t) => {
  const server = await serve(t, (count, _req, res) => {
    res.writeEarlyHints({ link: `</${count}.css>; rel=preload` });
    if (count === 1) res.statusCode = 503;
    res.end();
  });
  const seen = [];
  const dispatcher = compose(t, retrying());
  const { statusCode } = await request(server.url, { dispatcher, onInfo: (info) => seen.push(info) });
  assert.equal(statusCode, 200);
  assert.deepEqual(
    seen.map((info) => [info.statusCode, info.headers.link]),
    [[103, '</2.css>; rel=preload']],
  );
});

test('the value of a fallback is no response: the request fails, and says why', async (t) => {
  const server = await serve(t, thirdTime);
  const pipeline = builder().addFallback({ fallbackValue: { statusCode: 200 }, shouldHandle: isTransient }).build();
  const error = await rejection(request(server.url, { dispatcher: compose(t, pipeline) }));
  assert.equal(error.name, 'TypeError');
  assert.equal(
    error.message,
    'the pipeline of resilienceInterceptor must give a response of its own dispatcher',
  );
});

test('beside other interceptors, inside and outside', async (t) => {
  const server = await serve(t, (_count, req, res) => {
    if (req.url === '/') res.writeHead(302, { location: '/found' }).end();
    else if (server.requests % 3 !== 0) res.writeHead(503).end('busy');
    else res.end('found');
  });
  const agent = new Agent({ connections: 1 });
  t.after(() => agent.destroy());
  const redirect = interceptors.redirect({ maxRedirections: 3 });
  const own = resilienceInterceptor(retrying());
  for (const composed of [agent.compose(redirect, own), agent.compose(own, redirect)]) {
    server.requests = 0;
    const { statusCode, body, context } = await request(server.url, { dispatcher: composed });
    assert.deepEqual([statusCode, await body.text()], [200, 'found']);
    assert.equal(context.history.at(-1).pathname, '/found');
  }
  const dumped = agent.compose(own, interceptors.dump(), interceptors.cache());
  const { statusCode } = await request(`${server.url}/found`, { dispatcher: dumped });
  assert.equal(statusCode, 200);
});

test('HTTP/2: one stream is given up, and not the connection', async (t) => {
  let requests = 0;
  let sessions = 0;
  const server = createServer2((_req, res) => {
    requests += 1;
    if (requests % 3 !== 0) {
      res.writeHead(503);
      res.write('and so on');
    } else {
      res.end(`answer ${requests}`);
    }
  });
  server.on('session', (session) => {
    sessions += 1;
    t.after(() => session.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const dispatcher = compose(t, retrying(), {}, { allowH2: true, useH2c: true });
  for (let calls = 1; calls <= 3; calls += 1) {
    const { body } = await request(`http://127.0.0.1:${server.address().port}`, { dispatcher });
    assert.equal(await body.text(), `answer ${calls * 3}`);
  }
  assert.deepEqual([requests, sessions], [9, 1]);
});

test('a MockAgent, which does not wait for anybody', async () => {
  const mock = new MockAgent();
  mock.disableNetConnect();
  const pool = mock.get('http://mock.test');
  for (const status of [503, 200]) pool.intercept({ path: '/' }).reply(status, `status ${status}`);
  const dispatcher = mock.compose(resilienceInterceptor(retrying()));
  const { statusCode, body } = await request('http://mock.test/', { dispatcher });
  assert.deepEqual([statusCode, await body.text()], [200, 'status 200']);
  mock.assertNoPendingInterceptors();
});
