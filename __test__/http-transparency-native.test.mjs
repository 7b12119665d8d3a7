// Handlers of Node's own request and response, which work close to the wire, and clients that leave: the bytes and
// the events are the same behind this package as without it.
import { abortCases, nativeCases } from './support/transparency-cases.mjs';
import { expressApps } from './support/transparency-express.mjs';
import { fastifyApps } from './support/transparency-fastify.mjs';
import { honoApps } from './support/transparency-hono.mjs';
import { koaApps } from './support/transparency-koa.mjs';
import { nodeApp } from './support/transparency-node.mjs';
import { ALL, compare } from './support/transparency-variants.mjs';

compare(nodeApp, [...nativeCases, ...abortCases], ALL);
for (const [present, previous] of [expressApps, fastifyApps, koaApps, honoApps]) {
  compare(present, [...nativeCases, ...abortCases], ['protect() and the adapter']);
  compare(previous, abortCases, ['the adapter, for whole responses']);
}
