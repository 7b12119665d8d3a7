// Requests other than a GET of a known route.
import assert from 'node:assert/strict';
import test from 'node:test';
import { forEachAdapter } from './support/http-adapters.mjs';
import { oneConnection } from './support/http-client.mjs';
import { heldRoute } from './support/http-held-route.mjs';
import { FULL, assertAnswer, serve, turn, until } from './support/http-server.mjs';

forEachAdapter((adapter) => {
  test('HEAD is counted and rejected like GET, without a body', async (t) => {
    const { held, routes } = heldRoute();
    const { send, limiter } = await serve(t, adapter, {
      options: { concurrency: { permitLimit: 1 } },
      routes,
    });
    const first = send('/work', { method: 'HEAD' });
    await until(() => limiter.inflight === 1);
    const second = await send('/work', { method: 'HEAD' }).response;
    assert.deepEqual([second.status, second.text], [503, '']);
    assert.match(second.headers['retry-after'], /^[123]$/);
    held[0].answer();
    const { status, text } = await first.response;
    assert.deepEqual([status, text], [200, '']);
  });

  test('OPTIONS and unknown routes give their permit back', async (t) => {
    const { send, limiter } = await serve(t, adapter, {
      options: { timeout: '5s', concurrency: { permitLimit: 1 } },
      routes: { 'GET /work': (_req, res) => res.end() },
    });
    const options = await send('/work', { method: 'OPTIONS' }).response;
    // Express answers it by the methods of the route.
    assert.deepEqual(
      [options.status, options.headers.allow?.replace(' ', '')],
      adapter.express === undefined ? [404, undefined] : [200, 'GET,HEAD'],
    );
    await until(() => limiter.inflight === 0);
    for (const method of ['GET', 'POST', 'DELETE']) {
      assert.equal((await send('/unknown', { method }).response).status, 404);
      await until(() => limiter.inflight === 0);
    }
  });

  test('a small upload is rejected before it is read, and its connection goes on', async (t) => {
    const { held, handler } = heldRoute();
    const { server, send, limiter } = await serve(t, adapter, {
      options: { concurrency: { permitLimit: 1 } },
      routes: { 'GET /work': handler, 'POST /upload': handler },
    });
    const first = send('/work');
    await until(() => limiter.inflight === 1);
    let connections = 0;
    server.on('connection', () => connections++);
    const agent = oneConnection();
    t.after(() => agent.destroy());
    const body = Buffer.alloc(2 ** 14);
    for (let index = 0; index < 2; index++) {
      const upload = send('/upload', { method: 'POST', agent, body });
      assertAnswer(await upload.response, 503, 'BULKHEAD_FULL', FULL);
      assert.equal(held.length, 1);
      await turn();
    }
    held[0].answer();
    assert.equal((await first.response).status, 200);
    assert.equal(connections, 1);
  });
});
