// What frameworks answer in their own ways is byte for byte the same behind this package as without it, and
// applications see the same events.
import { frameworkCases } from './support/transparency-cases.mjs';
import { expressApps } from './support/transparency-express.mjs';
import { fastifyApps } from './support/transparency-fastify.mjs';
import { honoApps } from './support/transparency-hono.mjs';
import { koaApps } from './support/transparency-koa.mjs';
import { ALL, STRICTEST, compare } from './support/transparency-variants.mjs';

for (const app of [...expressApps, ...fastifyApps, ...koaApps, ...honoApps]) {
  compare(app, frameworkCases, app === expressApps[0] ? ALL : STRICTEST);
}
