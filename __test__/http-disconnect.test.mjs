// A connection that is lost: the signal aborts, and the permit or the place in the queue is free at once.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { ResiliencePipelineBuilder, getResilienceSignal } from '@ylcnfrht/resilience';
import { forEachAdapter } from './support/http-adapters.mjs';
import { rawConnection } from './support/http-client.mjs';
import { assertDisconnected, countsAtClose, heldRoute } from './support/http-held-route.mjs';
import { deferred, serve, until } from './support/http-server.mjs';

forEachAdapter((adapter) => {
  const options = { timeout: '5s', concurrency: { permitLimit: 1, queueLimit: 2 } };

  for (const [how, leave] of [
    ['closes', (socket) => socket.destroy()],
    ['resets', (socket) => socket.resetAndDestroy()],
    ['ends', (socket) => socket.end()],
  ]) {
    test(`a client that ${how} its connection while its handler runs`, async (t) => {
      const { held, routes } = heldRoute();
      const { server, port, limiter, send } = await serve(t, adapter, { options, routes });
      const counts = countsAtClose(server, 0, () => [limiter.inflight, limiter.queued]);
      const client = await rawConnection(port);
      client.get('/work');
      await until(() => held.length === 1);
      leave(client.socket);
      assertDisconnected(await held[0].aborted);
      assert.deepEqual(await counts, [0, 0]);
      held[0].res.end('for nobody');
      assert.equal(client.received, '');
      const second = send('/work');
      await until(() => held.length === 2);
      held[1].answer();
      assert.equal((await second.response).status, 200);
    });

    test(`a client that ${how} its connection while it is queued`, async (t) => {
      const { held, routes } = heldRoute();
      const { server, port, limiter, send } = await serve(t, adapter, { options, routes });
      const counts = countsAtClose(server, 1, () => [limiter.inflight, limiter.queued]);
      const first = send('/work?first');
      await until(() => held.length === 1);
      const client = await rawConnection(port);
      client.get('/work?gone');
      await until(() => limiter.queued === 1);
      const third = send('/work?third');
      await until(() => limiter.queued === 2);
      leave(client.socket);
      assert.deepEqual(await counts, [1, 1]);
      held[0].answer();
      await until(() => held.length === 2);
      held[1].answer();
      assert.equal((await first.response).text, '/work?first');
      assert.equal((await third.response).text, '/work?third');
      assert.deepEqual([held.length, client.received], [2, '']);
    });
  }

  test('the permit of a lost connection goes to the next waiter', async (t) => {
    const { held, routes } = heldRoute();
    const { port, limiter, send } = await serve(t, adapter, { options, routes });
    const client = await rawConnection(port);
    client.get('/work');
    await until(() => held.length === 1);
    const next = send('/work?next');
    await until(() => limiter.queued === 1);
    client.socket.destroy();
    await until(() => held.length === 2);
    held[1].answer();
    assert.equal((await next.response).text, '/work?next');
  });

  test('an upload that is aborted gives its permit back', async (t) => {
    const { held, handler } = heldRoute();
    const { port, limiter } = await serve(t, adapter, { options, routes: { 'POST /upload': handler } });
    const client = await rawConnection(port);
    client.socket.write('POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\npart');
    await until(() => held.length === 1);
    const [chunk] = await once(held[0].req, 'data');
    assert.equal(chunk.toString(), 'part');
    held[0].req.once('error', () => {});
    client.socket.destroy();
    assertDisconnected(await held[0].aborted);
    assert.equal(limiter.inflight, 0);
  });

  for (const [how, end] of [
    ['destroys its response', ({ res }) => res.destroy()],
    ['destroys its response with an error', ({ res }) => res.destroy(new Error('broken'))],
    ['destroys its connection', ({ req }) => req.socket.destroy()],
    ['destroys its connection with an error', ({ req }) => req.socket.destroy(new Error('broken'))],
    ['destroys its response after a part', ({ res }) => res.write('part', () => res.destroy())],
    ['takes its connection over and ends it', ({ req }) => req.socket.end('HTTP/1.1 101 Hijacked\r\n\r\n')],
  ]) {
    test(`a handler that ${how} gives its permit back once`, async (t) => {
      const { held, routes } = heldRoute();
      const { port, limiter, send } = await serve(t, adapter, { options, routes });
      const client = await rawConnection(port);
      client.get('/work');
      await until(() => held.length === 1);
      const waiting = send('/work?waiting');
      await until(() => limiter.queued === 1);
      const last = send('/work?last');
      await until(() => limiter.queued === 2);
      end(held[0]);
      await held[0].aborted;
      await until(() => held.length === 2);
      assert.deepEqual([limiter.inflight, limiter.queued], [1, 1]);
      held[1].answer();
      await until(() => held.length === 3);
      held[2].answer();
      assert.equal((await waiting.response).text, '/work?waiting');
      assert.equal((await last.response).text, '/work?last');
    });
  }

  test('a response that ends normally aborts nothing, even when its connection closes later', async (t) => {
    const { held, routes } = heldRoute();
    const { server, port, limiter } = await serve(t, adapter, { options, routes });
    const closed = countsAtClose(server, 0, () => limiter.inflight);
    const client = await rawConnection(port);
    client.get('/work');
    await until(() => held.length === 1);
    held[0].answer();
    await client.receive('/work');
    client.socket.destroy();
    assert.equal(await closed, 0);
    assert.equal(held[0].signal.aborted, false);
  });

  test('work that a handler leaves behind goes on when the client has its answer and leaves', async (t) => {
    const background = new ResiliencePipelineBuilder().addTimeout('5s').build();
    const release = deferred();
    let work;
    const { server, port } = await serve(t, adapter, {
      options,
      routes: {
        'GET /work': (_req, res) => {
          work = background.execute(async ({ signal }) => {
            await release.promise;
            return signal.aborted;
          });
          res.end('accepted');
        },
      },
    });
    const closed = countsAtClose(server, 0, () => undefined);
    const client = await rawConnection(port);
    client.get('/work');
    await client.receive('accepted');
    client.socket.destroy();
    await closed;
    release.resolve();
    assert.equal(await work, false);
  });

  test('a rejection that cannot be written costs no permit and throws nothing', async (t) => {
    const { held, routes } = heldRoute();
    const { server, port, limiter, send } = await serve(t, adapter, {
      options: { concurrency: { permitLimit: 1 } },
      routes,
    });
    const running = send('/work');
    await until(() => held.length === 1);
    const brokenPipe = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    const lost = new Promise((resolve) => {
      server.once('connection', (socket) => {
        socket._writev = undefined;
        socket._write = (_chunk, _encoding, callback) => callback(brokenPipe);
        socket.once('close', resolve);
      });
    });
    const client = await rawConnection(port);
    client.get('/work');
    await lost;
    assert.deepEqual([limiter.inflight, limiter.queued, held.length], [1, 0, 1]);
    held[0].answer();
    assert.equal((await running.response).status, 200);
  });

  test('a nested pipeline stops when the client leaves, running or waiting', async (t) => {
    const database = new ResiliencePipelineBuilder().addConcurrencyLimiter(1, 1).build();
    const calls = database.getStrategy('ConcurrencyLimiter');
    const outcomes = [];
    const { port } = await serve(t, adapter, {
      options: { timeout: '5s' },
      routes: {
        'GET /work': async () => {
          const outcome = await database.settle(() => once(getResilienceSignal(), 'abort'));
          outcomes.push(outcome);
        },
      },
    });
    const clients = [await rawConnection(port), await rawConnection(port)];
    for (const client of clients) client.get('/work');
    await until(() => calls.inflight === 1 && calls.queued === 1);
    for (const client of clients) client.socket.destroy();
    await until(() => outcomes.length === 2);
    for (const { error } of outcomes) assertDisconnected(error);
    assert.deepEqual([calls.inflight, calls.queued], [0, 0]);
  });
});
