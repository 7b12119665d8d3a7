// What only Koa and Hono have: middlewares further out, that go on after the request was answered.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { koaResilience, honoResilience } from '@ylcnfrht/resilience/http';
import { honoAdapters } from './support/http-adapters-hono.mjs';
import { koaAdapters } from './support/http-adapters-koa.mjs';
import { forEachAdapter } from './support/http-adapters.mjs';
import { oneConnection, rawConnection, send } from './support/http-client.mjs';
import { FULL, LATE, assertAnswer, deferred, listen, until } from './support/http-server.mjs';

const options = { timeout: 300, concurrency: { permitLimit: 1, queueLimit: 1, queueTimeout: 20 } };

/** What differs between the two: how a middleware is written. */
const onion = {
  Koa: ({ Koa }, { upstream, inside }) => {
    const resilience = koaResilience(options);
    const app = new Koa();
    app.silent = true;
    app.use((ctx, next) => upstream(next, { status: () => ctx.status, set: (...args) => ctx.set(...args) }));
    app.use(resilience);
    app.use(async (ctx) => {
      ctx.body = await inside(ctx.path);
    });
    return [app.callback(), resilience];
  },
  Hono: ({ Hono, getRequestListener, overrideGlobalObjects }, { upstream, inside }) => {
    const resilience = honoResilience(options);
    const app = new Hono();
    app.use('*', (c, next) =>
      upstream(next, { status: () => c.res.status, set: (...args) => c.header(...args) }),
    );
    app.use('*', resilience);
    app.get('*', async (c) => c.text(await inside(c.req.path)));
    return [getRequestListener(app.fetch, { overrideGlobalObjects }), resilience];
  },
};

forEachAdapter((adapter) => {
  const make = onion[adapter.name.split(' ')[0]];

  test('a middleware further out sees the final status, and may set headers of its own', async (t) => {
    const statuses = [];
    const held = [];
    const [listener, resilience] = make(adapter, {
      upstream: async (next, { status, set }) => {
        await next();
        statuses.push(status());
        set('x-time', '1');
        set('cache-control', 'public');
      },
      inside: (path) => (path === '/next' ? 'next' : new Promise((resolve) => held.push(resolve))),
    });
    const server = await listen(t, listener, resilience);
    const { port } = server.address();
    let connections = 0;
    const agent = oneConnection();
    t.after(() => agent.destroy());
    const late = send(port, '/work');
    await until(() => held.length === 1);
    server.on('connection', () => connections++);
    const refused = await send(port, '/work', { agent }).response;
    assert.equal(refused.status, 503);
    assert.equal(refused.headers['cache-control'], 'no-store');
    assertAnswer(await late.response, 504, 'TIMEOUT', LATE);
    held[0]('late');
    const served = await send(port, '/next', { agent }).response;
    assert.deepEqual([served.text, served.headers['x-time']], ['next', '1']);
    assert.deepEqual([statuses, connections], [[503, 504, 200], 1]);
  });

  test('a middleware further out ends when its client leaves the queue', async (t) => {
    const ended = [];
    const held = [];
    const [listener, resilience] = make(adapter, {
      upstream: async (next) => {
        try {
          await next();
        } finally {
          ended.push('done');
        }
      },
      inside: () => new Promise((resolve) => held.push(resolve)),
    });
    const limiter = resilience.pipeline.getStrategy('ConcurrencyLimiter');
    const { port } = (await listen(t, listener, resilience)).address();
    const first = send(port, '/work');
    await until(() => held.length === 1);
    const client = await rawConnection(port);
    client.get('/work');
    await until(() => limiter.queued === 1);
    client.socket.destroy();
    await until(() => ended.length === 1);
    held[0]('first');
    await first.response;
    await until(() => ended.length === 2);
  });

  test("an error of a middleware further out is the framework's, also after an answer", async (t) => {
    const failed = deferred();
    const [listener, resilience] = make(adapter, {
      upstream: async (next) => {
        await next();
        failed.resolve();
        throw Object.assign(new Error('of a middleware'), { status: 500 });
      },
      inside: () => new Promise(() => {}),
    });
    t.mock.method(console, 'error', () => {});
    const { port } = (await listen(t, listener, resilience)).address();
    const response = await send(port, '/work').response;
    await failed.promise;
    assertAnswer(response, 504, 'TIMEOUT', LATE);
  });
}, [...koaAdapters, ...honoAdapters]);

forEachAdapter((adapter) => {
  test('app.request() has no connection: it is told so', async () => {
    const app = new adapter.Hono();
    const errors = [];
    app.onError((error, c) => {
      errors.push(error);
      return c.text('failed', 500);
    });
    app.use('*', honoResilience({ timeout: '5s' }));
    app.get('/work', (c) => c.text('work'));
    assert.equal((await app.request('/work')).status, 500);
    assert.equal((await app.request('/work', {}, {})).status, 500);
    for (const error of errors) {
      assert.ok(error instanceof TypeError);
      assert.match(error.message, /^c\.env of honoResilience must be what @hono\/node-server makes it/);
    }
    assert.equal(errors.length, 2);
  });

  test('a middleware further out may put another response in the place of an answer', async (t) => {
    const resilience = honoResilience({ rateLimit: { permitLimit: 1, window: '1h' } });
    const app = new adapter.Hono();
    app.use('*', async (c, next) => {
      await next();
      c.res = new Response(c.res.body, { status: c.res.status, headers: { 'x-time': '1' } });
      c.res = new Response(c.res.body, { status: c.res.status, headers: c.res.headers });
    });
    app.use('*', resilience);
    app.get('/work', (c) => c.text('work'));
    const { getRequestListener, overrideGlobalObjects } = adapter;
    const server = await listen(t, getRequestListener(app.fetch, { overrideGlobalObjects }), resilience);
    const { port } = server.address();
    const logged = t.mock.method(console, 'error', () => {}).mock;
    const agent = oneConnection();
    t.after(() => agent.destroy());
    let connections = 0;
    server.on('connection', () => connections++);
    assert.equal((await send(port, '/work', { agent }).response).text, 'work');
    for (let index = 0; index < 3; index++) {
      assert.equal((await send(port, '/work', { agent }).response).status, 429);
    }
    assert.deepEqual([connections, logged.callCount()], [1, 0]);
  });

  test('refused many times on one connection, it goes on', async (t) => {
    const resilience = honoResilience({ concurrency: { permitLimit: 1 } });
    const app = new adapter.Hono();
    const held = deferred();
    app.use('*', resilience);
    app.get('/work', async (c) => c.text(await held.promise));
    const { getRequestListener, overrideGlobalObjects } = adapter;
    const server = await listen(t, getRequestListener(app.fetch, { overrideGlobalObjects }), resilience);
    const { port } = server.address();
    const logged = t.mock.method(console, 'error', () => {}).mock;
    const [, first] = await Promise.all([once(server, 'connection'), send(port, '/work')]);
    await until(() => resilience.pipeline.getStrategy('ConcurrencyLimiter').inflight === 1);
    const agent = oneConnection();
    t.after(() => agent.destroy());
    let connections = 0;
    server.on('connection', () => connections++);
    for (let index = 0; index < 20; index++) {
      assertAnswer(await send(port, '/work', { agent }).response, 503, 'BULKHEAD_FULL', FULL);
    }
    held.resolve('first');
    assert.equal((await first.response).text, 'first');
    assert.deepEqual([connections, logged.callCount()], [1, 0]);
  });
}, honoAdapters);
