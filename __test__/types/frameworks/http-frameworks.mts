import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import fastify, { type FastifyRequest } from 'fastify';
import { Hono, type Context as HonoContext } from 'hono';
import Koa, { type Context as KoaContext } from 'koa';
import type { ResiliencePipeline } from '@ylcnfrht/resilience';
import {
  fastifyResilience,
  honoResilience,
  koaResilience,
  withResilience,
  type Inbound,
} from '@ylcnfrht/resilience/http';
import { equal } from '../equal.mjs';

const limits = { timeout: '5s', concurrency: { permitLimit: 200 } } as const;

const app = fastify();
await app.register(fastifyResilience, limits);
await app.register(fastifyResilience, {
  rateLimit: {
    key: (request) => request.headers['x-api-key']?.toString() ?? request.ip,
    permitLimit: 1,
    window: '1m',
  },
  skip: (request) => request.url === '/healthz',
});
await app.register(fastifyResilience, {
  timeout: '5s',
  skip: (request: FastifyRequest) => request.hostname === 'internal',
});
// @ts-expect-error misspelled
await app.register(fastifyResilience, { time: '5s' });

const koa = new Koa();
const koaMiddleware = koaResilience({ ...limits, skip: (ctx) => ctx.path === '/healthz' });
koa.use(koaMiddleware);
koa.use(
  koaResilience({ ...limits, skip: (ctx: KoaContext) => ctx.hostname === 'internal' }),
);
// @ts-expect-error misspelled
koaResilience({ time: '5s' });

const hono = new Hono();
const honoMiddleware = honoResilience({
  rateLimit: { key: (c) => c.req.header('x-api-key'), permitLimit: 600, window: '1m' },
});
hono.use('*', honoMiddleware);
hono.get(
  '/work',
  honoResilience({ ...limits, skip: (c: HonoContext) => c.req.url.endsWith('/healthz') }),
  (c) => c.text('work'),
);
// @ts-expect-error misspelled
honoResilience({ time: '5s' });

const listener = withResilience((req, res) => res.end(req.url), {
  ...limits,
  skip: (req) => req.url === '/healthz',
});
createServer(listener);
createHttp2Server(listener);
// @ts-expect-error a listener is required
withResilience(limits);

for (const inbound of [koaMiddleware, honoMiddleware, listener] satisfies Inbound[]) {
  equal<typeof inbound.pipeline, ResiliencePipeline<any, any>>(true);
  equal<typeof inbound.swallowed, number>(true);
  inbound.dispose();
}
