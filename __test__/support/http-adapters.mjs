// The frameworks that the HTTP contract is tested with.
//
// An adapter makes a request listener of options and routes. A route is `'GET /path'` with a handler of one of
// two kinds:
//
// - in `routes` a handler of Node.js, `(req, res, next)`, which takes the response over from its framework;
// - in `answers` a function of a call, `{ req, res, subject, body() }`, that returns or promises its answer:
//   `{ status = 200, headers = {}, text | json | stream }`. Each adapter says that in its framework's own way.
//
// `before` and `after` take middlewares of Node.js, `(req, res, next)`, `also` the options of admissions inside
// the first one, and `onError` is what the framework's own handler of errors answers.
import { describe } from 'node:test';
import { expressAdapters } from './http-adapters-express.mjs';
import { fastifyAdapters } from './http-adapters-fastify.mjs';
import { honoAdapters } from './http-adapters-hono.mjs';
import { koaAdapters } from './http-adapters-koa.mjs';
import { http2Adapter, nodeAdapter } from './http-adapters-node.mjs';

/** Those that a client of HTTP/1.1 can talk to. */
export const http1Adapters = [
  ...expressAdapters,
  ...fastifyAdapters,
  ...koaAdapters,
  ...honoAdapters,
  nodeAdapter,
];
export const allAdapters = [...http1Adapters, http2Adapter];
export { expressAdapters };

/** Runs a suite once for each adapter. */
export function forEachAdapter(suite, adapters = http1Adapters) {
  for (const adapter of adapters) describe(adapter.name, { timeout: 60_000 }, () => suite(adapter));
}
