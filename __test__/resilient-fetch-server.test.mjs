// resilientFetch over real connections.
import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { createServer } from 'node:http';
import test from 'node:test';
import { Agent, fetch as undiciFetch } from 'undici';
import {
  ResiliencePipelineBuilder,
  getResilienceSignal,
  isTransient,
  standardPipeline,
} from '@ylcnfrht/resilience';
import { resilienceMiddleware, resilientFetch, withResilience } from '@ylcnfrht/resilience/http';
import { deferred } from './support/deferred.mjs';
import { rejection, turn } from './support/hold.mjs';

const LARGE = Buffer.alloc(4 * 1024 * 1024);

/** A server whose connections are counted. */
async function serve(t, listener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  const served = { connections: 0, open: 0 };
  server.on('connection', (socket) => {
    served.connections += 1;
    served.open += 1;
    socket.on('close', () => (served.open -= 1));
  });
  await once(server, 'listening');
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  served.url = `http://127.0.0.1:${server.address().port}/`;
  return served;
}

/** A fetch through a pool of so many connections. */
function pooled(t, connections) {
  const agent = new Agent({ connections });
  t.after(() => agent.destroy());
  return (input, init) => undiciFetch(input, { ...init, dispatcher: agent });
}

const retrying = (options) =>
  new ResiliencePipelineBuilder()
    .addRetry({ delay: 0, maxRetryAttempts: 5, shouldHandle: isTransient, ...options })
    .build();

test('standardPipeline: 503 and then 200, after its Retry-After', async (t) => {
  const times = [];
  const server = await serve(t, (_req, res) => {
    times.push(performance.now());
    if (times.length === 1) res.writeHead(503, { 'retry-after': '1' }).end('busy');
    else res.end('hello');
  });
  const response = await resilientFetch(standardPipeline({ retry: { delay: 1, useJitter: false } }))(server.url);
  assert.equal(await response.text(), 'hello');
  assert.equal(times.length, 2);
  assert.ok(times[1] - times[0] >= 999, `${times[1] - times[0]} ms`);
});

test('standardPipeline: a POST is sent once, one with an Idempotency-Key again', async (t) => {
  const bodies = [];
  const server = await serve(t, async (req, res) => {
    const chunks = [];
    for await (const chunk of req) chunks.push(chunk);
    bodies.push(Buffer.concat(chunks).toString());
    res.statusCode = bodies.length % 2 === 1 ? 503 : 200;
    res.end();
  });
  const fetch = resilientFetch(standardPipeline({ retry: { delay: 1 } }));
  const init = { method: 'POST', body: '{"amount":5}' };
  assert.equal((await fetch(server.url, init)).status, 503);
  assert.deepEqual(bodies.splice(0), [init.body]);
  const keyed = { ...init, headers: { 'Idempotency-Key': 'order-1' } };
  assert.equal((await fetch(server.url, keyed)).status, 200);
  assert.deepEqual(bodies, [init.body, init.body]);
});

test('a pool of one connection is reused by the retries of small responses', async (t) => {
  let requests = 0;
  const server = await serve(t, (_req, res) => {
    requests += 1;
    if (requests % 3 !== 0) res.statusCode = 503;
    res.end(`answer ${requests}`);
  });
  const fetch = resilientFetch(retrying(), pooled(t, 1));
  for (let calls = 1; calls <= 10; calls += 1) {
    assert.equal(await (await fetch(server.url)).text(), `answer ${calls * 3}`);
  }
  assert.equal(requests, 30);
  assert.equal(server.connections, 1);
});

test('a pool of one connection is not exhausted by discarded responses that are large, or never end', async (t) => {
  let requests = 0;
  const server = await serve(t, (_req, res) => {
    requests += 1;
    if (requests % 3 === 0) return res.end(`answer ${requests}`);
    res.statusCode = 503;
    if (requests % 3 === 1) return res.end(LARGE);
    return res.write('and so on');
  });
  const fetch = resilientFetch(retrying(), pooled(t, 1));
  for (let calls = 1; calls <= 5; calls += 1) {
    assert.equal(await (await fetch(server.url)).text(), `answer ${calls * 3}`);
  }
  assert.equal(requests, 15);
});

test('nothing is left of responses that a fallback, hedging or a timeout has discarded', async (t) => {
  const server = await serve(t, (_req, res) => {
    res.statusCode = 503;
    res.write('and so on');
  });
  const send = pooled(t, 2);
  const substitute = new Response('substitute');
  for (const pipeline of [
    new ResiliencePipelineBuilder().addFallback({ fallbackValue: substitute, shouldHandle: isTransient }).build(),
    new ResiliencePipelineBuilder()
      .addFallback({ fallbackValue: substitute })
      .addHedging({ delay: 0, shouldHandle: isTransient })
      .add(() => ({
        name: 'Fail',
        async execute(next, context) {
          await next(context);
          return { ok: false, error: new Error('refused') };
        },
      }))
      .build(),
    new ResiliencePipelineBuilder()
      .addFallback({ fallbackValue: substitute })
      .addTimeout(20)
      .addRetry({ shouldHandle: () => new Promise(() => {}) })
      .build(),
  ]) {
    for (let calls = 0; calls < 5; calls += 1) {
      assert.equal(await resilientFetch(pipeline, send)(server.url), substitute);
    }
  }
  while (server.open > 0) await turn();
});

