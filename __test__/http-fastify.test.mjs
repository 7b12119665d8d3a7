// What only Fastify has: plugins, hooks, inject, close.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder, getResilienceContext, getResilienceSignal } from '@ylcnfrht/resilience';
import { fastifyResilience } from '@ylcnfrht/resilience/http';
import { fastifyAdapters } from './support/http-adapters-fastify.mjs';
import { forEachAdapter } from './support/http-adapters.mjs';
import { send } from './support/http-client.mjs';
import { DISPOSED, FULL, LATE, assertAnswer, deferred, listen, until } from './support/http-server.mjs';

forEachAdapter(({ fastify }) => {
  /** An application with one route whose replies the test gives, and a limit of one. */
  async function app(options = { concurrency: { permitLimit: 1, queueLimit: 1 } }) {
    const instance = fastify();
    await instance.register(fastifyResilience, options);
    const held = [];
    instance.get('/work', (_request, reply) => {
      held.push(reply);
    });
    await instance.ready();
    const limiter = instance.resilience.pipeline.getStrategy('ConcurrencyLimiter');
    return { instance, held, limiter };
  }
  const serve = async (t, instance) =>
    (await listen(t, (req, res) => instance.routing(req, res), instance.resilience)).address().port;

  test('inject: served, queued and refused', async () => {
    const { instance, held, limiter } = await app();
    const first = instance.inject('/work');
    await until(() => held.length === 1);
    const second = instance.inject('/work');
    await until(() => limiter.queued === 1);
    const { statusCode: status, headers, ...refused } = await instance.inject('/work');
    assertAnswer({ status, headers, json: refused.json() }, 503, 'BULKHEAD_FULL', FULL);
    held[0].send('first');
    assert.equal((await first).body, 'first');
    await until(() => held.length === 2);
    held[1].send({ second: true });
    assert.deepEqual((await second).json(), { second: true });
    assert.deepEqual([limiter.inflight, limiter.queued], [0, 0]);
    await instance.close();
  });

  test('inject: past its deadline', async () => {
    const { instance, held } = await app({ timeout: 20, rateLimit: { permitLimit: 1, window: '1h' } });
    const late = await instance.inject('/work');
    assertAnswer({ status: late.statusCode, headers: late.headers, json: late.json() }, 504, 'TIMEOUT', LATE);
    held[0].send('late');
    assert.equal((await instance.inject('/work')).statusCode, 429);
    await instance.close();
  });

  test('close answers those that wait, and lets the running finish', async () => {
    const { instance, held, limiter } = await app();
    const url = new URL(await instance.listen({ port: 0, host: '127.0.0.1' }));
    const first = send(url.port, '/work');
    await until(() => held.length === 1);
    const second = send(url.port, '/work');
    await until(() => limiter.queued === 1);
    const closed = instance.close();
    assertAnswer(await second.response, 503, 'BULKHEAD_FULL', DISPOSED);
    held[0].send('first');
    assert.equal((await first.response).text, 'first');
    await closed;
    assert.deepEqual([limiter.inflight, limiter.queued, held.length], [0, 0, 1]);
  });

  test('it stands before the routes of its own instance and those below, and not of others', async (t) => {
    const instance = fastify();
    instance.get('/healthz', async () => 'ok');
    let inside;
    await instance.register(async (child) => {
      await child.register(fastifyResilience, { concurrency: { permitLimit: 1 } });
      inside = child;
      child.get('/work', async () => String(getResilienceContext() !== undefined));
      await child.register(async (grandchild) => {
        grandchild.get('/below', async () => String(getResilienceContext() !== undefined));
      });
    });
    await instance.ready();
    assert.equal(instance.hasDecorator('resilience'), false);
    const { port } = (
      await listen(t, (req, res) => instance.routing(req, res), inside.resilience)
    ).address();
    assert.equal((await send(port, '/work').response).text, 'true');
    assert.equal((await send(port, '/below').response).text, 'true');
    inside.resilience.dispose();
    assert.equal((await send(port, '/work').response).status, 503);
    assert.equal((await send(port, '/healthz').response).text, 'ok');
    assert.equal((await send(port, '/unknown').response).status, 404);
  });

  test('its other hooks see every answer, with its status', async (t) => {
    const instance = fastify();
    const statuses = [];
    const held = deferred();
    instance.addHook('onResponse', async (_request, reply) => {
      statuses.push(reply.statusCode);
    });
    await instance.register(fastifyResilience, { timeout: 300, concurrency: { permitLimit: 1 } });
    instance.get('/work', () => held.promise);
    await instance.ready();
    const limiter = instance.resilience.pipeline.getStrategy('ConcurrencyLimiter');
    const port = await serve(t, instance);
    const late = send(port, '/work');
    await until(() => limiter.inflight === 1);
    assert.equal((await send(port, '/work').response).status, 503);
    assert.equal((await late.response).status, 504);
    held.resolve('late');
    await until(() => statuses.length === 2);
    assert.deepEqual(statuses, [503, 504]);
  });

  test('a handler that hijacks its reply gives its permit back when it ends the response', async (t) => {
    const instance = fastify();
    await instance.register(fastifyResilience, { timeout: '5s', concurrency: { permitLimit: 1 } });
    instance.get('/work', (_request, reply) => {
      reply.hijack();
      reply.raw.end('hijacked');
    });
    instance.get('/socket', (_request, reply) => {
      reply.hijack();
      reply.raw.socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nraw');
    });
    await instance.ready();
    const port = await serve(t, instance);
    for (let index = 0; index < 3; index++) {
      assert.equal((await send(port, '/work').response).text, 'hijacked');
      assert.equal((await send(port, '/socket').response).text, 'raw');
    }
  });

  test('a streaming parser of its own reads in the context of the request', async (t) => {
    const instance = fastify();
    await instance.register(fastifyResilience, { timeout: '5s', concurrency: { permitLimit: 1 } });
    const seen = [];
    instance.addContentTypeParser('application/x-parts', (request, payload, done) => {
      let size = 0;
      payload.on('data', (chunk) => {
        size += chunk.length;
        seen.push(getResilienceContext() === getResilienceContext(request));
      });
      payload.on('end', () => done(null, size));
    });
    instance.post('/work', async (request) => {
      seen.push(getResilienceContext() === getResilienceContext(request));
      return { size: request.body, aborted: getResilienceSignal().aborted };
    });
    await instance.ready();
    const port = await serve(t, instance);
    const { json } = await send(port, '/work', {
      method: 'POST',
      headers: { 'content-type': 'application/x-parts' },
      body: (request) => {
        request.write('one ');
        setImmediate(() => request.end('two'));
      },
    }).response;
    assert.deepEqual(json, { size: 7, aborted: false });
    assert.ok(seen.length >= 2 && seen.every(Boolean), String(seen));
  });

  test('a body that Fastify refuses gives its permit back', async (t) => {
    const strict = fastify({ bodyLimit: 4 });
    await strict.register(fastifyResilience, { concurrency: { permitLimit: 1 } });
    strict.post('/work', async () => 'done');
    await strict.ready();
    const port = await serve(t, strict);
    const ask = (body, type = 'application/json') =>
      send(port, '/work', { method: 'POST', body, headers: { 'content-type': type } }).response;
    assert.equal((await ask('{')).status, 400);
    assert.equal((await ask('[1, 2, 3]')).status, 413);
    assert.equal((await ask('x', 'application/x-unknown')).status, 415);
    assert.equal((await ask('{}')).text, 'done');
    const limiter = strict.resilience.pipeline.getStrategy('ConcurrencyLimiter');
    await until(() => limiter.inflight === 0);
  });

  test('two registrations on one instance: both count', async (t) => {
    const instance = fastify();
    await instance.register(fastifyResilience, { name: 'one', rateLimit: { permitLimit: 9, window: '1h' } });
    const first = instance.resilience;
    const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).build();
    await instance.register(fastifyResilience, { pipeline });
    assert.equal(instance.resilience, first);
    const inflight = deferred();
    instance.get('/work', async () => {
      inflight.resolve(pipeline.getStrategy('ConcurrencyLimiter').inflight);
      return 'done';
    });
    await instance.ready();
    const port = await serve(t, instance);
    const { headers } = await send(port, '/work').response;
    assert.deepEqual([headers['ratelimit-remaining'], await inflight.promise], ['8', 1]);
    await until(() => pipeline.getStrategy('ConcurrencyLimiter').inflight === 0);
  });

  test('options that make no sense fail its registration', async () => {
    const instance = fastify();
    await assert.rejects(async () => instance.register(fastifyResilience, {}), {
      name: 'TypeError',
      message: /^fastifyResilience needs timeout/,
    });
  });
}, fastifyAdapters);
