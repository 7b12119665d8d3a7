// What an adaptive limiter is told of the kind of a request.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { HTTP_REQUEST } from '@ylcnfrht/resilience/http';
import { forEachAdapter } from './support/http-adapters.mjs';
import { serve } from './support/http-server.mjs';

forEachAdapter((adapter) => {
  test('operation is asked once for each request that gives a sample, and finds the request', async (t) => {
    const kinds = [];
    let asked = 0;
    const pipeline = new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({
        algorithm: {
          onSample: ({ operation, limit }) => {
            kinds.push(operation);
            return limit;
          },
        },
        operation: ({ properties }) => {
          asked += 1;
          const { method, url } = adapter.requestOf(properties.get(HTTP_REQUEST));
          return `${method} ${url.split('?')[0]}`;
        },
      })
      .addTimeout('5s')
      .build();
    const { send } = await serve(t, adapter, {
      options: { pipeline },
      routes: {
        'GET /users': (_req, res) => res.end('ada'),
        'POST /orders': (_req, res) => res.end('1'),
        'GET /busy': (_req, res) => res.writeHead(503).end(),
      },
    });
    for (const [method, path, status] of [
      ['GET', '/users', 200],
      ['POST', '/orders?express=1', 200],
      ['GET', '/none', 404],
      ['GET', '/busy', 503],
    ]) {
      assert.equal((await send(path, { method }).response).status, status);
    }
    assert.deepEqual(kinds, ['GET /users', 'POST /orders', 'GET /busy']);
    assert.equal(asked, 3);
  });
});
