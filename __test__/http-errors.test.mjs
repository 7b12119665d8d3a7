// What a framework's handler of errors does with the rejection of a pipeline that a handler has called, and with what
// a handler fails by because its own request was aborted.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttp2Server } from 'node:http2';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, test } from 'node:test';
import { getRequestListener as getRequestListener2 } from '@hono/node-server';
import express5 from 'express';
import express4 from 'express4';
import fastify5 from 'fastify';
import fastify4 from 'fastify4';
import { Hono as Hono4 } from 'hono';
import { Hono as Hono3 } from 'hono3';
import Koa3 from 'koa';
import Koa2 from 'koa2';
import { getRequestListener as getRequestListener1 } from 'node-server1';
import {
  CircuitBreakerManualControl,
  ResiliencePipelineBuilder,
  getResilienceSignal,
} from '@ylcnfrht/resilience';
import {
  expressErrors,
  fastifyResilience,
  honoErrors,
  honoResilience,
  koaErrors,
  koaResilience,
  resilienceMiddleware,
  withResilience,
} from '@ylcnfrht/resilience/http';
import { hold, rejection } from './support/hold.mjs';
import { rawConnection, send } from './support/http-client.mjs';
import { listen, turn, until } from './support/http-server.mjs';
import { sendHttp2 } from './support/http2-client.mjs';

const LIMITS = { concurrency: { permitLimit: 10 } };

// Each makes a server of a handler, `(signal) => value | promise`, that is called by `GET /`, and of a `begin`, which
// fails by an error after the response has begun. `log` is what the framework logs.

const express = (name, express) => ({
  name,
  async create(t, { handler, limits = LIMITS, options, withErrors = true }) {
    const log = logged(t);
    const app = express();
    const resilience = resilienceMiddleware(limits);
    app.use((_req, res, next) => {
      res.set({ 'access-control-allow-origin': '*', 'content-encoding': 'x-none' });
      next();
    });
    app.use(resilience);
    app.get('/', (_req, res, next) => {
      Promise.resolve(handler()).then((value) => res.removeHeader('content-encoding') ?? res.send(value), next);
    });
    app.get('/begun', (_req, res, next) => {
      res.write('half');
      next(handler.error);
    });
    if (withErrors) app.use(expressErrors(options));
    return { log, listener: app, resilience };
  },
});

const fastify = (name, fastify) => ({
  name,
  async create(t, { handler, limits = LIMITS, options, withErrors = true }) {
    const log = [];
    const write = (line) => {
      const { level, err } = JSON.parse(line);
      if (level >= 40) log.push(err?.message);
    };
    const app = fastify({ logger: { stream: { write } } });
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('access-control-allow-origin', '*');
    });
    await app.register(fastifyResilience, { ...limits, ...options, errors: withErrors });
    app.get('/', async () => handler());
    app.get('/begun', async (_request, reply) => {
      reply.raw.write('half');
      throw handler.error;
    });
    await app.ready();
    return { log, listener: (req, res) => app.routing(req, res), resilience: app.resilience };
  },
});

const koa = (name, Koa) => ({
  name,
  async create(t, { handler, limits = LIMITS, options, withErrors = true }) {
    const app = new Koa();
    const log = [];
    app.on('error', (error) => log.push(error.message));
    const resilience = koaResilience(limits);
    app.use((ctx, next) => {
      ctx.set({ 'access-control-allow-origin': '*' });
      return next();
    });
    if (withErrors) app.use(koaErrors(options));
    app.use(resilience);
    app.use(async (ctx) => {
      if (ctx.path === '/begun') {
        ctx.res.write('half');
        throw handler.error;
      }
      ctx.set('content-encoding', 'x-none');
      const value = await handler();
      ctx.remove('content-encoding');
      ctx.body = value;
    });
    return { log, listener: app.callback(), resilience };
  },
});

const hono = (name, Hono, getRequestListener) => ({
  name,
  async create(t, { handler, limits = LIMITS, options, withErrors = true }) {
    const log = logged(t);
    const app = new Hono();
    const resilience = honoResilience(limits);
    app.use('*', async (c, next) => {
      c.header('access-control-allow-origin', '*');
      await next();
    });
    app.use('*', resilience);
    app.get('/', async (c) => c.text(await handler()));
    if (withErrors) app.onError(honoErrors(options));
    return { log, listener: getRequestListener(app.fetch), resilience };
  },
});

