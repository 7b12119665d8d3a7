import { text } from 'node:stream/consumers';
import fastify5 from 'fastify';
import fastify4 from 'fastify4';
import { fastifyResilience } from '@ylcnfrht/resilience/http';

const fastifyAdapter = (name, fastify) => ({
  name,
  fastify,
  requestOf: (subject) => subject.raw,
  // A reply that was taken from the framework is not written to.
  lateFailureWrites: 0,
  async create({ options, routes = {}, answers = {}, before = [], after = [], also = [], onError }) {
    const app = fastify();
    const hook = (middleware) =>
      app.addHook('onRequest', (request, reply, done) => middleware(request.raw, reply.raw, done));
    for (const middleware of before) hook(middleware);
    await app.register(fastifyResilience, options);
    const resilience = app.resilience;
    for (const each of also) await app.register(fastifyResilience, each);
    for (const middleware of after) hook(middleware);
    if (onError !== undefined) app.setErrorHandler((error, _request, reply) => send(reply, onError(error)));
    // A handler of Node.js reads the request itself.
    const parse = Object.keys(routes).length > 0 ? (_request, _payload, done) => done(null) : parseText;
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', parse);
    for (const [route, handler] of Object.entries(routes)) {
      const [method, url] = route.split(' ');
      app.route({
        method,
        url,
        handler(request, reply) {
          // As long as nothing is returned nor sent, the reply is waited for.
          handler(request.raw, reply.raw, (error) => {
            if (error === undefined) reply.callNotFound();
            else reply.send(error);
          });
        },
      });
    }
    for (const [route, answer] of Object.entries(answers)) {
      const [method, url] = route.split(' ');
      app.route({
        method,
        url,
        handler(request, reply) {
          const body = async () => request.body ?? '';
          const answered = answer({ req: request.raw, res: reply.raw, subject: request, body });
          if (typeof answered?.then !== 'function') return send(reply, answered);
          return answered.then((value) => send(reply, value));
        },
      });
    }
    await app.ready();
    return { app, listener: (req, res) => app.routing(req, res), resilience, others: [] };
  },
});

const parseText = (_request, payload) => text(payload);

function send(reply, { status = 200, headers = {}, text: string, json, stream }) {
  return reply.code(status).headers(headers).send(stream ?? json ?? string);
}

export const fastifyAdapters = [fastifyAdapter('Fastify 5', fastify5), fastifyAdapter('Fastify 4', fastify4)];
