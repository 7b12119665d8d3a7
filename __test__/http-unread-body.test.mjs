// What becomes of a body that has not been read when the answer goes out.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createTlsServer } from 'node:https';
import { connect as connectHttp2, constants } from 'node:http2';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import { connect as connectTls } from 'node:tls';
import { withResilience } from '@ylcnfrht/resilience/http';
import { allAdapters, forEachAdapter, http1Adapters } from './support/http-adapters.mjs';
import { runChild } from './support/child.mjs';
import { rawConnection } from './support/http-client.mjs';
import { heldRoute } from './support/http-held-route.mjs';
import { FULL, deferred, serve, until } from './support/http-server.mjs';

const KIB = 1024;
const SMALL = 64 * KIB;
const HUGE = 100 * KIB * KIB;
/** As long as a connection stays for a client that does not close it. */
const LINGER_MS = 1000;
/** What Node.js and this package may hold of a body that nobody reads. */
const HELD = 512 * KIB;

const nodeAdapter = http1Adapters.find(({ name }) => name === 'node:http');
const http2Adapter = allAdapters.find((adapter) => !http1Adapters.includes(adapter));

/** The end of a connection, whatever error it has met. */
const happened = (socket, event) => new Promise((resolve) => socket.once(event, resolve));

/** A server whose one permit is taken, so that it refuses uploads; the test has to call `free` at its end. */
async function serveFull(t, adapter, options) {
  const { held, handler } = heldRoute();
  const uploads = [];
  let holder;
  // Before the server ends: a test that fails must not leave the permit taken.
  t.after(() => holder?.request.destroy());
  const served = await serve(t, adapter, {
    options: { concurrency: { permitLimit: 1 }, ...options },
    routes: {
      'GET /work': handler,
      'GET /free': (_req, res) => res.end('free'),
      'POST /upload': (req, res) => uploads.push({ req, res }),
    },
  });
  const accepted = acceptedBy(served.server);
  holder = served.send('/work');
  await until(() => held.length === 1);
  accepted.splice(0);
  const free = async () => {
    held[0].answer();
    assert.equal((await holder.response).status, 200);
    assert.deepEqual([uploads.length, accepted.errors], [0, []]);
  };
  return { ...served, accepted, uploads, free };
}

/** The connections that a server accepts, each with a promise of its end; and the errors that it sees. */
function acceptedBy(server) {
  const accepted = [];
  accepted.errors = [];
  server.on('clientError', (error) => accepted.errors.push(error.code));
  server.on(server.setSecureContext ? 'secureConnection' : 'connection', (socket) => {
    accepted.push({ socket, closed: happened(socket, 'close') });
  });
  return accepted;
}

const post = (headers) => `POST /upload HTTP/1.1\r\nHost: test\r\n${headers}\r\n\r\n`;

/** Writes without an end, as fast as the connection takes it, until the connection is closed. */
function flood(socket) {
  const chunk = Buffer.alloc(256 * KIB);
  const write = () => {
    while (!socket.closed && socket.writable && socket.write(chunk));
  };
  socket.on('drain', write);
  write();
}

/** The one answer in what a connection has received, of which it has nothing else. */
function assertRefused(received, connection) {
  const [head, body, ...others] = received.split('\r\n\r\n');
  assert.deepEqual(others, []);
  assert.match(head, /^HTTP\/1\.1 503 Service Unavailable\r\n/);
  const [, found] = /\r\nConnection: (\S+)/i.exec(head);
  assert.equal(found, connection);
  assert.deepEqual(JSON.parse(body), { statusCode: 503, error: 'BULKHEAD_FULL', message: FULL });
}

forEachAdapter((adapter) => {
  for (const [form, headers] of [
    ['a length', `Content-Length: ${HUGE}`],
    ['chunks', 'Transfer-Encoding: chunked'],
  ]) {
    test(`a huge upload with ${form} is refused unread: the answer arrives, then it is closed`, async (t) => {
      const { port, accepted, free } = await serveFull(t, adapter);
      const start = performance.now();
      const { socket, receive } = await rawConnection(port);
      const [ended, closed] = [happened(socket, 'end'), happened(socket, 'close')];
      const failures = [];
      socket.on('error', () => failures.push('before the end'));
      ended.then(() => failures.push('end'));
      socket.write(post(headers));
      // One chunk without an end, which the flood then is.
      if (form === 'chunks') socket.write(`${HUGE.toString(16)}\r\n`);
      flood(socket);
      const received = await receive(FULL);
      await ended;
      assert.equal(failures[0], 'end');
      assertRefused(received, 'close');
      await Promise.all([closed, accepted[0].closed]);
      assert.ok(performance.now() - start >= LINGER_MS - 1, 'the client has its time');
      assert.equal(accepted.length, 1);
      assert.ok(accepted[0].socket.bytesRead < HELD, `${accepted[0].socket.bytesRead} bytes were read`);
      await free();
    });
  }

  test('a small rest is read, and the connection goes on', async (t) => {
    const { port, accepted, limiter, free } = await serveFull(t, adapter);
    const { socket, receive, get } = await rawConnection(port);
    socket.write(post(`Content-Length: ${SMALL}`));
    assertRefused(await receive(FULL), 'keep-alive');
    socket.write(Buffer.alloc(SMALL));
    await free();
    await until(() => limiter.inflight === 0);
    get('/free', 'Connection: close\r\n');
    const closed = happened(socket, 'close');
    assert.match(await receive('free'), /HTTP\/1\.1 200 OK/);
    await Promise.all([closed, accepted[0].closed]);
    assert.equal(accepted.length, 1);
  });

  test('a small upload that is already there is refused, and the connection goes on', async (t) => {
    const { port, accepted, free } = await serveFull(t, adapter);
    const { socket, receive } = await rawConnection(port);
    for (let count = 1; count <= 3; count++) {
      socket.write(`${post('Content-Length: 5')}hello`);
      await receive(FULL, count);
    }
    assert.equal(accepted.length, 1);
    socket.end();
    await free();
  });
});

