// The frameworks that the HTTP contract is tested with.
//
// An adapter makes a request listener of options and routes. A route is `'GET /path'` with a handler
// `(req, res, next)`, which uses what Node.js gives every framework; `before` and `after` take middlewares.
import { describe } from 'node:test';
import express5 from 'express';
import express4 from 'express4';
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';

const expressAdapter = (name, express) => ({
  name,
  express,
  create({ options, routes, before = [], after = [] }) {
    const app = express();
    // Otherwise the default error handler prints every error that a test provokes.
    app.set('env', 'test');
    const resilience = resilienceMiddleware(options);
    for (const middleware of [...before, resilience, ...after]) app.use(middleware);
    for (const [route, handler] of Object.entries(routes)) {
      const [method, path] = route.split(' ');
      app[method.toLowerCase()](path, handler);
    }
    return { app, listener: app, resilience };
  },
});

export const expressAdapters = [expressAdapter('Express 5', express5), expressAdapter('Express 4', express4)];

/** Runs a suite once for each adapter. */
export function forEachAdapter(suite, adapters = expressAdapters) {
  for (const adapter of adapters) describe(adapter.name, { timeout: 60_000 }, () => suite(adapter));
}
