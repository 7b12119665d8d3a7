// writeHead() long before the first byte: latency and deadline are about the byte that leaves.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { compress } from './support/compress.mjs';
import { forEachAdapter, http1Adapters } from './support/http-adapters.mjs';
import { rawConnection } from './support/http-client.mjs';
import { deferred, serve, turn } from './support/http-server.mjs';

const nodeAdapter = http1Adapters.find(({ name }) => name === 'node:http');
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

forEachAdapter((adapter) => {
  test('a stream of events whose headers are only composed begins at its deadline, and goes on', async (t) => {
    const begun = deferred();
    const { port, limiter } = await serve(t, adapter, {
      options: { timeout: 30, concurrency: { permitLimit: 1 } },
      routes: {
        'GET /events': (_req, res) => {
          res.writeHead(200, { 'Content-Type': 'text/event-stream' });
          begun.resolve(res);
        },
      },
    });
    const { get, receive, socket } = await rawConnection(port);
    get('/events');
    await receive('text/event-stream');
    assert.equal(limiter.inflight, 1);
    (await begun.promise).write('data: 1\n\n');
    await receive('data: 1');
    socket.destroy();
  });

  for (const [place, config] of [
    ['before', { before: [compress] }],
    ['after', { after: [compress] }],
  ]) {
    test(`what a compressing middleware ${place} it holds back counts as sent`, async (t) => {
      const begun = deferred();
      const { port } = await serve(t, adapter, {
        ...config,
        options: { timeout: 30 },
        routes: {
          'GET /work': (_req, res) => {
            res.write('part');
            begun.resolve(res);
          },
        },
      });
      const { get, receive, socket } = await rawConnection(port);
      get('/work');
      const res = await begun.promise;
      await pause(60);
      res.end('whole');
      assert.match(await receive('0\r\n\r\n'), /^HTTP\/1\.1 200 /);
      socket.destroy();
    });
  }
});

test('headers that were composed and not sent are cut off at the deadline, with a warning once', async (t) => {
  const warnings = [];
  const onWarning = (warning) => {
    if (warning.code === 'RESILIENCE_UNSENT_HEADERS') warnings.push(warning);
  };
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  const { port, limiter, resilience } = await serve(t, nodeAdapter, {
    options: { timeout: 30, concurrency: { permitLimit: 1 } },
    routes: { 'GET /reports/7': (_req, res) => res.writeHead(200) },
  });
  for (let count = 0; count < 2; count++) {
    const client = await rawConnection(port);
    const closed = once(client.socket, 'close');
    client.get('/reports/7?secret=1');
    await closed;
    assert.equal(client.received, '');
    assert.equal(limiter.inflight, 0);
  }
  await turn();
  assert.equal(resilience.swallowed, 0);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0].message, /^GET \/reports\/7 had called writeHead\(\) and sent nothing by its deadline/);
});

for (const [name, act] of [
  ['write', (res) => res.write('x')],
  ['end', (res) => res.end('x')],
  ['flushHeaders', (res) => res.flushHeaders()],
]) {
  for (const early of [true, false]) {
    test(`an adaptive limiter measures up to ${name}${early ? ', long after writeHead' : ''}`, async (t) => {
      const samples = [];
      const limit = { onSample: ({ rtt, limit }) => (samples.push(rtt), limit) };
      const pipeline = new ResiliencePipelineBuilder()
        .addAdaptiveConcurrencyLimiter({ algorithm: limit, initialLimit: 5, minLimit: 5, maxLimit: 5 })
        .build();
      const { port } = await serve(t, nodeAdapter, {
        options: { pipeline },
        routes: {
          'GET /work': async (_req, res) => {
            if (early) res.writeHead(200, { 'Content-Type': 'text/plain' });
            await pause(40);
            act(res);
            await pause(200);
            if (!res.writableEnded) res.end('y');
          },
        },
      });
      const { get, receive, socket } = await rawConnection(port);
      get('/work');
      await receive(name === 'end' ? 'x' : 'y');
      while (samples.length === 0) await turn();
      assert.ok(samples[0] >= 39 && samples[0] < 190, `${samples}`);
      socket.destroy();
    });
  }
}
