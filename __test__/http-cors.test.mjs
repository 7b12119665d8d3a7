// Headers that a middleware before ours has set in its framework's own way are those of a refusal too: without
// Access-Control-Allow-Origin, a browser cannot read it.
//
// A preflight takes no permit of a rate limit; a cap on requests in flight treats it as any other.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import test from 'node:test';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { fastifyResilience, honoResilience, protect, resilienceMiddleware } from '@ylcnfrht/resilience/http';
import { allAdapters, forEachAdapter } from './support/http-adapters.mjs';
import { FULL, assertAnswer, deferred, listen, serve, until } from './support/http-server.mjs';
import { send as sendTo } from './support/http-client.mjs';

const ORIGIN = 'https://shop.example';
const options = { rateLimit: { permitLimit: 1, window: '1h' } };

async function statuses(server) {
  const { port } = server.address();
  const seen = [];
  for (let call = 0; call < 2; call++) {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    seen.push([response.status, response.headers.get('access-control-allow-origin'), await response.text()]);
  }
  return seen;
}

const REFUSED = JSON.stringify({
  statusCode: 429,
  error: 'RATE_LIMITED',
  message: 'The client has used up its quota.',
});

test('Fastify', async (t) => {
  const app = fastify();
  t.after(() => app.close());
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('access-control-allow-origin', ORIGIN);
  });
  await app.register(fastifyResilience, options);
  app.get('/', async () => 'ok');
  await app.listen({ host: '127.0.0.1', port: 0 });
  assert.deepEqual(await statuses(app.server), [
    [200, ORIGIN, 'ok'],
    [429, ORIGIN, REFUSED],
  ]);
});

test('Hono', async (t) => {
  const app = new Hono();
  app.use(async (c, next) => {
    c.header('access-control-allow-origin', ORIGIN);
    await next();
  });
  app.use(honoResilience(options));
  app.get('/', (c) => c.text('ok'));
  const server = createServer(getRequestListener(app.fetch)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  assert.deepEqual(await statuses(server), [
    [200, ORIGIN, 'ok'],
    [429, ORIGIN, REFUSED],
  ]);
});

/** What a browser sends in advance of a request of another origin's page. */
const PREFLIGHT = {
  method: 'OPTIONS',
  headers: { origin: ORIGIN, 'access-control-request-method': 'PUT' },
};

forEachAdapter((adapter) => {
  const answers = {
    'GET /work': () => ({ text: 'work' }),
    'OPTIONS /work': ({ res }) => ({ status: 204, headers: { 'x-quota': String(res.getHeader('ratelimit')) } }),
  };

  test('a preflight takes no permit of a rate limit, and is told no quota', async (t) => {
    const { send, resilience } = await serve(t, adapter, { options, answers });
    for (let call = 0; call < 3; call++) {
      const { status, headers } = await send('/work', PREFLIGHT).response;
      assert.deepEqual([status, headers['x-quota'], headers.ratelimit], [204, 'undefined', undefined]);
    }
    assert.equal(resilience.pipeline.getStrategy('RateLimiter').keys, 0);
    assert.equal((await send('/work').response).status, 200);
    assert.equal((await send('/work').response).status, 429);
    // Also of a client that has none left.
    assert.equal((await send('/work', PREFLIGHT).response).status, 204);
  });

  for (const [name, request] of [
    ['an OPTIONS of no other origin', { method: 'OPTIONS' }],
    ['an OPTIONS with an Origin alone', { method: 'OPTIONS', headers: { origin: ORIGIN } }],
    [
      'an OPTIONS with a wanted method alone',
      { method: 'OPTIONS', headers: { 'access-control-request-method': 'PUT' } },
    ],
    ['a GET with the headers of a preflight', { headers: PREFLIGHT.headers }],
  ]) {
    test(`${name} is counted`, async (t) => {
      const { send } = await serve(t, adapter, { options, answers });
      assert.notEqual((await send('/work', request).response).status, 429);
      assert.equal((await send('/work', request).response).status, 429);
    });
  }

  test('the key of a preflight is not asked for', async (t) => {
    const asked = [];
    const key = (subject) => {
      asked.push(adapter.requestOf(subject).method);
      return 'one';
    };
    const { send } = await serve(t, adapter, { options: { rateLimit: { ...options.rateLimit, key } }, answers });
    await send('/work', PREFLIGHT).response;
    await send('/work').response;
    assert.deepEqual(asked, ['GET']);
  });

  test('a cap on requests in flight refuses a preflight as any other request', async (t) => {
    const { promise, resolve } = deferred();
    let running = 0;
    const slow = async () => {
      running += 1;
      await promise;
      return { text: 'slow' };
    };
    const { send } = await serve(t, adapter, {
      options: { ...options, concurrency: { permitLimit: 1 } },
      answers: { 'OPTIONS /work': slow },
    });
    const first = send('/work', PREFLIGHT).response;
    await until(() => running === 1);
    assertAnswer(await send('/work', PREFLIGHT).response, 503, 'BULKHEAD_FULL', FULL);
    resolve();
    assert.equal((await first).status, 200);
  });
}, allAdapters);

test('protect() takes no permit of a rate limit for a preflight either', async (t) => {
  const server = createServer((_req, res) => res.end('served'));
  const inbound = protect(server, options);
  t.after(() => inbound.dispose());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address();
  const status = async (request) => (await sendTo(port, '/', request).response).status;
  assert.deepEqual([await status(PREFLIGHT), await status(PREFLIGHT)], [200, 200]);
  assert.deepEqual([await status({}), await status({}), await status(PREFLIGHT)], [200, 429, 200]);
});

test('a page can read what a refusal tells it, where CORS goes first and exposes the headers', async (t) => {
  const exposed = ['Retry-After', 'RateLimit', 'RateLimit-Policy'];
  const app = new Hono();
  app.use(cors({ origin: ORIGIN, exposeHeaders: exposed }));
  app.use(honoResilience({ ...options, headers: 'draft-8' }));
  app.get('/', (c) => c.text('ok'));
  const server = createServer(getRequestListener(app.fetch)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address();
  const headers = { origin: ORIGIN };
  assert.equal((await sendTo(port, '/', { headers }).response).status, 200);
  const refused = await sendTo(port, '/', { headers }).response;
  assert.equal(refused.status, 429);
  assert.equal(refused.headers['access-control-allow-origin'], ORIGIN);
  assert.equal(refused.headers['access-control-expose-headers'], exposed.join(','));
  for (const name of exposed) assert.ok(refused.headers[name.toLowerCase()], name);
  assert.equal((await sendTo(port, '/', PREFLIGHT).response).status, 204);
});

test('behind a limiter that goes first, preflights of Express reach what answers them', async (t) => {
  const resilience = resilienceMiddleware(options);
  const app = express();
  app.use(resilience);
  app.use((req, res, next) => {
    res.set('access-control-allow-origin', ORIGIN);
    if (req.method === 'OPTIONS') res.sendStatus(204);
    else next();
  });
  app.get('/', (_req, res) => res.send('ok'));
  const { port } = (await listen(t, app, resilience)).address();
  for (let call = 0; call < 2; call++) assert.equal((await sendTo(port, '/', PREFLIGHT).response).status, 204);
  assert.equal((await sendTo(port, '/').response).status, 200);
  assert.equal((await sendTo(port, '/').response).status, 429);
});