test('a client that asked for the end of its connection gets the answer to a small upload', async (t) => {
  const { port, accepted, free } = await serveFull(t, nodeAdapter);
  const { socket, receive } = await rawConnection(port);
  const ended = happened(socket, 'end');
  socket.write(post(`Connection: close\r\nContent-Length: ${SMALL}`));
  const received = await receive(FULL);
  await ended;
  assertRefused(received, 'close');
  await accepted[0].closed;
  await free();
});

test('a connection is closed as soon as its client has closed it', async (t) => {
  const { server, port, accepted, free } = await serveFull(t, nodeAdapter);
  const order = [];
  server.on('connection', (socket) => {
    const number = accepted.length;
    socket.once('close', () => order.push(number));
  });
  const refused = async (allowHalfOpen) => {
    const { socket, receive } = await rawConnection(port);
    socket.allowHalfOpen = allowHalfOpen;
    socket.write(post('Transfer-Encoding: chunked'));
    assertRefused(await receive(FULL), 'close');
  };
  // The first one leaves its side open, and has been refused longer.
  await refused(true);
  await refused(false);
  await Promise.all(accepted.map(({ closed }) => closed));
  assert.deepEqual(order, [2, 1]);
  await free();
});

test('no request is taken from a connection after the answer that closes it', async (t) => {
  const { port, accepted, free } = await serveFull(t, nodeAdapter);
  const { socket, receive } = await rawConnection(port);
  socket.allowHalfOpen = true;
  socket.write(post('Transfer-Encoding: chunked'));
  await receive(FULL);
  await free();
  socket.write('5\r\nhello\r\n0\r\n\r\nGET /free HTTP/1.1\r\nHost: test\r\n\r\n');
  const closed = happened(socket, 'close');
  socket.end();
  await Promise.all([closed, accepted[0].closed]);
  await assert.rejects(receive('free'));
});

test('the answer to an upload waits for those before it on its connection', async (t) => {
  const { held, handler } = heldRoute();
  const refused = deferred();
  const { server, port } = await serve(t, nodeAdapter, {
    options: { concurrency: { permitLimit: 1 }, onRejected: refused.resolve },
    routes: { 'GET /work': handler },
  });
  const accepted = acceptedBy(server);
  const { socket, receive, get } = await rawConnection(port);
  const ended = happened(socket, 'end');
  get('/work');
  await until(() => held.length === 1);
  socket.write(post(`Content-Length: ${HUGE}`));
  flood(socket);
  await refused.promise;
  held[0].answer();
  const received = await receive(FULL);
  await ended;
  const [first, second] = received.split(/(?<=\/work)(?=HTTP)/);
  assert.match(first, /^HTTP\/1\.1 200 OK/);
  assertRefused(second, 'close');
  await accepted[0].closed;
  assert.ok(accepted[0].socket.bytesRead < HELD, `${accepted[0].socket.bytesRead} bytes were read`);
});

test('a deadline closes the connection of a handler that is in the middle of its body', async (t) => {
  const chunks = deferred();
  const { server, port } = await serve(t, nodeAdapter, {
    options: { timeout: 30 },
    routes: { 'POST /upload': (req) => req.once('data', chunks.resolve) },
  });
  const accepted = acceptedBy(server);
  const { socket, receive } = await rawConnection(port);
  const ended = happened(socket, 'end');
  socket.write(`${post('Content-Length: 10')}hello`);
  assert.equal(String(await chunks.promise), 'hello');
  assert.match(await receive('"TIMEOUT"'), /^HTTP\/1\.1 504 [^]*\r\nConnection: close\r\n/);
  await ended;
  await accepted[0].closed;
});