const frameworks = [
  express('Express 5', express5),
  express('Express 4', express4),
  fastify('Fastify 5', fastify5),
  fastify('Fastify 4', fastify4),
  koa('Koa 3', Koa3),
  koa('Koa 2', Koa2),
  hono('Hono 4', Hono4, getRequestListener2),
  hono('Hono 3', Hono3, getRequestListener1),
];

/** The errors that are printed while the test runs. */
function logged(t) {
  const log = [];
  const firstLine = (error) => String(error?.message ?? error).split('\n')[0].replace(/^\w*Error: /, '');
  t.mock.method(console, 'error', (error) => log.push(firstLine(error)));
  return log;
}

async function start(t, framework, config) {
  const { log, listener, resilience } = await framework.create(t, config);
  const server = await listen(t, listener, resilience);
  return { log, server, port: server.address().port, resilience };
}

/** One rejection of each kind, as pipelines make them. */
async function rejections() {
  const full = new ResiliencePipelineBuilder({ name: 'users' }).addConcurrencyLimiter(1).build();
  const held = hold(full);
  const rated = new ResiliencePipelineBuilder({ name: 'users' })
    .addRateLimiter({ permitLimit: 1, window: '1h' })
    .build();
  await rated.execute(() => 1);
  const manualControl = new CircuitBreakerManualControl();
  const isolated = new ResiliencePipelineBuilder().addCircuitBreaker({ manualControl }).build();
  manualControl.isolate();
  const open = new ResiliencePipelineBuilder()
    .addCircuitBreaker({ minimumThroughput: 2, consecutiveFailures: 2, breakDuration: '8s' })
    .build();
  for (let call = 0; call < 2; call++) await rejection(open.execute(() => Promise.reject(new Error('down'))));
  const disposed = new ResiliencePipelineBuilder().addTimeout(5).build();
  disposed.dispose();
  const late = new ResiliencePipelineBuilder().addTimeout(1).build();
  const errors = [];
  for (const pipeline of [full, rated, open, isolated, disposed, late]) {
    errors.push(await rejection(pipeline.execute(() => new Promise(() => {}))));
  }
  held.finish();
  await held.promise;
  return errors;
}

const ERRORS = await rejections();
const TOLD = {
  BULKHEAD_FULL: [503, 'The service is at capacity and its queue is full.', [1, 3]],
  RATE_LIMITED: [429, 'The client has used up its quota.', [3599, 3600]],
  CIRCUIT_OPEN: [503, 'The service is unavailable for a while.', [8, 16]],
  CIRCUIT_ISOLATED: [503, 'The service is unavailable.', [1, 3]],
  PIPELINE_DISPOSED: [503, 'The service is shutting down.', [1, 3]],
  TIMEOUT: [504, 'The request was not completed in time.', undefined],
};

