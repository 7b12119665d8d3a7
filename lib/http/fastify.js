'use strict';

// Fastify 5 and 4: a plugin, whose hook stands before every route of the instance that it is registered on.

const { readOptions, typeError } = require('../options.js');
const { Admission } = require('./admission.js');
const { BODY_HEADERS, answerOf } = require('./answer.js');
const { isOwnAbort, rejectionIn } = require('./handler-errors.js');
const { INBOUND } = require('./inbound-options.js');
const { cutOff } = require('./respond.js');

const FASTIFY = {
  where: 'fastifyResilience',
  // Fastify respects `trustProxy`.
  addressOf: (/** @type {any} */ request) => request.ip,
};

const OPTIONS = /** @type {const} */ ([...INBOUND, 'errors']);

/**
 * @param {any} fastify
 * @param {unknown} options `InboundOptions`.
 */
async function fastifyResilience(fastify, options) {
  const { errors = false, ...limits } = readOptions(FASTIFY.where, options, OPTIONS);
  if (typeof errors !== 'boolean') throw typeError('errors', 'a boolean', errors);
  const admission = new Admission(FASTIFY, limits);
  admission.serves(fastify.server);
  if (errors) fastify.setErrorHandler(answerErrors(admission));
  /** @type {(request: any, reply: any, next: any) => void} */
  const onRequest = (request, reply, next) => {
    admission.admit({
      req: request.raw,
      res: reply.raw,
      subject: request,
      handle: () => void next(),
      fail: next,
      headers: () => Object.entries(reply.getHeaders()),
      answered: () => reply.hijack(),
      aborted: () => muffle(request.raw, reply),
    });
  };
  fastify.addHook('onRequest', onRequest);
  fastify.addHook('onRoute', (/** @type {any} */ route) => {
    const { handler } = route;
    /** @this {unknown} @param {any} request @param {any} reply */
    route.handler = function handle(request, reply) {
      const handled = Reflect.apply(handler, this, [request, reply]);
      admission.follow(request.raw, handled);
      return handled;
    };
  });
  // While the server still answers: those that wait are told.
  fastify.addHook('preClose', (/** @type {() => void} */ closed) => {
    admission.dispose();
    closed();
  });
  // An instance may have several; the first one is found on it.
  if (!fastify.hasDecorator('resilience')) fastify.decorate('resilience', admission.expose({}));
}

/**
 * A handler of errors that answers the rejection of a pipeline as a refusal. Everything else goes on to the one around
 * it.
 *
 * @param {import('./answer.js').Manner} manner
 */
function answerErrors({ problemDetails }) {
  return (/** @type {any} */ error, /** @type {any} */ request, /** @type {any} */ reply) => {
    const rejection = rejectionIn(error);
    if (rejection === undefined) throw error;
    if (reply.raw.headersSent) {
      request.log.error({ err: error }, 'the response has begun: its connection is closed');
      cutOff(request.raw, reply.raw);
      reply.hijack();
      return;
    }
    const { statusCode, headers, body } = answerOf(rejection, { problemDetails });
    for (const name of BODY_HEADERS) reply.removeHeader(name);
    // As bytes: Fastify would change the type of a text.
    reply.code(statusCode).headers(headers).send(Buffer.from(body));
  };
}

/**
 * From the abort of a request on, what its handler fails by because of that is not sent to anyone, nor logged.
 *
 * @param {any} raw
 * @param {any} reply
 */
function muffle(raw, reply) {
  const { send, log } = reply;
  reply.send = (/** @type {unknown[]} */ ...args) => {
    if (!(args[0] instanceof Error) || !isOwnAbort(raw, args[0])) return Reflect.apply(send, reply, args);
    reply.hijack();
    return reply;
  };
  // A made-up reply may have none.
  if (typeof log?.error !== 'function') return;
  // A handler that fails after its reply was taken away is logged, and nothing else.
  const error = (/** @type {any[]} */ ...args) => {
    if (!isOwnAbort(raw, args[0]?.err)) Reflect.apply(log.error, log, args);
  };
  reply.log = Object.create(log, { error: { value: error, writable: true, configurable: true } });
}

// What the package fastify-plugin sets: the hook belongs to the instance that registers the plugin, and not to
// one below it.
Object.assign(fastifyResilience, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: '@ylcnfrht/resilience',
  [Symbol.for('plugin-meta')]: { name: '@ylcnfrht/resilience', fastify: '>=4' },
});

module.exports = { fastifyResilience };
