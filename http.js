'use strict';

// The second public entry: names and nothing else. The contract is http.d.ts.

const { HTTP_REQUEST } = require('./lib/http/admission.js');
const { resilienceMiddleware } = require('./lib/http/express.js');
const { fastifyResilience } = require('./lib/http/fastify.js');
const { honoResilience } = require('./lib/http/hono.js');
const { koaResilience } = require('./lib/http/koa.js');
const { withResilience } = require('./lib/http/node.js');

module.exports.HTTP_REQUEST = HTTP_REQUEST;
module.exports.fastifyResilience = fastifyResilience;
module.exports.honoResilience = honoResilience;
module.exports.koaResilience = koaResilience;
module.exports.resilienceMiddleware = resilienceMiddleware;
module.exports.withResilience = withResilience;