for (const framework of frameworks) {
  describe(framework.name, { timeout: 60_000 }, () => {
    for (const error of ERRORS) {
      test(`${error.code}: a rejection of a pipeline is answered as a refusal, and not logged`, async (t) => {
        const { log, port } = await start(t, framework, { handler: () => Promise.reject(error) });
        const { status, headers, json } = await send(port, '/').response;
        const [statusCode, message, seconds] = TOLD[error.code];
        assert.deepEqual([status, json], [statusCode, { statusCode, error: error.code, message }]);
        assert.deepEqual(Object.keys(json), ['statusCode', 'error', 'message']);
        assert.equal(headers['content-type'], 'application/json; charset=utf-8');
        assert.equal(headers['cache-control'], 'no-store');
        assert.equal(headers['content-encoding'], undefined);
        assert.equal(headers['access-control-allow-origin'], '*');
        const after = headers['retry-after'];
        if (seconds === undefined) assert.equal(after, undefined);
        else assert.ok(Number(after) >= seconds[0] && Number(after) <= seconds[1], after);
        assert.deepEqual(log, []);
      });
    }

    test('a rejection that an error is caused by is answered as that', async (t) => {
      const error = new Error('no users', { cause: new Error('no client', { cause: ERRORS[0] }) });
      const { log, port } = await start(t, framework, { handler: () => Promise.reject(error) });
      const { status, json } = await send(port, '/').response;
      assert.deepEqual([status, json.error], [503, 'BULKHEAD_FULL']);
      assert.deepEqual(log, []);
    });

    test('an error with a status of its own says how it is answered, whatever its cause is', async (t) => {
      const error = Object.assign(new Error('bad gateway', { cause: ERRORS[0] }), { status: 502, statusCode: 502 });
      const { port } = await start(t, framework, { handler: () => Promise.reject(error) });
      assert.notEqual((await send(port, '/').response).status, 503);
    });

    test('any other error is answered and logged as without it, also one that is its own cause', async (t) => {
      const own = new Error('of the application');
      own.cause = own;
      for (const error of [new Error('of the application'), own]) {
        const answers = [];
        for (const withErrors of [true, false]) {
          const { log, port } = await start(t, framework, { handler: () => Promise.reject(error), withErrors });
          const { status, text } = await send(port, '/').response;
          await until(() => log.length > 0);
          answers.push([status, text.length, log.length]);
        }
        assert.deepEqual(answers[0], answers[1]);
        assert.deepEqual([answers[0][0], answers[0][2]], [500, 1]);
      }
    });

    test('with problemDetails it is answered by RFC 9457', async (t) => {
      const handler = () => Promise.reject(ERRORS[1]);
      const { port } = await start(t, framework, { handler, options: { problemDetails: true } });
      const { status, headers, json } = await send(port, '/').response;
      assert.equal(status, 429);
      assert.equal(headers['content-type'], 'application/problem+json');
      assert.deepEqual([json.status, json.code, json['violated-policies']], [429, 'RATE_LIMITED', ['users']]);
    });

    if (!framework.name.startsWith('Hono')) {
      test('a response that has begun is cut off, and its error logged', async (t) => {
        const handler = () => {};
        handler.error = ERRORS[0];
        const { log, port } = await start(t, framework, { handler });
        await assert.rejects(send(port, '/begun').response, /aborted|hang up/);
        await until(() => log.length > 0);
        assert.equal(log.length, 1);
        assert.match(log[0], /queue is full/);
      });
    }

    const failures = {
      'the reason of its signal': (signal) => Promise.reject(signal.reason),
      'the AbortError of Node.js': (signal) => sleep(1e6, undefined, { signal, ref: false }),
      'an error whose cause is the reason': ({ reason }) => Promise.reject(new Error('no', { cause: reason })),
      'the AbortError of a client that hides the reason': () =>
        Promise.reject(Object.assign(new Error('cancelled'), { name: 'CanceledError', code: 'ERR_CANCELED' })),
    };
    for (const [what, fail] of Object.entries(failures)) {
      test(`a handler that fails by ${what} after its client has left is not in the log`, async (t) => {
        const { log, ended } = await leave(t, framework, fail, true);
        await ended;
        assert.deepEqual(log, []);
      });
    }

    test('a handler that fails by itself after its client has left is in the log', async (t) => {
      const { log, ended } = await leave(t, framework, () => Promise.reject(new TypeError('of the application')), true);
      await ended;
      await until(() => log.length > 0);
      assert.deepEqual(log, ['of the application']);
    });

    // Express hands all errors to the handlers of errors, and Hono 3 prints all that are not of a class of its own.
    if (!/Express|Hono 3/.test(framework.name)) {
      test('the adapter alone keeps the reason of the abort out of the log', async (t) => {
        const { log, ended } = await leave(t, framework, (signal) => Promise.reject(signal.reason), false);
        await ended;
        assert.deepEqual(log, []);
      });
    }

    test('a handler that fails by its own deadline, which was answered, is not in the log', async (t) => {
      let failed;
      const ended = new Promise((resolve) => {
        failed = resolve;
      });
      const handler = async () => {
        const signal = getResilienceSignal();
        try {
          await sleep(1e6, undefined, { signal, ref: false });
        } finally {
          failed();
        }
      };
      const { log, port } = await start(t, framework, { handler, limits: { timeout: 20 } });
      assert.equal((await send(port, '/').response).status, 504);
      await ended;
      for (let index = 0; index < 5; index++) await turn();
      assert.deepEqual(log, []);
    });
  });
}

/** Lets a client leave while its handler runs, which then fails. */
async function leave(t, framework, fail, withErrors) {
  let running = 0;
  let failed;
  const ended = new Promise((resolve) => {
    failed = resolve;
  });
  const handler = async () => {
    const signal = getResilienceSignal();
    running += 1;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    try {
      return await fail(signal);
    } finally {
      failed();
    }
  };
  const { log, port } = await start(t, framework, { handler, withErrors });
  const connection = await rawConnection(port);
  connection.get('/');
  await until(() => running === 1);
  connection.socket.destroy();
  const quiet = async () => {
    await ended;
    for (let index = 0; index < 5; index++) await turn();
  };
  return { log, ended: quiet() };
}

