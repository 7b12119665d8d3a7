// The same server in each framework: a health check that is never refused, and a route that needs the dependency.
//
// Each takes the options of the package's adapter, or undefined for an unprotected server, and the route's work,
// which gives false when the request has been answered in its place.
import { createServer } from 'node:http';
import {
  fastifyResilience,
  honoResilience,
  koaResilience,
  resilienceMiddleware,
  withResilience,
} from '@ylcnfrht/resilience/http';

/** @typedef {(options: any, work: () => Promise<boolean>) => Promise<{ server: any, resilience: any }>} Create */

const DONE = { done: true };

/** @type {Record<string, Create>} */
export const frameworks = {
  async express(options, work) {
    const { default: express } = await import('express');
    const app = express();
    app.get('/healthz', (_req, res) => res.send('ok'));
    const resilience = options && resilienceMiddleware(options);
    if (resilience) app.use(resilience);
    app.get('/work', async (_req, res) => {
      if (await work()) res.json(DONE);
      // Tells that nothing goes on for a client that is gone.
      else res.end();
    });
    return { server: createServer(app), resilience };
  },

  async fastify(options, work) {
    const { default: fastify } = await import('fastify');
    const app = fastify();
    if (options) await app.register(fastifyResilience, { ...options, skip: (request) => request.url === '/healthz' });
    app.get('/healthz', async () => 'ok');
    app.get('/work', async (_request, reply) => ((await work()) ? DONE : reply));
    await app.ready();
    return { server: app.server, resilience: app.resilience };
  },

  async koa(options, work) {
    const { default: Koa } = await import('koa');
    const app = new Koa();
    const resilience = options && koaResilience({ ...options, skip: (ctx) => ctx.path === '/healthz' });
    if (resilience) app.use(resilience);
    app.use(async (ctx) => {
      if (ctx.path === '/healthz') ctx.body = 'ok';
      else if (ctx.path === '/work' && (await work())) ctx.body = DONE;
    });
    return { server: createServer(app.callback()), resilience };
  },

  async hono(options, work) {
    const [{ Hono }, { getRequestListener }] = await Promise.all([import('hono'), import('@hono/node-server')]);
    const app = new Hono();
    app.get('/healthz', (c) => c.text('ok'));
    const resilience = options && honoResilience(options);
    if (resilience) app.use(resilience);
    app.get('/work', async (c) => ((await work()) ? c.json(DONE) : c.body(null)));
    return { server: createServer(getRequestListener(app.fetch)), resilience };
  },

  async 'node:http'(options, work) {
    const json = (res, body) => res.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    const listener = async (req, res) => {
      if (req.url === '/healthz') res.end('ok');
      else if (await work()) json(res, DONE);
    };
    const resilience = options && withResilience(listener, { ...options, skip: ({ url }) => url === '/healthz' });
    return { server: createServer(resilience ?? listener), resilience };
  },
};
