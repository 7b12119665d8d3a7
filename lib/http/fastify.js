'use strict';

// Fastify 5 and 4: a plugin, whose hook stands before every route of the instance that it is registered on.

const { Admission } = require('./admission.js');

const FASTIFY = {
  where: 'fastifyResilience',
  // Fastify respects `trustProxy`.
  addressOf: (/** @type {any} */ request) => request.ip,
};

/**
 * @param {any} fastify
 * @param {unknown} options `InboundOptions`.
 */
async function fastifyResilience(fastify, options) {
  const admission = new Admission(FASTIFY, options);
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
    });
  };
  fastify.addHook('onRequest', onRequest);
  // While the server still answers: those that wait are told.
  fastify.addHook('preClose', (/** @type {() => void} */ closed) => {
    admission.dispose();
    closed();
  });
  // An instance may have several; the first one is found on it.
  if (!fastify.hasDecorator('resilience')) fastify.decorate('resilience', admission.expose({}));
}

// What the package fastify-plugin sets: the hook belongs to the instance that registers the plugin, and not to
// one below it.
Object.assign(fastifyResilience, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: '@ylcnfrht/resilience',
  [Symbol.for('plugin-meta')]: { name: '@ylcnfrht/resilience', fastify: '>=4' },
});

module.exports = { fastifyResilience };
