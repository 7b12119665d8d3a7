// The middleware before a handler of node:http, which nothing stands between.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';
import { send } from './support/http-client.mjs';
import { listen } from './support/http-server.mjs';

const INTERNAL = '{"statusCode":500,"error":"INTERNAL_SERVER_ERROR","message":"Internal Server Error"}';

async function serve(t, handler) {
  const resilience = resilienceMiddleware({ timeout: '60s', concurrency: { permitLimit: 1 } });
  const server = await listen(t, (req, res) => resilience(req, res, () => handler(req, res)), resilience);
  return server.address().port;
}

test('a handler answers', async (t) => {
  const port = await serve(t, (_req, res) => res.end('hello'));
  const { status, text } = await send(port, '/').response;
  assert.deepEqual([status, text], [200, 'hello']);
});

test('what a handler throws is answered 500 and is a process warning', async (t) => {
  const thrown = new Error('of the handler');
  const port = await serve(t, () => {
    throw thrown;
  });
  const warned = once(process, 'warning');
  const { status, text } = await send(port, '/').response;
  assert.deepEqual([status, text], [500, INTERNAL]);
  assert.equal((await warned)[0], thrown);
});

test('a handler that throws anything else gives its permit back too', async (t) => {
  const port = await serve(t, () => {
    throw 'text';
  });
  const warned = once(process, 'warning');
  assert.equal((await send(port, '/').response).status, 500);
  assert.equal((await warned)[0].message, 'a callback threw text');
  assert.equal((await send(port, '/').response).status, 500);
});