test('a deadline leaves the connection of a body that was read alone, and of one unread', async (t) => {
  const read = [];
  const { server, port } = await serve(t, nodeAdapter, {
    options: { timeout: 30 },
    routes: {
      'POST /upload': async (req) => read.push(await text(req)),
      'POST /unread': () => {},
    },
  });
  const accepted = acceptedBy(server);
  const { socket, receive } = await rawConnection(port);
  socket.write(`${post('Content-Length: 5')}hello`);
  await receive('"TIMEOUT"');
  socket.write(`${post('Content-Length: 5')}again`);
  await receive('"TIMEOUT"', 2);
  socket.write(`${post('Content-Length: 5').replace('upload', 'unread')}he`);
  await receive('"TIMEOUT"', 3);
  socket.write(`llo${post('Content-Length: 4')}last`);
  const received = await receive('"TIMEOUT"', 4);
  assert.doesNotMatch(received, /Connection: close/);
  assert.deepEqual([read, accepted.length], [['hello', 'again', 'last'], 1]);
  socket.end();
});

test('a handler that holds its body back does not hold up the connection', async (t) => {
  const { server, port } = await serve(t, nodeAdapter, {
    options: { timeout: 30 },
    routes: { 'POST /upload': (req) => req.once('data', () => req.pause()) },
  });
  const accepted = acceptedBy(server);
  const { socket, receive } = await rawConnection(port);
  const ended = happened(socket, 'end');
  socket.write(post(`Content-Length: ${4 * SMALL}`));
  socket.write(Buffer.alloc(4 * SMALL));
  assert.match(await receive('"TIMEOUT"'), /\r\nConnection: close\r\n/);
  await ended;
  await accepted[0].closed;
});

test('a refused upload of HTTP/2 closes its stream without an error, and the session goes on', async (t) => {
  const { server, port, free } = await serveFull(t, http2Adapter);
  const streams = [];
  server.on('stream', (stream) => streams.push(stream));
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  for (const length of [1, 256 * KIB, 256 * KIB]) {
    const stream = session.request({ ':path': '/upload', ':method': 'POST' });
    stream.write(Buffer.alloc(length));
    const ended = happened(stream, 'end');
    let body = '';
    stream.on('data', (chunk) => (body += chunk));
    const [{ ':status': status }] = await once(stream, 'response');
    await ended;
    assert.deepEqual([status, JSON.parse(body).error], [503, 'BULKHEAD_FULL']);
    assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
    await until(() => streams.length > 0 && streams.at(-1).closed);
    // A client of Node.js waits to write the rest, for ever.
    stream.destroy();
  }
  assert.equal(streams.length, 3);
  await free();
  const stream = session.request({ ':path': '/free' });
  assert.equal(await text(stream), 'free');
  session.destroy();
});

test('over TLS the answer to a huge upload arrives, and the connection is closed', async (t) => {
  const options = {
    ciphers: 'PSK',
    maxVersion: 'TLSv1.2',
    pskCallback: () => Buffer.alloc(32, 1),
  };
  const resilience = withResilience(() => {}, { concurrency: { permitLimit: 1 } });
  resilience.dispose();
  const server = createTlsServer(options, resilience).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = acceptedBy(server);
  const socket = connectTls({
    ...options,
    port: server.address().port,
    pskCallback: () => ({ psk: Buffer.alloc(32, 1), identity: 'test' }),
    checkServerIdentity: () => undefined,
  });
  await once(socket, 'secureConnect');
  socket.setEncoding('latin1');
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  socket.on('error', () => {});
  const ended = happened(socket, 'end');
  socket.write(post(`Content-Length: ${HUGE}`));
  flood(socket);
  await ended;
  assert.match(received, /^HTTP\/1\.1 503 [^]*\r\nConnection: close\r\n[^]*"PIPELINE_DISPOSED"[^]*}$/);
  await accepted[0].closed;
  assert.ok(accepted[0].socket.bytesRead < HELD, `${accepted[0].socket.bytesRead} bytes were read`);
  server.close();
  await once(server, 'close');
});

test('a server that is closed meanwhile says so before its process ends', async () => {
  const { code, stdout } = await runChild(`
    import { createServer } from 'node:http';
    import { connect } from 'node:net';
    import { withResilience } from '@ylcnfrht/resilience/http';

    const resilience = withResilience(() => {}, { concurrency: { permitLimit: 1 } });
    resilience.dispose();
    const server = createServer(resilience).listen(0, '127.0.0.1', () => {
      const client = connect(server.address().port, '127.0.0.1', () => {
        client.write('${post(`Content-Length: ${HUGE}`).replaceAll('\r\n', '\\r\\n')}');
        // More than the server reads, and as much as the system takes: nothing here is left to do.
        client.write(Buffer.alloc(${HELD}));
      });
      client.on('error', () => {});
      client.once('data', () => client.unref());
    });
    server.once('connection', () => server.close(() => console.log('closed')));
  `);
  assert.deepEqual([code, stdout], [0, 'closed']);
});
