// One server of http.mjs, in a process of its own: tells its port, and on request the processor time it has used.

import { createServer } from 'node:http';

import {
  fastifyResilience,
  honoResilience,
  koaResilience,
  protect,
  resilienceMiddleware,
  withResilience,
} from '../http.js';

const options = { timeout: '5s', concurrency: { permitLimit: 1000, queueLimit: 100 } };
const body = JSON.stringify({ hello: 'world' });

async function express(use) {
  const { default: make } = await import('express');
  const app = make();
  await use?.(app);
  app.get('/', (_req, res) => res.type('json').send(body));
  return createServer(app);
}

async function fastify(use) {
  const { default: make } = await import('fastify');
  const app = make();
  await use?.(app);
  app.get('/', (_request, reply) => reply.type('application/json').send(body));
  await app.ready();
  return app.server;
}

async function koa(use) {
  const { default: Koa } = await import('koa');
  const app = new Koa();
  use?.(app);
  app.use((ctx) => {
    ctx.type = 'json';
    ctx.body = body;
  });
  return createServer(app.callback());
}

async function hono(use) {
  const [{ Hono }, { getRequestListener }] = await Promise.all([import('hono'), import('@hono/node-server')]);
  const app = new Hono();
  use?.(app);
  app.get('/', (c) => c.body(body, 200, { 'content-type': 'application/json' }));
  return createServer(getRequestListener(app.fetch));
}

const listener = (_req, res) => res.writeHead(200, { 'content-type': 'application/json' }).end(body);

/** One request holds the only permit. */
const full = { concurrency: { permitLimit: 1 } };
const held = (_req, res) => res.flushHeaders();
const message = 'The service is at capacity and its queue is full.';
const refusal = JSON.stringify({ statusCode: 503, error: 'BULKHEAD_FULL', message });

/** The bytes of this package's refusals. */
function refuseByHand(_req, res) {
  res.writeHead(503, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'ratelimit-policy': '"http";q=1;qu="concurrent-requests"',
    'retry-after': '1',
    'content-length': refusal.length,
  });
  res.end(refusal);
}

async function fullExpress(use) {
  const { default: make } = await import('express');
  const app = make();
  use?.(app);
  app.use(held);
  return createServer(app);
}

const SERVERS = {
  'refused, node:http, by hand': () => createServer(refuseByHand),
  'refused, node:http, withResilience': () => createServer(withResilience(held, full)),
  'refused, Express, protect()': async () => {
    const server = await fullExpress();
    protect(server, full);
    return server;
  },
  'refused, Express, middleware by hand': () => fullExpress((app) => app.use(refuseByHand)),
  'refused, Express, middleware': () => fullExpress((app) => app.use(resilienceMiddleware(full))),
  'node:http, bare': () => createServer(listener),
  'node:http, this package': () => createServer(withResilience(listener, options)),
  'Express, bare': () => express(),
  'Express, this package': () => express((app) => app.use(resilienceMiddleware(options))),
  'Express, express-rate-limit': () =>
    express(async (app) => {
      const { rateLimit } = await import('express-rate-limit');
      app.use(rateLimit({ windowMs: 3_600_000, limit: 1e9, validate: false }));
    }),
  'Express, overload-protection': () =>
    express(async (app) => {
      const { default: protect } = await import('overload-protection');
      app.use(protect('express', { production: true, clientRetrySecs: 1 }));
    }),
  'Fastify, bare': () => fastify(),
  'Fastify, this package': () => fastify((app) => app.register(fastifyResilience, options)),
  'Fastify, @fastify/under-pressure': () =>
    fastify(async (app) => {
      const { default: underPressure } = await import('@fastify/under-pressure');
      await app.register(underPressure, { maxEventLoopDelay: 10_000 });
    }),
  'Koa, bare': () => koa(),
  'Koa, this package': () => koa((app) => app.use(koaResilience(options))),
  'Hono, bare': () => hono(),
  'Hono, this package': () => hono((app) => app.use(honoResilience(options))),
};

const server = await SERVERS[process.argv[2]]();
// The servers take turns.
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send(user + system);
});
process.on('disconnect', () => process.exit());
