// withResilience: a listener of node:http or node:http2, and no framework around it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { getResilienceContext } from '@ylcnfrht/resilience';
import { HTTP_REQUEST, withResilience } from '@ylcnfrht/resilience/http';
import { http2Adapter, nodeAdapter } from './support/http-adapters-node.mjs';
import { forEachAdapter } from './support/http-adapters.mjs';
import { oneConnection, send } from './support/http-client.mjs';
import { LATE, assertAnswer, deferred, listen, serve, turn, until } from './support/http-server.mjs';

const INTERNAL = '{"statusCode":500,"error":"INTERNAL_SERVER_ERROR","message":"Internal Server Error"}';
const options = { timeout: '5s', concurrency: { permitLimit: 1 } };

forEachAdapter((adapter) => {
  for (const [how, fail] of [
    [
      'throws',
      (error) => {
        throw error;
      },
    ],
    ['rejects with', (error) => Promise.reject(error)],
  ]) {
    test(`what a listener ${how} is answered 500 and is a process warning`, async (t) => {
      const thrown = new Error('of the listener');
      const answers = { 'GET /work': () => fail(thrown) };
      const { send, limiter } = await serve(t, adapter, { options, answers });
      for (let index = 0; index < 3; index++) {
        const warned = once(process, 'warning');
        const { status, text } = await send('/work').response;
        assert.deepEqual([status, text], [500, INTERNAL]);
        assert.equal((await warned)[0], thrown);
        await until(() => limiter.inflight === 0);
      }
    });

    test(`what a listener ${how} after its answer is a process warning`, async (t) => {
      const thrown = new Error('of the listener');
      const { send, resilience } = await serve(t, adapter, {
        options,
        answers: {
          'GET /work': ({ res }) => {
            res.end('answered');
            return fail(thrown);
          },
        },
      });
      const warned = once(process, 'warning');
      const { status, text } = await send('/work').response;
      assert.deepEqual([status, text], [200, 'answered']);
      assert.equal((await warned)[0], thrown);
      assert.equal(resilience.swallowed, 0);
    });

    test(`what a listener ${how} amid a response cuts it off, and is a process warning`, async (t) => {
      const thrown = new Error('of the listener');
      const { send, limiter } = await serve(t, adapter, {
        options,
        answers: {
          'GET /work': ({ res }) => {
            res.write('part');
            return fail(thrown);
          },
        },
      });
      const warned = once(process, 'warning');
      await assert.rejects(send('/work').response);
      assert.equal((await warned)[0], thrown);
      await until(() => limiter.inflight === 0);
    });
  }

  test('what a listener rejects with after its 504 is swallowed and counted', async (t) => {
    const late = deferred();
    const warnings = [];
    const onWarning = (warning) => warnings.push(warning);
    process.on('warning', onWarning);
    t.after(() => process.off('warning', onWarning));
    const { send, resilience } = await serve(t, adapter, {
      options: { timeout: 20 },
      answers: { 'GET /work': () => late.promise },
    });
    assertAnswer(await send('/work').response, 504, 'TIMEOUT', LATE);
    late.reject(new Error('late'));
    await until(() => resilience.swallowed === 1);
    await turn();
    assert.deepEqual(warnings, []);
  });
}, [nodeAdapter, http2Adapter]);

test('a listener is called with what the server gives, in the context of the request', async (t) => {
  const seen = deferred();
  const listener = withResilience((...args) => {
    seen.resolve(args);
    args[1].end(String(getResilienceContext().properties.get(HTTP_REQUEST) === args[0]));
  }, options);
  const { port } = (await listen(t, listener, listener)).address();
  assert.equal((await send(port, '/').response).text, 'true');
  assert.equal((await seen.promise).length, 2);
});

test('a connection that is upgraded is none of its business', async (t) => {
  const listener = withResilience((_req, res) => res.end('served'), options);
  const server = await listen(t, listener, listener);
  const limiter = listener.pipeline.getStrategy('ConcurrencyLimiter');
  server.on('upgrade', (_req, socket) => {
    const head = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n';
    socket.end(`${head}${limiter.inflight}`);
  });
  const { port } = server.address();
  const { request } = send(port, '/', { headers: { connection: 'Upgrade', upgrade: 'echo' } });
  const [response, socket, head] = await once(request, 'upgrade');
  assert.equal(response.statusCode, 101);
  const [data] = head.length > 0 ? [head] : await once(socket, 'data');
  assert.equal(data.toString(), '0');
  socket.destroy();
  assert.equal((await send(port, '/').response).text, 'served');
});

test('a request that says it is closing is served, and its connection closes', async (t) => {
  const listener = withResilience((_req, res) => res.end('served'), options);
  const server = await listen(t, listener, listener);
  const { port } = server.address();
  const closed = once(server, 'connection').then(([socket]) => once(socket, 'close'));
  const agent = oneConnection();
  t.after(() => agent.destroy());
  assert.equal((await send(port, '/', { agent, headers: { connection: 'close' } }).response).text, 'served');
  await closed;
});
