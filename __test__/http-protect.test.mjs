// A whole server behind an admission.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import { createServer as createNetServer } from 'node:net';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import { getResilienceContext } from '@ylcnfrht/resilience';
import { HTTP_REQUEST, protect } from '@ylcnfrht/resilience/http';
import { forEachAdapter } from './support/http-adapters.mjs';
import { rawConnection, send } from './support/http-client.mjs';
import { sendHttp2 } from './support/http2-client.mjs';
import { DISPOSED, FULL, LATE, assertAnswer, listen, serve, turn, until } from './support/http-server.mjs';

const ASKS = 'Expect: 100-continue\r\n';
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const post = (length = 5, headers = ASKS) =>
  `POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: ${length}\r\n${headers}\r\n`;
const ONE = { concurrency: { permitLimit: 1 } };

/** A protected server of node:http whose requests are kept, as they come. */
async function serveProtected(t, options = ONE) {
  const held = [];
  const server = await listen(t, (req, res) => {
    held.push({ req, res, context: getResilienceContext() });
  });
  const inbound = protect(server, options);
  const limiter = inbound.pipeline.getStrategy('ConcurrencyLimiter');
  const { port } = server.address();
  return { server, port, inbound, limiter, held, get: (path = '/') => send(port, path).response };
}

forEachAdapter((adapter) => {
  test('before a framework: a body is asked for only once its request is admitted', async (t) => {
    const { server, port } = await serve(t, adapter, {
      options: {
        timeout: '60s',
        rateLimit: { permitLimit: 100, window: '1h' },
        deadlineHeader: 'x-request-timeout-ms',
      },
      routes: {
        'POST /upload': async (req, res) => res.end(`got ${await text(req)}`),
      },
    });
    const inbound = protect(server, { concurrency: { permitLimit: 1, queueLimit: 1 } });
    const limiter = inbound.pipeline.getStrategy('ConcurrencyLimiter');
    const [first, second, third] = await Promise.all([port, port, port].map(rawConnection));

    first.socket.write(post());
    assert.equal(await first.receive(CONTINUE), CONTINUE);
    second.socket.write(post());
    await until(() => limiter.queued === 1);
    const closed = new Promise((resolve) => third.socket.once('close', resolve));
    third.socket.write(post(100 * 1024 * 1024));
    const refused = await third.receive(FULL);
    assert.match(refused, /^HTTP\/1\.1 503 [^]*\r\nConnection: close\r\n/);
    assert.equal(refused.split('HTTP/1.1').length, 2);
    await closed;

    assert.equal(second.received, '');
    first.socket.write('first');
    assert.match(await first.receive('got first'), /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
    assert.equal(await second.receive(CONTINUE), CONTINUE);
    assert.deepEqual([limiter.inflight, limiter.queued], [1, 0]);
    second.socket.write('other');
    await second.receive('got other');
    await until(() => limiter.inflight === 0);
    // Both connections go on.
    first.socket.write(`${post(5, '')}again`);
    await first.receive('got again');
    for (const { socket } of [first, second]) socket.destroy();
  });
});

test('a request runs in the context of the pipeline, with the request of Node.js', async (t) => {
  const { get, held, limiter } = await serveProtected(t);
  const first = get('/first');
  await until(() => held.length === 1);
  const [{ req, res, context }] = held;
  assert.equal(context.properties.get(HTTP_REQUEST), req);
  assert.equal(limiter.inflight, 1);
  assertAnswer(await get(), 503, 'BULKHEAD_FULL', FULL);
  res.end('done');
  assert.equal((await first).text, 'done');
  assert.equal(limiter.inflight, 0);
});

test('the context reaches a request that was asked to go on', async (t) => {
  const { port, held } = await serveProtected(t);
  const { socket, receive } = await rawConnection(port);
  socket.write(post());
  await receive(CONTINUE);
  assert.equal(held[0].context.properties.get(HTTP_REQUEST), held[0].req);
  held[0].res.end();
  socket.destroy();
});

test('listeners that are added and removed later are behind it too', async (t) => {
  const { server, get, held, inbound } = await serveProtected(t);
  server.removeAllListeners('request');
  const later = [];
  server.on('request', (_req, res) => {
    later.push(getResilienceContext() !== undefined);
    res.end('later');
  });
  server.once('request', () => later.push('once'));
  assert.equal((await get()).text, 'later');
  assert.equal((await get()).text, 'later');
  assert.deepEqual([later, held.length], [[true, 'once', true], 0]);
  inbound.dispose();
  assert.equal((await get()).status, 503);
  assert.equal(later.length, 3);
});

test('a request past its deadline is answered 504, and what is written later is counted', async (t) => {
  const { get, held, inbound } = await serveProtected(t, { timeout: 20 });
  assertAnswer(await get(), 504, 'TIMEOUT', LATE);
  held[0].res.end('late');
  assert.equal(inbound.swallowed, 1);
});

test('a listener that throws is answered 500 and is a process warning', async (t) => {
  const { server, get, limiter } = await serveProtected(t);
  server.removeAllListeners('request');
  const thrown = new Error('of the listener');
  server.on('request', () => {
    throw thrown;
  });
  const warned = once(process, 'warning');
  const { status, json } = await get();
  assert.deepEqual([status, json.error], [500, 'INTERNAL_SERVER_ERROR']);
  assert.equal((await warned)[0], thrown);
  assert.equal(limiter.inflight, 0);
});

test('skip leaves requests alone, also one that expects 100', async (t) => {
  const skip = ({ url }) => url === '/upload';
  const { port, get, held, limiter } = await serveProtected(t, { ...ONE, skip });
  const busy = get('/busy');
  await until(() => held.length === 1);
  const { socket, receive } = await rawConnection(port);
  socket.write(post());
  await receive(CONTINUE);
  assert.deepEqual([held.length, limiter.inflight], [2, 1]);
  held[1].res.end('skipped');
  await receive('skipped');
  held[0].res.end();
  assert.equal((await busy).status, 200);
  socket.destroy();
});

test('a skip that throws is answered 500, without a 100', async (t) => {
  const thrown = new Error('of skip');
  const { port, held } = await serveProtected(t, {
    ...ONE,
    skip: () => {
      throw thrown;
    },
  });
  const warned = once(process, 'warning');
  const { socket, receive } = await rawConnection(port);
  socket.write(post());
  assert.match(await receive('INTERNAL_SERVER_ERROR'), /^HTTP\/1\.1 500 /);
  assert.deepEqual([(await warned)[0], held.length], [thrown, 0]);
  socket.destroy();
});

test('the rate limit counts clients by their address', async (t) => {
  const { get, server } = await serveProtected(t, { rateLimit: { permitLimit: 1, window: '1h' } });
  server.removeAllListeners('request').on('request', (_req, res) => res.end());
  const first = await get();
  assert.deepEqual([first.status, first.headers['ratelimit-remaining']], [200, '0']);
  assert.equal((await get()).status, 429);
});

test('a client that goes while it waits to be asked gives its place back', async (t) => {
  const { port, get, held, limiter } = await serveProtected(t, {
    concurrency: { permitLimit: 1, queueLimit: 1 },
  });
  const busy = get();
  await until(() => held.length === 1);
  const { socket } = await rawConnection(port);
  socket.write(post());
  await until(() => limiter.queued === 1);
  socket.destroy();
  await until(() => limiter.queued === 0);
  held[0].res.end();
  assert.equal((await busy).status, 200);
  assert.equal(held.length, 1);
});

test('dispose refuses those that wait and those that come, and lets the others finish', async (t) => {
  const { port, get, held, limiter, inbound } = await serveProtected(t, {
    concurrency: { permitLimit: 1, queueLimit: 1 },
  });
  const busy = get();
  await until(() => held.length === 1);
  const { socket, receive } = await rawConnection(port);
  socket.write(post());
  await until(() => limiter.queued === 1);
  inbound.dispose();
  assert.match(await receive(DISPOSED), /^HTTP\/1\.1 503 /);
  assert.equal((await get()).json.error, 'PIPELINE_DISPOSED');
  held[0].res.end('finished');
  assert.equal((await busy).text, 'finished');
  socket.destroy();
});

test('another listener to checkContinue decides in its place, once the request is admitted', async (t) => {
  const { server, port, held, limiter } = await serveProtected(t);
  const asked = [];
  server.on('checkContinue', (req, res) => {
    asked.push(req.url);
    if (req.headers['x-fail']) return res.writeHead(417).end();
    res.writeContinue();
    // As the documentation of Node.js says to.
    setImmediate(() => server.emit('request', req, res));
  });
  const first = await rawConnection(port);
  first.socket.write(post());
  await first.receive(CONTINUE);
  await until(() => held.length === 1);
  assert.equal(limiter.inflight, 1);
  const second = await rawConnection(port);
  second.socket.write(post());
  await second.receive(FULL);
  held[0].res.end('done');
  await first.receive('done');
  const third = await rawConnection(port);
  third.socket.write(post(5, `${ASKS}X-Fail: 1\r\n`));
  assert.match(await third.receive('417'), /^HTTP\/1\.1 417 /);
  assert.deepEqual([asked, held.length], [['/upload', '/upload'], 1]);
  for (const { socket } of [first, second, third]) socket.destroy();
});

test('what else may be expected, and upgrades, are none of its business', async (t) => {
  const { server, port, held, inbound } = await serveProtected(t);
  inbound.dispose();
  const plain = await rawConnection(port);
  plain.get('/', 'Expect: 200-maybe\r\n');
  assert.match(await plain.receive('417'), /^HTTP\/1\.1 417 /);
  server.on('checkExpectation', (_req, res) => res.end('expected'));
  server.on('upgrade', (_req, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'));
  plain.get('/', 'Expect: 200-maybe\r\n');
  await plain.receive('expected');
  plain.get('/', 'Connection: Upgrade\r\nUpgrade: test\r\n');
  await plain.receive('101 Switching');
  assert.equal(held.length, 0);
  plain.socket.destroy();
});

test('two calls for a server admit twice, the later one first', async (t) => {
  const { server, port, get, held, limiter } = await serveProtected(t, { concurrency: { permitLimit: 2 } });
  const outer = protect(server, { concurrency: { permitLimit: 3, queueLimit: 1 } });
  const { pipeline } = outer;
  const outerLimiter = pipeline.getStrategy('ConcurrencyLimiter');
  const { socket, receive } = await rawConnection(port);
  socket.write(post());
  await receive(CONTINUE);
  const second = get();
  await until(() => held.length === 2);
  assert.deepEqual([limiter.inflight, outerLimiter.inflight], [2, 2]);
  const third = await rawConnection(port);
  third.socket.write(post());
  const refused = await third.receive(FULL);
  assert.doesNotMatch(refused, /100 Continue/);
  await until(() => outerLimiter.inflight === 2);
  for (const { res } of held) res.end('done');
  await receive('done');
  assert.equal((await second).text, 'done');
  await until(() => limiter.inflight + outerLimiter.inflight === 0);
  outer.dispose();
  assert.equal((await get()).json.error, 'PIPELINE_DISPOSED');
  assert.equal(held.length, 2);
  socket.destroy();
});

test('HTTP/2 is admitted before it is told to go on', async (t) => {
  const server = createHttp2Server(async (req, res) => res.end(`got ${await text(req)}`));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const inbound = protect(server, { concurrency: { permitLimit: 1, queueLimit: 1 } });
  const limiter = inbound.pipeline.getStrategy('ConcurrencyLimiter');
  const { port } = server.address();
  const upload = (asked) =>
    sendHttp2(port, '/', {
      method: 'POST',
      headers: { expect: '100-continue' },
      body: (request) => request.once('continue', () => asked(request)),
    }).response;
  let first;
  const responses = [upload((request) => (first = request))];
  await until(() => first !== undefined);
  responses.push(upload((request) => request.end('second')));
  await until(() => limiter.queued === 1);
  const session = connect(`http://127.0.0.1:${port}`);
  const refused = session.request({ ':method': 'POST', expect: '100-continue' });
  refused.on('continue', () => assert.fail('asked for the body'));
  const [{ ':status': status }] = await once(refused, 'response');
  assert.equal(status, 503);
  session.destroy();
  first.end('first');
  assert.deepEqual((await Promise.all(responses)).map(({ text }) => text), ['got first', 'got second']);
  await until(() => limiter.inflight === 0);
});

test('a client of Node.js keeps its body until it is asked, and is refused without', async (t) => {
  const { port, get, held } = await serveProtected(t);
  const busy = get();
  await until(() => held.length === 1);
  const headers = { Expect: '100-continue' };
  const request = httpRequest({ port, host: '127.0.0.1', method: 'POST', headers });
  request.on('continue', () => assert.fail('asked for the body'));
  request.flushHeaders();
  const [response] = await once(request, 'response');
  assert.equal(response.statusCode, 503);
  response.resume();
  await once(response, 'end');
  request.destroy();
  held[0].res.end();
  assert.equal((await busy).status, 200);
});

test('other events pass, and an emitted request is told to have had a listener', async () => {
  const server = createServer();
  const inbound = protect(server, ONE);
  const heard = [];
  server.on('custom', (...args) => heard.push(args));
  assert.equal(server.emit('custom', 1, 2), true);
  assert.equal(server.emit('unheard'), false);
  assert.deepEqual(heard, [[1, 2]]);
  assert.deepEqual(Object.keys(inbound), ['pipeline', 'overload', 'swallowed', 'abandoned', 'rejected']);
  await turn();
});

test('wrong arguments are errors that name them', () => {
  const app = () => {};
  for (const [server, shown] of [
    [app, '\\[Function: app\\]'],
    [{}, '\\{\\}'],
    [undefined, 'undefined'],
    [createNetServer(), 'Server .*'],
  ]) {
    assert.throws(() => protect(server, ONE), {
      name: 'TypeError',
      message: new RegExp(`^the server of protect must be an HTTP server, not ${shown}`),
    });
  }
  const server = createServer();
  const { emit } = server;
  assert.throws(() => protect(server), {
    name: 'TypeError',
    message: /^the options of protect must be an object/,
  });
  assert.throws(() => protect(server, { limit: 1 }), {
    name: 'TypeError',
    message: /^protect has no option 'limit'/,
  });
  assert.throws(() => protect(server, {}), { name: 'TypeError', message: /^protect needs timeout/ });
  assert.deepEqual([server.emit, server.listenerCount('checkContinue')], [emit, 0], 'nothing was changed');
});

test('a server of HTTP/2 that answers by streams is not protected, and says so', async (t) => {
  const message = /^protect admits what listeners of 'request' answer: it cannot protect a listener of 'stream'$/;
  const answers = (stream) => stream.respond({ ':status': 200 }, { endStream: true });
  for (const requests of [[], [(_req, res) => res.end()]]) {
    const server = createHttp2Server(...requests);
    server.on('stream', answers);
    const { emit } = server;
    assert.throws(() => protect(server, ONE), { name: 'TypeError', message });
    assert.deepEqual([server.emit, server.listenerCount('checkContinue')], [emit, 0], 'nothing was changed');
    server.removeListener('stream', answers);
    protect(server, ONE);
  }
  for (const requests of [[], [(_req, res) => res.end('request')]]) {
    const server = createHttp2Server(...requests);
    protect(server, ONE);
    protect(server, ONE);
    for (const add of ['on', 'once', 'prependListener', 'addListener']) {
      assert.throws(() => server[add]('stream', answers), { name: 'TypeError', message });
    }
    await assert.rejects(once(server, 'stream'), { name: 'TypeError', message });
    if (requests.length === 0) server.on('request', (_req, res) => res.end('request'));
    assert.equal(server.listenerCount('stream'), 1, "Node's own");
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    assert.equal((await sendHttp2(server.address().port, '/').response).text, 'request');
  }
});

test('a server of HTTP/1 may have events of any name', () => {
  const server = createServer();
  server.on('stream', () => {});
  protect(server, ONE);
  server.on('stream', () => {});
  assert.equal(server.listenerCount('stream'), 2);
});