test('aborted while its body is read: the reading ends, and the connection is closed', async (t) => {
  const server = await serve(t, (_req, res) => res.write('first'));
  for (const [send, args] of [
    [undefined, (signal) => [server.url, { signal }]],
    [undefined, (signal) => [new Request(server.url, { signal })]],
    [pooled(t, 1), (signal) => [server.url, { signal }]],
  ]) {
    const controller = new AbortController();
    const fetch = resilientFetch(standardPipeline(), send);
    const text = rejection((await fetch(...args(controller.signal))).text());
    // What ties the signals together is held by the body alone.
    for (let round = 0; round < 5; round += 1) {
      await turn();
      globalThis.gc();
    }
    const reason = new Error('enough');
    controller.abort(reason);
    assert.equal(await text, reason);
    while (server.open > 0) await turn();
  }
});

test('read to their ends, real bodies leave no listener on the signal', async (t) => {
  const server = await serve(t, (_req, res) => res.end(LARGE));
  const { signal } = new AbortController();
  const fetch = resilientFetch(standardPipeline());
  for (let calls = 0; calls < 5; calls += 1) {
    const response = await fetch(server.url, { signal });
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    assert.equal((await response.arrayBuffer()).byteLength, LARGE.length);
    await turn();
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  }
});

test('a deadline travels: the server behind stops when the caller has given up', async (t) => {
  const stopped = deferred();
  const admission = resilienceMiddleware({ deadlineHeader: 'x-request-timeout-ms', timeout: '30s' });
  const behind = await serve(t, (req, res) => {
    admission(req, res, () => {
      const started = performance.now();
      const signal = getResilienceSignal();
      signal.addEventListener('abort', () => {
        stopped.resolve({ reason: signal.reason, after: performance.now() - started, header: req.headers });
      });
    });
  });
  // A caller that gives up without closing the connection: only the header can tell.
  const deaf = (input, init) => fetch(input, { ...init, signal: undefined });
  const pipeline = new ResiliencePipelineBuilder().addTimeout(300).build();
  const error = await rejection(resilientFetch(pipeline, deaf)(behind.url));
  assert.equal(error.code, 'TIMEOUT');
  const { reason, after, header } = await stopped.promise;
  assert.equal(reason.code, 'TIMEOUT');
  assert.equal(reason.strategyName, 'Deadline');
  const budget = Number(header['x-request-timeout-ms']);
  assert.ok(budget > 0 && budget <= 300, `${budget} ms`);
  // Well before its own 30 s.
  assert.ok(after < 15_000, `${after} ms`);
});

test('from an inbound request to an outbound one, the budget shrinks', async (t) => {
  const budgets = [];
  const behind = await serve(t, (req, res) => {
    budgets.push(Number(req.headers['x-request-timeout-ms']));
    res.end('found');
  });
  const outbound = resilientFetch(standardPipeline({ totalTimeout: '20s', attemptTimeout: '9s' }));
  const inbound = { deadlineHeader: 'x-request-timeout-ms', timeout: '8s' };
  const front = await serve(
    t,
    withResilience(async (_req, res) => {
      const started = performance.now();
      while (performance.now() - started < 20) await turn();
      res.end(await (await outbound(behind.url)).text());
    }, inbound),
  );
  const caller = resilientFetch(new ResiliencePipelineBuilder().addTimeout('6s').build());
  assert.equal(await (await caller(front.url)).text(), 'found');
  assert.equal(await (await fetch(front.url)).text(), 'found');
  const [fromCaller, fromTimeout] = budgets;
  assert.ok(fromCaller > 0 && fromCaller <= 5980, `${fromCaller} ms`);
  assert.ok(fromTimeout > 5980 && fromTimeout <= 7980, `${fromTimeout} ms`);
});

test('an inbound request that is answered 504 ends what it reads', async (t) => {
  const closed = deferred();
  const behind = await serve(t, (_req, res) => {
    res.write('first');
    res.on('close', closed.resolve);
  });
  const outbound = resilientFetch(standardPipeline());
  const errors = [];
  const front = await serve(
    t,
    withResilience(async (_req, res) => {
      const response = await outbound(behind.url);
      errors.push(await rejection(response.text()));
      res.end('late');
    }, { timeout: 100 }),
  );
  assert.equal((await fetch(front.url)).status, 504);
  await closed.promise;
  await turn();
  assert.deepEqual(errors.map(({ code }) => code), ['TIMEOUT']);
});
