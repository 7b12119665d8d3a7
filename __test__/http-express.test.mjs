// What only Express has: routers, error handlers, several middlewares on one route.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { ResiliencePipelineBuilder, getResilienceContext, getResilienceSignal } from '@ylcnfrht/resilience';
import { HTTP_REQUEST, resilienceMiddleware } from '@ylcnfrht/resilience/http';
import { expressAdapters, forEachAdapter } from './support/http-adapters.mjs';
import { oneConnection, rawConnection, send } from './support/http-client.mjs';
import { FULL, LATE, assertAnswer, deferred, listen, serve, turn, until } from './support/http-server.mjs';

forEachAdapter((adapter) => {
  const { express } = adapter;
  const options = { timeout: '5s', concurrency: { permitLimit: 1, queueLimit: 1 } };
  const fails = () => Object.assign(new Error('secret'), { status: 500, expose: false });

  for (const [how, handler] of [
    [
      'throws',
      () => {
        throw fails();
      },
    ],
    ['passes an error on', (_req, _res, next) => next(fails())],
    ['passes an error on later', (_req, _res, next) => setImmediate(next, fails())],
    // Express 4 leaves rejections to the handler.
    ['rejects', (_req, _res, next) => Promise.reject(fails()).catch(next)],
    ...(adapter.name === 'Express 5' ? [['rejects, and that is all', () => Promise.reject(fails())]] : []),
  ]) {
    test(`a handler that ${how} gives its permit back once its error is answered`, async (t) => {
      const { send, limiter } = await serve(t, adapter, { options, routes: { 'GET /work': handler } });
      for (let index = 0; index < 3; index++) {
        assert.equal((await send('/work').response).status, 500);
        assert.equal(limiter.inflight, 0);
      }
    });
  }

  test('an error handler of the application answers errors, in the context of the request', async (t) => {
    const contexts = [];
    const { app, send, limiter } = await serve(t, adapter, {
      options,
      routes: {
        'GET /work': (_req, _res, next) => {
          contexts.push(getResilienceContext());
          next(fails());
        },
      },
    });
    app.use((error, _req, res, _next) => {
      contexts.push(getResilienceContext());
      res.status(error.status).json({ told: error.message });
    });
    assert.deepEqual((await send('/work').response).json, { told: 'secret' });
    assert.equal(contexts[0], contexts[1]);
    assert.equal(limiter.inflight, 0);
  });

  test('an error handler that destroys answered connections does not after the deadline', async (t) => {
    const late = deferred();
    const answered = deferred();
    const { app, server, send, resilience } = await serve(t, adapter, {
      options: { timeout: 20 },
      routes: {
        'GET /late': async (_req, _res, next) => {
          await late.promise;
          next(fails());
        },
        'GET /next': (_req, res) => res.send('next'),
      },
    });
    app.use((_error, req, res, _next) => {
      if (res.headersSent) req.socket.destroy();
      else res.status(500).set('x-late', '1').json({ late: true });
      answered.resolve();
    });
    let connections = 0;
    server.on('connection', () => connections++);
    const agent = oneConnection();
    t.after(() => agent.destroy());
    assertAnswer(await send('/late', { agent }).response, 504, 'TIMEOUT', LATE);
    late.resolve();
    await answered.promise;
    assert.equal((await send('/next', { agent }).response).text, 'next');
    assert.deepEqual([connections, resilience.swallowed], [1, 1]);
  });

  for (const [how, answer] of [
    ['json', (res) => res.status(200).json({ late: true })],
    ['send', (res) => res.type('text').send('late')],
    ['redirect', (res) => res.redirect('/elsewhere')],
    ['sendStatus', (res) => res.sendStatus(200)],
    ['cookie and send', (res) => res.cookie('late', '1').vary('x').append('x', 'y').send('late')],
    ['sendFile', (res) => new Promise((resolve) => res.sendFile(fileURLToPath(import.meta.url), resolve))],
  ]) {
    test(`res.${how} after the deadline is swallowed`, async (t) => {
      const late = deferred();
      const done = deferred();
      const { send, resilience } = await serve(t, adapter, {
        options: { timeout: 20 },
        routes: {
          'GET /late': async (_req, res) => {
            await late.promise;
            try {
              done.resolve(await answer(res));
            } catch (error) {
              done.reject(error);
            }
          },
          'GET /next': (_req, res) => res.send('next'),
        },
      });
      const agent = oneConnection();
      t.after(() => agent.destroy());
      assertAnswer(await send('/late', { agent }).response, 504, 'TIMEOUT', LATE);
      late.resolve();
      await done.promise;
      assert.equal((await send('/next', { agent }).response).text, 'next');
      // A file is given up before it is read.
      assert.equal(resilience.swallowed, how === 'sendFile' ? 0 : 1);
    });
  }

  test('two middlewares on one route: both count, and both permits come back', async (t) => {
    const global = resilienceMiddleware({ timeout: '5s', concurrency: { permitLimit: 2 } });
    const route = resilienceMiddleware({ timeout: '5s', concurrency: { permitLimit: 1, queueLimit: 1 } });
    const limits = [global, route].map(({ pipeline }) => pipeline.getStrategy('ConcurrencyLimiter'));
    const inflight = () => limits.map((limit) => limit.inflight);
    const held = [];
    const app = express();
    app.use(global);
    app.get('/work', route, (_req, res) => held.push(res));
    const { port } = (await listen(t, app, global, route)).address();
    const first = send(port, '/work');
    await until(() => held.length === 1);
    const second = send(port, '/work');
    await until(() => limits[1].queued === 1);
    assert.deepEqual(inflight(), [2, 1]);
    assertAnswer(await send(port, '/work').response, 503, 'BULKHEAD_FULL', FULL);
    held[0].end();
    await until(() => held.length === 2);
    assert.deepEqual(inflight(), [1, 1]);
    held[1].end();
    assert.deepEqual([(await first.response).status, (await second.response).status], [200, 200]);
    assert.deepEqual(inflight(), [0, 0]);
    route.dispose();
    const rejected = await send(port, '/work').response;
    assertAnswer(rejected, 503, 'PIPELINE_DISPOSED', 'The service is shutting down.');
    assert.deepEqual(inflight(), [0, 0]);
  });

  for (const [which, timeouts] of [
    ['outer', [20, '5s']],
    ['inner', ['5s', 20]],
    ['running outer and the queued inner', [20, 20]],
  ]) {
    test(`two middlewares on one route: the ${which} deadline answers one 504`, async (t) => {
      const concurrency = { permitLimit: 1 };
      const layers = timeouts.map((timeout) => resilienceMiddleware({ timeout, concurrency }));
      const late = deferred();
      const acted = deferred();
      const abort = deferred();
      const app = express();
      app.get('/work', ...layers, async (_req, res) => {
        const signal = getResilienceSignal();
        signal.addEventListener('abort', () => abort.resolve(signal.reason));
        await late.promise;
        res.send('late');
        acted.resolve();
      });
      app.get('/next', (_req, res) => res.send('next'));
      const { port } = (await listen(t, app, ...layers)).address();
      const client = await rawConnection(port);
      client.get('/work');
      await client.receive('Gateway Timeout');
      for (const { pipeline } of layers) assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 0);
      const { code, timeout } = await abort.promise;
      assert.deepEqual([code, timeout], ['TIMEOUT', 20]);
      late.resolve();
      await acted.promise;
      client.get('/next');
      const received = await client.receive('next');
      assert.equal(received.split('HTTP/1.1').length, 3);
      assert.equal(layers[0].swallowed + layers[1].swallowed, 1);
      client.socket.destroy();
    });
  }

  test('a request that waits at the inner middleware ends at the outer deadline', async (t) => {
    const outer = resilienceMiddleware({ timeout: 30 });
    const inner = resilienceMiddleware({ concurrency: { permitLimit: 1, queueLimit: 1 } });
    const limit = inner.pipeline.getStrategy('ConcurrencyLimiter');
    const held = [];
    const app = express();
    app.get('/work', outer, inner, (_req, res) => {
      res.flushHeaders();
      held.push(res);
    });
    const { port } = (await listen(t, app, outer, inner)).address();
    const first = send(port, '/work');
    await until(() => held.length === 1);
    assertAnswer(await send(port, '/work').response, 504, 'TIMEOUT', LATE);
    assert.deepEqual([limit.inflight, limit.queued, held.length], [1, 0, 1]);
    held[0].end();
    assert.equal((await first.response).status, 200);
  });

  test('a client that leaves two middlewares behind frees both', async (t) => {
    const layers = [resilienceMiddleware(options), resilienceMiddleware(options)];
    const running = deferred();
    const app = express();
    app.get('/work', ...layers, (req) => running.resolve(getResilienceContext(req).signal));
    const { port } = (await listen(t, app, ...layers)).address();
    const client = await rawConnection(port);
    client.get('/work');
    const signal = await running.promise;
    const aborted = once(signal, 'abort');
    client.socket.destroy();
    await aborted;
    assert.equal(signal.reason.name, 'AbortError');
    for (const { pipeline } of layers) assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 0);
  });

  test('two middlewares on one route share the properties of their contexts', async (t) => {
    const layers = [resilienceMiddleware(options), resilienceMiddleware(options)];
    const app = express();
    const setUser = (_req, _res, next) => {
      getResilienceContext().properties.set('user', 'ada');
      next();
    };
    app.get('/work', layers[0], setUser, layers[1], (_req, res) => {
      const { properties } = getResilienceContext();
      res.send(`${properties.get('user')} ${properties.has(HTTP_REQUEST)}`);
    });
    const { port } = (await listen(t, app, ...layers)).address();
    assert.equal((await send(port, '/work').response).text, 'ada true');
  });

  test('the same middleware on the app, a router and a route takes one permit', async (t) => {
    const thrice = resilienceMiddleware({
      timeout: '5s',
      concurrency: { permitLimit: 1, queueLimit: 10 },
      rateLimit: { permitLimit: 3, window: '1h' },
    });
    const limit = thrice.pipeline.getStrategy('ConcurrencyLimiter');
    const router = express.Router();
    router.use(thrice);
    router.get('/work', thrice, (_req, res) => res.send(String(limit.inflight)));
    const app = express();
    app.use(thrice);
    app.use('/api', router);
    const { port } = (await listen(t, app, thrice)).address();
    const { text, headers } = await send(port, '/api/work').response;
    assert.deepEqual([text, headers['ratelimit-remaining']], ['1', '2']);
    await until(() => limit.inflight === 0);
  });

  test('a late handler that goes on to the same middleware is not counted again', async (t) => {
    const twice = resilienceMiddleware({ timeout: 20, rateLimit: { permitLimit: 3, window: '1h' } });
    const passed = deferred();
    const app = express();
    app.use(twice);
    app.use((req, _res, next) => getResilienceContext(req).signal.addEventListener('abort', () => next()));
    app.use(twice, (_req, res) => {
      res.send('late');
      passed.resolve();
    });
    const { port } = (await listen(t, app, twice)).address();
    assertAnswer(await send(port, '/').response, 504, 'TIMEOUT', LATE);
    await passed.promise;
    assert.equal(twice.pipeline.getStrategy('RateLimiter').availableFor('127.0.0.1'), 2);
  });

  test('a mounted router with a pipeline of its own, and a health check before it', async (t) => {
    const pipeline = new ResiliencePipelineBuilder({ name: 'reports' }).addConcurrencyLimiter(1).build();
    const reports = resilienceMiddleware({ pipeline });
    assert.equal(reports.pipeline, pipeline);
    const held = [];
    const app = express();
    app.get('/healthz', (_req, res) => res.send('ok'));
    const router = express.Router();
    router.get('/large', (_req, res) => held.push(res));
    app.use('/reports', reports, router);
    const { port } = (await listen(t, app, reports)).address();
    const first = send(port, '/reports/large');
    await until(() => held.length === 1);
    assertAnswer(await send(port, '/reports/large').response, 503, 'BULKHEAD_FULL', FULL);
    assert.equal((await send(port, '/healthz').response).text, 'ok');
    held[0].send('report');
    assert.equal((await first.response).text, 'report');
  });

  test('a handler behind a body parser has its context', async (t) => {
    const { send } = await serve(t, adapter, {
      after: [express.json()],
      options,
      routes: {
        'POST /work': (req, res) => {
          res.end(JSON.stringify([req.body, getResilienceContext() === getResilienceContext(req)]));
        },
      },
    });
    const headers = { 'content-type': 'application/json' };
    const body = (request) => {
      request.write('{ "a":');
      setImmediate(() => request.end('1 }'));
    };
    const { text } = await send('/work', { method: 'POST', headers, body }).response;
    assert.equal(text, '[{"a":1},true]');
  });
}, expressAdapters);
