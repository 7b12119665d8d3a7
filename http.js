'use strict';

// The second public entry: names and nothing else. The contract is http.d.ts.

const { HTTP_REQUEST } = require('./lib/http/admission.js');
const { addressKey } = require('./lib/http/client-address.js');
const { expressErrors, resilienceMiddleware } = require('./lib/http/express.js');
const { fastifyResilience } = require('./lib/http/fastify.js');
const { honoErrors, honoResilience } = require('./lib/http/hono.js');
const { koaErrors, koaResilience } = require('./lib/http/koa.js');
const { protect } = require('./lib/http/protect.js');
const { resilientFetch } = require('./lib/http/resilient-fetch.js');
const { resilienceInterceptor } = require('./lib/http/undici.js');
const { withResilience } = require('./lib/http/node.js');

module.exports.HTTP_REQUEST = HTTP_REQUEST;
module.exports.addressKey = addressKey;
module.exports.expressErrors = expressErrors;
module.exports.fastifyResilience = fastifyResilience;
module.exports.honoErrors = honoErrors;
module.exports.honoResilience = honoResilience;
module.exports.koaErrors = koaErrors;
module.exports.koaResilience = koaResilience;
module.exports.protect = protect;
module.exports.resilienceInterceptor = resilienceInterceptor;
module.exports.resilienceMiddleware = resilienceMiddleware;
module.exports.resilientFetch = resilientFetch;
module.exports.withResilience = withResilience;
