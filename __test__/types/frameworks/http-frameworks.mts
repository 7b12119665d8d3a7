import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import fastify, { type FastifyRequest } from 'fastify';
import { Hono, type Context as HonoContext } from 'hono';
import Koa, { type Context as KoaContext } from 'koa';
import type { ResiliencePipeline } from '@ylcnfrht/resilience';
import {
  fastifyResilience,
  honoErrors,
  honoResilience,
  koaErrors,
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
await app.register(fastifyResilience, {
  ...limits,
  errors: true,
  skip: (request) => request.hostname === 'internal' || request.routeOptions.url === '/healthz',
  onRejected: ({ request, error }) => request.log.warn({ code: error.code }, 'refused'),
  shouldDrop: ({ request, statusCode }) => {
    equal<typeof request, FastifyRequest>(true);
    return statusCode === 503;
  },
});
equal<typeof app.resilience, Inbound>(true);
const inFlight: number | undefined = app.resilience.pipeline.getStrategy('ConcurrencyLimiter')?.inflight;
app.get('/', async (request) => ({ inFlight, swallowed: request.server.resilience.swallowed }));
// @ts-expect-error misspelled
await app.register(fastifyResilience, { time: '5s' });
// @ts-expect-error not a boolean
await app.register(fastifyResilience, { ...limits, errors: 'yes' });

const koa = new Koa();
const koaMiddleware = koaResilience({ ...limits, skip: (ctx) => ctx.path === '/healthz' });
koa.use(koaErrors());
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
hono.onError(honoErrors());
hono.onError(honoErrors({ problemDetails: true, onError: (error, c) => c.text(error.message, 500) }));
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