test('node:http: what an async listener fails by after its client has left is no process warning', async (t) => {
  const warnings = [];
  t.mock.method(process, 'emitWarning', (warning) => warnings.push(warning.message));
  const framework = {
    async create(_t, { handler, limits = LIMITS }) {
      const resilience = withResilience(handler, limits);
      return { log: warnings, listener: resilience, resilience };
    },
  };
  const { ended } = await leave(t, framework, ({ reason }) => Promise.reject(reason), true);
  await ended;
  assert.deepEqual(warnings, []);
  const own = await leave(t, framework, () => Promise.reject(new Error('of the application')), true);
  await own.ended;
  assert.deepEqual(warnings, ['of the application']);
});

/** Servers of HTTP/2 that read the body, and what they log. */
const READERS = {
  'a listener': (t, read) => {
    const log = [];
    t.mock.method(process, 'emitWarning', (warning) => log.push(warning.message));
    const resilience = withResilience(async (req, res) => {
      await read(req);
      res.end();
    }, LIMITS);
    return { log, listener: resilience, resilience };
  },
  Koa: (_t, read) => {
    const app = new Koa3();
    const log = [];
    app.on('error', (error) => log.push(error.message));
    const resilience = koaResilience(LIMITS);
    app.use(koaErrors()).use(resilience);
    app.use(async ({ req }) => read(req));
    return { log, listener: app.callback(), resilience };
  },
  Hono: (t, read) => {
    const log = logged(t);
    const app = new Hono4();
    const resilience = honoResilience(LIMITS);
    app.use('*', resilience);
    app.post('/', async (c) => c.text(await read(c.env.incoming)));
    app.onError(honoErrors());
    return { log, listener: getRequestListener2(app.fetch), resilience };
  },
};
for (const [name, create] of Object.entries(READERS)) {
  for (const [how, leave] of Object.entries({
    'resets its stream': (request) => request.destroy(),
    'closes its session': (request) => request.session.destroy(),
  })) {
    test(`HTTP/2, ${name}: a body that ends early because the client ${how} is not in the log`, async (t) => {
      const failures = [];
      const failed = (error) => {
        failures.push(error.code);
        throw error;
      };
      let reading = 0;
      const { log, listener, resilience } = create(t, (req) => {
        reading += 1;
        return text(req).catch(failed);
      });
      const server = createHttp2Server(listener).listen(0, '127.0.0.1');
      t.after(() => server.close());
      await once(server, 'listening');
      const begin = (stream) => stream.write('half');
      const { request } = sendHttp2(server.address().port, '/', { method: 'POST', body: begin });
      await until(() => reading === 1);
      leave(request);
      await until(() => failures.length === 1);
      await until(() => resilience.pipeline.getStrategy('ConcurrencyLimiter').inflight === 0);
      for (let index = 0; index < 5; index++) await turn();
      assert.deepEqual([failures, log], [['ERR_STREAM_PREMATURE_CLOSE'], []]);
      request.session?.destroy();
    });
  }
}

test('Hono: everything else is for onError', async (t) => {
  const handler = () => Promise.reject(new Error('of the application'));
  const onError = (error, c) => c.text(`${error.message}, told otherwise`, 418);
  const { log, port } = await start(t, frameworks[6], { handler, options: { onError } });
  const { status, text } = await send(port, '/').response;
  assert.deepEqual([status, text, log], [418, 'of the application, told otherwise', []]);
});

test('Fastify: the handler of errors that was there before gets everything else', async (t) => {
  const app = fastify5();
  t.after(() => app.close());
  app.setErrorHandler((error, _request, reply) => reply.code(418).send({ told: error.message }));
  await app.register(async (instance) => {
    await instance.register(fastifyResilience, { ...LIMITS, errors: true });
    instance.get('/mine', async () => Promise.reject(new Error('of the application')));
    instance.get('/ours', async () => Promise.reject(ERRORS[0]));
  });
  const mine = await app.inject('/mine');
  assert.deepEqual([mine.statusCode, mine.json()], [418, { told: 'of the application' }]);
  assert.equal((await app.inject('/ours')).statusCode, 503);
});

test('wrong options are refused', async () => {
  for (const make of [expressErrors, koaErrors, honoErrors]) {
    assert.throws(() => make({ problemDetails: 'yes' }), { name: 'TypeError', message: /problemDetails/ });
    assert.throws(() => make({ problem: true }), { name: 'TypeError', message: /problem/ });
    assert.throws(() => make(5), TypeError);
  }
  assert.throws(() => honoErrors({ onError: 5 }), { name: 'TypeError', message: /onError/ });
  await assert.rejects(async () => fastify5().register(fastifyResilience, { ...LIMITS, errors: 'yes' }), {
    name: 'TypeError',
    message: /errors/,
  });
});
