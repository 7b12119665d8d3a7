// Headers that a middleware before ours has set in its framework's own way are those of a refusal too: without
// Access-Control-Allow-Origin, a browser cannot read it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import test from 'node:test';
import { getRequestListener } from '@hono/node-server';
import fastify from 'fastify';
import { Hono } from 'hono';
import { fastifyResilience, honoResilience } from '@ylcnfrht/resilience/http';

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
