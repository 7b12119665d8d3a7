import fastify5 from 'fastify';
import fastify4 from 'fastify4';
import { fastifyResilience } from '@ylcnfrht/resilience/http';
import { runNative } from './transparency-native.mjs';
import { describe, note } from './transparency-recorder.mjs';
import { failingStream, openFile, openNothing, teapot } from './transparency-source.mjs';

const HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler', 'preSerialization', 'onSend'];

const fastifyApp = (name, fastify) => ({
  name,
  dropsAborts: true,
  async create(options, createServer) {
    const app = fastify({ serverFactory: createServer, http2: createServer.isHttp2, bodyLimit: 1000 });
    if (options) await app.register(fastifyResilience, options);
    for (const hook of HOOKS) {
      app.addHook(hook, async (_request, reply) => note(`${hook} ${reply.statusCode} ${reply.sent}`));
    }
    app.addHook('onResponse', async (request, reply) => {
      note(`onResponse ${reply.statusCode} ${reply.sent}`);
      note(`${Object.keys(request)}; ${Object.keys(reply)}`);
    });
    app.addHook('onError', async (_request, _reply, error) => note(`onError ${describe(error)}`));
    app.addHook('onRequestAbort', async (request) => note(`onRequestAbort ${request.raw.destroyed}`));
    await app.register(async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
      scope.all('/native/*', (request, reply) => {
        reply.hijack();
        runNative(request.raw, reply.raw);
      });
    });
    addAnswers(app);
    addFailures(app, fastify);
    await app.ready();
    return { server: app.server, resilience: app.resilience, close: () => app.close() };
  },
});

function addAnswers(app) {
  app.get('/text', async () => 'hello');
  app.get('/json', (_request, reply) => reply.send({ hello: 'world' }));
  app.get('/buffer', async () => Buffer.from('bytes'));
  app.get('/stream', (_request, reply) => reply.type('application/json').send(openFile()));
  app.get('/file', async (_request, reply) => reply.header('last-modified', 'never').send(openFile()));
  app.get('/redirect', (_request, reply) => reply.redirect('/text'));
  app.get('/cookies', async (_request, reply) =>
    reply.header('set-cookie', 'a=1').header('set-cookie', 'b=2').send('set'),
  );
  app.get('/repeated', async (_request, reply) => reply.code(202).header('x-many', ['1', '2']).send('many'));
  app.get('/empty', async (_request, reply) => reply.code(204).send());
  app.get('/trailers', async (_request, reply) => {
    reply.trailer('x-sum', async (_reply, payload) => String(payload?.length));
    return 'sum me';
  });
  app.get('/response', async () => new Response('from a Response', { status: 203, headers: { 'x-a': '1' } }));
  app.get('/raw', (request, reply) => {
    reply.hijack();
    reply.raw.end(`raw ${request.id}`);
  });
  app.get('/params/:id', async (request) => [request.params, request.query, request.ip, request.hostname]);
  app.post('/json', async (request) => request.body);
  app.post('/text', async (request) => request.body);
  app.post('/form', async (request) => request.body);
}

function addFailures(app, fastify) {
  app.get('/throws', () => {
    throw new Error('thrown');
  });
  app.get('/rejects', async () => {
    await null;
    throw teapot();
  });
  app.get('/fails', (_request, reply) => void setImmediate(() => reply.send(new Error('passed on'))));
  app.get('/http-error', async (_request, reply) => reply.code(418).send(teapot()));
  app.get('/skips', (_request, reply) => reply.callNotFound());
  // Of Fastify 4 it is an unhandled rejection.
  if (fastify === fastify5) {
    app.get('/throws-late', async (_request, reply) => {
      reply.raw.write('begun');
      throw new Error('thrown late');
    });
  }
  app.get('/throws-after-end', async (_request, reply) => {
    reply.send('done');
    throw new Error('thrown after the end');
  });
  app.get('/failing-stream', (_request, reply) => reply.send(failingStream()));
  app.get('/no-stream', (_request, reply) => reply.send(openNothing()));
}

export const fastifyApps = [fastifyApp('Fastify 5', fastify5), fastifyApp('Fastify 4', fastify4)];
