// What becomes of a request: served, queued, or answered in the handler's place.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { ResiliencePipelineBuilder, getResilienceContext } from '@ylcnfrht/resilience';
import { HTTP_REQUEST } from '@ylcnfrht/resilience/http';
import { forEachAdapter } from './support/http-adapters.mjs';
import { rawConnection } from './support/http-client.mjs';
import { heldRoute } from './support/http-held-route.mjs';
import {
  DISPOSED,
  DROPPED,
  FULL,
  LATE,
  QUEUE_TIMEOUT,
  assertAnswer,
  deferred,
  serve,
  turn,
  until,
} from './support/http-server.mjs';

forEachAdapter((adapter) => {
  test('a request with a permit runs at once', async (t) => {
    const { held, routes } = heldRoute();
    const { send, limiter } = await serve(t, adapter, {
      options: { timeout: '5s', concurrency: { permitLimit: 2 } },
      routes,
    });
    const { response } = send('/work?a');
    await until(() => held.length === 1);
    assert.deepEqual([limiter.inflight, limiter.queued], [1, 0]);
    held[0].answer();
    const { status, text } = await response;
    assert.deepEqual([status, text, limiter.inflight], [200, '/work?a', 0]);
  });

  test('waiters are served in order, and past the queue a request is answered 503 at once', async (t) => {
    const { held, routes } = heldRoute();
    const { send, limiter } = await serve(t, adapter, {
      options: { concurrency: { permitLimit: 1, queueLimit: 2 } },
      routes,
    });
    const responses = [];
    for (let index = 0; index < 3; index++) {
      responses.push(send(`/work?${index}`).response);
      await until(() => limiter.inflight + limiter.queued === index + 1);
    }
    assert.deepEqual([limiter.inflight, limiter.queued, held.length], [1, 2, 1]);
    assertAnswer(await send('/work?3').response, 503, 'BULKHEAD_FULL', FULL);
    for (let index = 0; index < 3; index++) {
      await until(() => held.length === index + 1);
      assert.equal(limiter.inflight, 1);
      held[index].answer();
      assert.equal((await responses[index]).text, `/work?${index}`);
    }
  });

  test('clients that are refused together are told to come back after 1, 2 or 3 seconds', async (t) => {
    const { held, routes } = heldRoute();
    const { send, limiter } = await serve(t, adapter, {
      options: { concurrency: { permitLimit: 1 } },
      routes,
    });
    const first = send('/work');
    await until(() => limiter.inflight === 1);
    const answers = await Promise.all(Array.from({ length: 60 }, () => send('/work').response));
    const seconds = new Set(answers.map(({ headers }) => headers['retry-after']));
    assert.deepEqual([...seconds].sort(), ['1', '2', '3']);
    held[0].answer();
    assert.equal((await first.response).status, 200);
  });

  test('a request that waits longer than queueTimeout is answered 503', async (t) => {
    const { held, routes } = heldRoute();
    const { send, limiter } = await serve(t, adapter, {
      options: { concurrency: { permitLimit: 1, queueLimit: 1, queueTimeout: 30 } },
      routes,
    });
    const first = send('/work');
    await until(() => held.length === 1);
    const started = performance.now();
    assertAnswer(await send('/work').response, 503, 'BULKHEAD_FULL', QUEUE_TIMEOUT);
    assert.ok(performance.now() - started >= 30);
    assert.deepEqual([limiter.inflight, limiter.queued, held.length], [1, 0, 1]);
    held[0].answer();
    assert.equal((await first.response).status, 200);
  });

  test('a hand-built pipeline orders by the request, and drops the lowest priority', async (t) => {
    const { held, handler } = heldRoute();
    const pipeline = new ResiliencePipelineBuilder({ name: 'inbound' })
      .addConcurrencyLimiter({
        permitLimit: 1,
        queueLimit: 2,
        overflow: 'drop-lowest-priority',
        priority: ({ properties }) =>
          Number(adapter.requestOf(properties.get(HTTP_REQUEST)).headers['x-rank']),
      })
      .addTimeout('5s')
      .build();
    const { send, limiter } = await serve(t, adapter, {
      options: { pipeline },
      routes: { 'GET /job/:name': handler },
    });
    const ask = (name, rank) => send(`/job/${name}`, { headers: { 'x-rank': rank } }).response;
    const running = ask('running', 9);
    await until(() => limiter.inflight === 1);
    const export1 = ask('export-1', 7);
    await until(() => limiter.queued === 1);
    const export2 = ask('export-2', 7);
    await until(() => limiter.queued === 2);
    const checkout = ask('checkout', 0);
    assertAnswer(await export2, 503, 'BULKHEAD_FULL', DROPPED);
    assertAnswer(await ask('late-export', 7), 503, 'BULKHEAD_FULL', FULL);
    const order = [running, checkout, export1];
    for (const [index, name] of ['running', 'checkout', 'export-1'].entries()) {
      await until(() => held.length === index + 1);
      held[index].answer();
      assert.equal((await order[index]).text, `/job/${name}`);
    }
  });

  test('drop-oldest answers the longest waiter 503', async (t) => {
    const { held, routes } = heldRoute();
    const pipeline = new ResiliencePipelineBuilder()
      .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 1, overflow: 'drop-oldest' })
      .build();
    const { send, limiter } = await serve(t, adapter, {
      options: { pipeline },
      routes,
    });
    const first = send('/work');
    await until(() => limiter.inflight === 1);
    const oldest = send('/work');
    await until(() => limiter.queued === 1);
    const newest = send('/work');
    assertAnswer(await oldest.response, 503, 'BULKHEAD_FULL', DROPPED);
    held[0].answer();
    await until(() => held.length === 2);
    held[1].answer();
    assert.deepEqual([(await first.response).status, (await newest.response).status], [200, 200]);
  });

  test('a handler past its deadline is answered 504, and its signal aborts with that error', async (t) => {
    const abort = deferred();
    const { send, resilience, limiter } = await serve(t, adapter, {
      options: { timeout: 30, concurrency: { permitLimit: 1 } },
      routes: {
        'GET /slow': (req) => {
          const { signal } = getResilienceContext(req);
          signal.addEventListener('abort', () => abort.resolve(signal.reason));
        },
      },
    });
    const started = performance.now();
    const response = await send('/slow').response;
    assertAnswer(response, 504, 'TIMEOUT', LATE);
    assert.ok(performance.now() - started >= 30);
    const { code, statusCode, timeout } = await abort.promise;
    assert.deepEqual([code, statusCode, timeout], ['TIMEOUT', 504, 30]);
    assert.deepEqual([limiter.inflight, resilience.swallowed], [0, 0]);
  });

  test('a deadline outside of the limiter also ends the wait, with a 504', async (t) => {
    const { held, routes } = heldRoute();
    const pipeline = new ResiliencePipelineBuilder().addTimeout(40).addConcurrencyLimiter(1, 1).build();
    const { send, limiter } = await serve(t, adapter, {
      options: { pipeline },
      routes,
    });
    const first = send('/work');
    await until(() => held.length === 1);
    held[0].res.flushHeaders();
    assertAnswer(await send('/work').response, 504, 'TIMEOUT', LATE);
    assert.deepEqual([limiter.inflight, limiter.queued, held.length], [1, 0, 1]);
    held[0].answer();
    assert.equal((await first.response).status, 200);
  });

  test('an error of the priority function goes to the error handler of the application', async (t) => {
    const pipeline = new ResiliencePipelineBuilder()
      .addConcurrencyLimiter({
        permitLimit: 1,
        priority: () => {
          throw Object.assign(new Error('no rank'), { status: 418 });
        },
      })
      .build();
    const { send } = await serve(t, adapter, { options: { pipeline }, routes: {} });
    if (adapter.catchesErrors === false) {
      const warned = once(process, 'warning');
      assert.equal((await send('/work').response).status, 500);
      assert.equal((await warned)[0].message, 'no rank');
    } else {
      assert.equal((await send('/work').response).status, 418);
    }
  });

  test('dispose answers waiters and later requests 503, and lets running ones finish', async (t) => {
    const { held, routes } = heldRoute();
    const { send, resilience, limiter } = await serve(t, adapter, {
      options: { timeout: '5s', concurrency: { permitLimit: 1, queueLimit: 1 } },
      routes,
    });
    const running = send('/work');
    await until(() => held.length === 1);
    const waiting = send('/work');
    await until(() => limiter.queued === 1);
    resilience.dispose();
    resilience.dispose();
    assertAnswer(await waiting.response, 503, 'BULKHEAD_FULL', DISPOSED);
    assertAnswer(await send('/work').response, 503, 'PIPELINE_DISPOSED', 'The service is shutting down.');
    held[0].answer();
    assert.equal((await running.response).text, '/work');
    assert.equal(held.length, 1);
  });

  test('a request answered before it got here runs without a permit', async (t) => {
    const ran = deferred();
    const { send, limiter } = await serve(t, adapter, {
      before: [
        (_req, res, next) => {
          res.writeHead(202).end();
          once(res, 'close').then(() => {
            next();
            // Fastify runs no handler then.
            if (adapter.fastify !== undefined) ran.resolve();
          });
        },
      ],
      options: { concurrency: { permitLimit: 1 } },
      routes: { 'GET /work': () => ran.resolve() },
    });
    assert.equal((await send('/work').response).status, 202);
    await ran.promise;
    assert.equal(limiter.inflight, 0);
  });

  test('a request whose client left before it got here never runs', async (t) => {
    const gone = deferred();
    const { held, routes } = heldRoute();
    const { port, limiter, resilience } = await serve(t, adapter, {
      before: [
        async (_req, res, next) => {
          await once(res, 'close');
          next();
          gone.resolve();
        },
      ],
      options: { concurrency: { permitLimit: 1 } },
      routes,
    });
    const client = await rawConnection(port);
    client.get('/work');
    client.socket.end();
    await gone.promise;
    await turn();
    assert.deepEqual([held.length, limiter.inflight, resilience.swallowed], [0, 0, 0]);
  });

  test('a waiter that something else answers leaves the queue, and its handler never runs', async (t) => {
    const { held, routes } = heldRoute();
    const responses = [];
    const { send, limiter } = await serve(t, adapter, {
      before: [
        (_req, res, next) => {
          responses.push(res);
          next();
        },
      ],
      options: { concurrency: { permitLimit: 1, queueLimit: 1 } },
      routes,
    });
    const first = send('/work');
    await until(() => limiter.inflight === 1);
    const second = send('/work');
    await until(() => limiter.queued === 1);
    responses[1].writeHead(408).end();
    assert.equal((await second.response).status, 408);
    await until(() => limiter.queued === 0);
    held[0].answer();
    assert.equal((await first.response).status, 200);
    assert.equal(held.length, 1);
  });
});
