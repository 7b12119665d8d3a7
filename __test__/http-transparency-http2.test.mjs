// Over HTTP/2, by the compatibility API of Node.js, clients and applications see the same behind this package as
// without it.
import { fastifyApps } from './support/transparency-fastify.mjs';
import { honoApps } from './support/transparency-hono.mjs';
import { abortCases, frameworkCases, http2, nativeCases } from './support/transparency-http2.mjs';
import { koaApps } from './support/transparency-koa.mjs';
import { nodeApp } from './support/transparency-node.mjs';
import { STRICTEST, compare } from './support/transparency-variants.mjs';

compare({ ...nodeApp, name: 'node:http2' }, [...nativeCases, ...abortCases], STRICTEST, http2);
for (const apps of [fastifyApps, koaApps, honoApps]) {
  for (const app of apps) compare(app, frameworkCases, ['protect() and the adapter'], http2);
  compare(apps[0], abortCases.slice(0, abortCases.length / 3), STRICTEST, http2);
}
