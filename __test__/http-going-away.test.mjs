// After dispose(): refusals and the last answers end their connections, so that the server comes to its end.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { protect } from '@ylcnfrht/resilience/http';
import { allAdapters, forEachAdapter, http1Adapters } from './support/http-adapters.mjs';
import { oneConnection, send as sendTo } from './support/http-client.mjs';
import { serve, until } from './support/http-server.mjs';

const http2Adapter = allAdapters.find((adapter) => !http1Adapters.includes(adapter));
/** Whole connections that are kept last for 5 s. */
const SOON = 1000;

async function closes(server) {
  const started = performance.now();
  server.close();
  await once(server, 'close');
  assert.ok(performance.now() - started < SOON, 'it waited for a connection');
}

const urlOf = (request) => request.url ?? request.req.url;
const options = {
  timeout: '5s',
  concurrency: { permitLimit: 1, queueLimit: 1 },
  skip: (request) => /healthz/.test(urlOf(request)),
};

forEachAdapter((adapter) => {
  test('refusals and the last answers say that the connection closes', async (t) => {
    const held = [];
    const { send, server, resilience } = await serve(t, adapter, {
      options,
      routes: {
        'GET /work': (_req, res) => held.push(res),
        'GET /healthz': (_req, res) => res.end('ok'),
      },
    });
    const agents = Array.from({ length: 4 }, oneConnection);
    t.after(() => agents.forEach((agent) => agent.destroy()));
    const running = send('/work', { agent: agents[0] });
    await until(() => held.length === 1);
    const waiting = send('/work', { agent: agents[1] });
    await until(() => resilience.pipeline.getStrategy('ConcurrencyLimiter').queued === 1);
    resilience.dispose();
    const answers = [waiting, send('/work', { agent: agents[2] }), send('/healthz', { agent: agents[3] })];
    const [first, second, health] = await Promise.all(answers.map(({ response }) => response));
    assert.deepEqual([first.status, second.status, health.status], [503, 503, 200]);
    for (const { headers } of [first, second, health]) assert.equal(headers.connection, 'close');
    held[0].end('done');
    const last = await running.response;
    assert.deepEqual([last.text, last.headers.connection], ['done', 'close']);
    await closes(server);
  });

  test('a stream that goes on, and says that its connection is kept, closes it at its end', async (t) => {
    const held = [];
    const { send, server, resilience } = await serve(t, adapter, {
      options,
      routes: {
        'GET /events': (_req, res) => {
          res.writeHead(200, { Connection: 'keep-alive', 'Content-Type': 'text/event-stream' });
          res.flushHeaders();
          held.push(res);
        },
      },
    });
    const agent = oneConnection();
    t.after(() => agent.destroy());
    const stream = send('/events', { agent });
    await until(() => held.length === 1);
    resilience.dispose();
    held[0].end('data: last\n\n');
    assert.equal((await stream.response).text, 'data: last\n\n');
    await closes(server);
  });
});

test('a pipeline that is disposed of by itself has the same effect', async (t) => {
  const [adapter] = http1Adapters;
  const pipeline = new ResiliencePipelineBuilder().addTimeout('5s').build();
  const { send, server } = await serve(t, adapter, {
    options: { pipeline },
    routes: { 'GET /work': (_req, res) => setImmediate(() => res.end('done')) },
  });
  const agent = oneConnection();
  t.after(() => agent.destroy());
  const running = send('/work', { agent });
  await once(server, 'request');
  pipeline.dispose();
  assert.equal((await running.response).text, 'done');
  assert.equal((await send('/work', { agent }).response).headers.connection, 'close');
  await closes(server);
});

test('protect() under keep-alive traffic lets its server come to its end', async () => {
  const server = createServer((_req, res) => res.end('served')).listen(0, '127.0.0.1');
  const inbound = protect(server, options);
  await once(server, 'listening');
  const { port } = server.address();
  const agent = oneConnection();
  assert.equal((await sendTo(port, '/', { agent }).response).status, 200);
  inbound.dispose();
  const refused = await sendTo(port, '/', { agent }).response;
  assert.deepEqual([refused.status, refused.headers.connection], [503, 'close']);
  await closes(server);
  agent.destroy();
});

test('sessions of HTTP/2 close, those that are idle at once, the others after their last answer', async (t) => {
  const held = [];
  const { server, port, resilience } = await serve(t, http2Adapter, {
    options,
    routes: { 'GET /work': (_req, res) => held.push(res), 'GET /idle': (_req, res) => res.end('idle') },
  });
  const [busy, idle, later] = Array.from({ length: 3 }, () => connectHttp2(`http://127.0.0.1:${port}`));
  const gone = [busy, idle, later].map((session) => once(session, 'close'));
  const ask = async (session, path) => {
    const stream = session.request({ ':path': path });
    const headers = once(stream, 'response');
    let text = '';
    for await (const chunk of stream) text += chunk;
    return [(await headers)[0][':status'], text];
  };
  await once(later, 'connect');
  assert.deepEqual(await ask(idle, '/idle'), [200, 'idle']);
  const running = ask(busy, '/work');
  await until(() => held.length === 1);
  resilience.dispose();
  await gone[1];
  assert.equal((await ask(later, '/work'))[0], 503);
  await gone[2];
  held[0].end('done');
  assert.deepEqual(await running, [200, 'done']);
  await gone[0];
  await closes(server);
});
