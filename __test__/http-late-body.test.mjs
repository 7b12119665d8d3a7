// An upload that runs past its deadline: whoever reads the body, and whoever begins to only then, hears that no
// more of it comes.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable, finished } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline as pipe } from 'node:stream/promises';
import test from 'node:test';
import { promisify } from 'node:util';
import express from 'express';
import { isExecutionRejected } from '@ylcnfrht/resilience';
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';
import { allAdapters, forEachAdapter, http1Adapters } from './support/http-adapters.mjs';
import { rawConnection, send } from './support/http-client.mjs';
import { LATE, deferred, listen, serve, turn, until } from './support/http-server.mjs';

const KIB = 1024;
const http2Adapter = allAdapters.find((adapter) => !http1Adapters.includes(adapter));
const nodeAdapter = http1Adapters.find(({ name }) => name === 'node:http');

/** How a handler may read a body. Each promises what it has heard: 'end' or an error. */
const READERS = {
  'for await': async (req) => {
    for await (const _ of req);
  },
  'stream.pipeline': (req) => pipe(req, new PassThrough().resume()),
  'stream.finished': (req) => promisify(finished)(req.resume()),
  'a consumer': (req) => buffer(req),
  'plain listeners': (req) =>
    new Promise((resolve, reject) => {
      req.on('data', () => {});
      req.on('end', resolve);
      req.on('error', reject);
    }),
  'listeners of the end and the close': (req) =>
    new Promise((resolve, reject) => {
      req.on('data', () => {});
      req.on('end', resolve);
      req.on('close', () => reject(new Error('closed')));
    }),
  'a listener of aborted': (req) =>
    new Promise((resolve, reject) => {
      req.resume().on('end', resolve);
      req.on('aborted', () => reject(new Error('aborted')));
    }),
  'a paused reader': (req) =>
    new Promise((resolve, reject) => {
      req.once('data', () => req.pause());
      req.on('end', resolve);
      req.on('close', () => reject(new Error('closed')));
    }),
};
const FORMS = {
  'a small length': 'Content-Length: 2000',
  'a large length': 'Content-Length: 1000000',
  chunks: 'Transfer-Encoding: chunked',
};
/** Each way to read, of each form. */
const uploads = Object.entries(READERS).flatMap(([reader, read]) =>
  Object.entries(FORMS).map(([form, headers]) => ({ name: `${reader} of ${form}`, read, headers })),
);
const post = (headers, query = '') => `POST /upload${query} HTTP/1.1\r\nHost: test\r\n${headers}\r\n\r\n`;
/** The beginning of a body, by its headers. */
const part = (headers) => (headers === FORMS.chunks ? '3e8\r\n' : '') + 'x'.repeat(1000);
const heard = (promise) => promise.then(() => 'end', (error) => error);

forEachAdapter((adapter) => {
  test('readers of a body hear that the deadline has ended it', async (t) => {
    const outcomes = new Map();
    const { port } = await serve(t, adapter, {
      options: { timeout: 50, concurrency: { permitLimit: 100 } },
      routes: {
        'POST /upload': (req) => {
          const [, index] = req.url.split('?');
          outcomes.set(index, heard(uploads[index].read(req)));
        },
      },
    });
    await Promise.all(
      uploads.map(async ({ name, headers }, index) => {
        const { socket, receive } = await rawConnection(port);
        socket.write(post(headers, `?${index}`) + part(headers));
        assert.match(await receive('"TIMEOUT"'), /^HTTP\/1\.1 504 /);
        assert.ok((await outcomes.get(String(index))) instanceof Error, name);
        socket.destroy();
      }),
    );
    assert.equal(outcomes.size, uploads.length);
  });

  test('readers that begin after the deadline hear so, too', async (t) => {
    const requests = new Map();
    const { port } = await serve(t, adapter, {
      options: { timeout: 50 },
      routes: { 'POST /upload': (req) => requests.set(req.url.split('?')[1], req) },
    });
    await Promise.all(
      uploads.map(async ({ name, headers, read }, index) => {
        const { socket, receive } = await rawConnection(port);
        socket.write(post(headers, `?${index}`) + part(headers));
        await receive('"TIMEOUT"');
        await turn();
        const outcome = await heard(read(requests.get(String(index))));
        assert.ok(outcome instanceof Error, `${name}: ${outcome}`);
        socket.destroy();
      }),
    );
    assert.equal(requests.size, uploads.length);
  });

  test('a body that has come as a whole can be read after the deadline', async (t) => {
    // Its server throws the body away itself.
    if (adapter.name === 'Hono 3') return;
    const uploads = [];
    const { port } = await serve(t, adapter, {
      options: { timeout: 20 },
      routes: { 'POST /upload': (req) => uploads.push(req) },
    });
    const { socket, receive } = await rawConnection(port);
    for (let count = 1; count <= 2; count++) {
      socket.write(`${post('Content-Length: 5')}hello`);
      await receive('"TIMEOUT"', count);
      await turn();
      assert.equal(String(await buffer(uploads.pop())), 'hello');
    }
    socket.destroy();
  });

  test('late uploads into files leave no descriptor open', async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'late-body-'));
    t.after(() => rmSync(directory, { recursive: true }));
    const open = () =>
      readdirSync('/proc/self/fd').filter((each) => {
        try {
          return readlinkSync(`/proc/self/fd/${each}`).startsWith(directory);
        } catch {
          return false;
        }
      }).length;
    let count = 0;
    const files = [];
    const { port } = await serve(t, adapter, {
      options: { timeout: 50 },
      routes: {
        'POST /upload': async (req) => {
          const file = createWriteStream(join(directory, String(count++)));
          if (count % 5 === 0) await once(req, 'close').catch(() => {});
          files.push(new Promise((resolve) => file.once('close', resolve)));
          if (count % 2 === 0) req.pipe(file);
          else if (count % 3 === 0) req.pipe(new PassThrough()).pipe(file);
          else pipe(req, file).catch(() => {});
        },
      },
    });
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const { socket, receive } = await rawConnection(port);
        socket.write(post(FORMS['a large length']) + part());
        await receive('"TIMEOUT"');
        socket.destroy();
      }),
    );
    assert.equal(count, 20);
    await Promise.all(files);
    if (process.platform === 'linux') assert.equal(open(), 0);
  });

  test('a late handler that pipes a stream into the response, and waits for its end, comes to its end', async (t) => {
    const late = deferred();
    const ended = deferred();
    const { send, resilience } = await serve(t, adapter, {
      options: { timeout: 20 },
      routes: {
        'GET /work': async (_req, res) => {
          await late.promise;
          const closed = once(res, 'close');
          Readable.from(['one', 'two']).pipe(res);
          await once(res, 'finish');
          await closed;
          ended.resolve();
        },
      },
    });
    assert.equal((await send('/work').response).status, 504);
    await turn();
    late.resolve();
    await ended.promise;
    assert.equal(resilience.swallowed, 3);
  });

  test('events of the end are heard once, by those who were there and by those who come late', async (t) => {
    const ended = deferred();
    const seen = [];
    const { send } = await serve(t, adapter, {
      options: { timeout: 20 },
      routes: {
        'GET /work': (_req, res) => {
          res.on('finish', () => seen.push('finish'));
          res.on('close', () => {
            seen.push('close');
            setImmediate(() => {
              res.on('finish', () => seen.push('late finish'));
              res.once('close', () => seen.push('late close'));
              res.end();
              res.end();
              setImmediate(ended.resolve);
            });
          });
        },
      },
    });
    const answer = send('/work');
    await answer.response;
    await ended.promise;
    assert.deepEqual(seen, ['finish', 'close', 'late finish', 'late close']);
  });
});

test('a late handler hears that its client has left', async (t) => {
  const late = deferred();
  const { port } = await serve(t, nodeAdapter, {
    options: { timeout: 20 },
    routes: { 'GET /events': (_req, res) => late.resolve(res) },
  });
  const { socket, receive, get } = await rawConnection(port);
  get('/events');
  const res = await late.promise;
  await receive(LATE);
  await turn();
  const closed = once(res, 'close');
  socket.destroy();
  await closed;
});

test('the error of a body that has ended names the deadline', async (t) => {
  const failed = deferred();
  const { port } = await serve(t, nodeAdapter, {
    options: { timeout: 20 },
    routes: { 'POST /upload': (req) => buffer(req).catch(failed.resolve) },
  });
  const { socket, receive } = await rawConnection(port);
  socket.write(post(FORMS.chunks));
  await receive('"TIMEOUT"');
  const error = await failed.promise;
  assert.deepEqual([error.code, error.message], ['ECONNRESET', 'aborted']);
  assert.ok(isExecutionRejected(error.cause));
  socket.destroy();
});

test('the connection goes on when the rest of a small body has come, whether or not it is read late', async (t) => {
  const uploads = [];
  const { port } = await serve(t, nodeAdapter, {
    options: { timeout: 20 },
    routes: { 'POST /upload': (req) => uploads.push(req) },
  });
  const { socket, receive } = await rawConnection(port);
  const size = 60 * KIB;
  let answers = 0;
  for (const readsLate of [false, true, false]) {
    socket.write(`${post(`Content-Length: ${size}`)}${'x'.repeat(size - 1)}`);
    await until(() => uploads.length === 1);
    await receive('"TIMEOUT"', ++answers);
    await turn();
    if (readsLate) assert.ok((await heard(buffer(uploads[0]))) instanceof Error);
    uploads.splice(0);
    socket.write('x');
    socket.write(`${post('Content-Length: 1')}x`);
    await receive('"TIMEOUT"', ++answers);
    assert.equal(uploads.splice(0).length, 1);
  }
  socket.destroy();
});

test('a connection whose body was held back is closed as soon as its client has closed it', async (t) => {
  const { server, port } = await serve(t, nodeAdapter, {
    options: { timeout: 20 },
    routes: { 'POST /upload': (req) => req.once('data', () => req.pause()) },
  });
  const accepted = once(server, 'connection');
  const { socket, receive } = await rawConnection(port);
  socket.write(post('Content-Length: 100000') + 'x'.repeat(99_000));
  const [served] = await accepted;
  await receive('"TIMEOUT"');
  const started = performance.now();
  if (!served.closed) await once(served, 'close');
  assert.ok(performance.now() - started < 900, 'it was not the time limit');
  socket.destroy();
});

test('an upload that is passed on lets go of the other server', async (t) => {
  const upstream = createServer((req) => req.resume().on('error', () => {}));
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const left = new Promise((resolve) => upstream.on('connection', (socket) => socket.on('close', resolve)));
  t.after(() => upstream.close());
  const { port } = await serve(t, nodeAdapter, {
    options: { timeout: 50 },
    routes: {
      'POST /upload': (req) => {
        req.pipe(httpRequest({ method: 'POST', host: '127.0.0.1', port: upstream.address().port }));
      },
    },
  });
  const { socket, receive } = await rawConnection(port);
  socket.write(post(FORMS.chunks) + part(FORMS.chunks));
  await receive('"TIMEOUT"');
  await left;
  socket.destroy();
});

for (const [name, parser] of [
  ['express.json', express.json()],
  ['express.raw', express.raw({ type: () => true })],
]) {
  test(`${name} before and after the deadline goes on`, async (t) => {
    const failures = [];
    const app = express();
    app.use(resilienceMiddleware({ timeout: 20 }));
    app.post('/upload', parser);
    app.post('/late', (req, res, next) => setTimeout(parser, 60, req, res, next));
    app.use(() => failures.push('passed on, with no body'));
    app.use((error, _req, _res, _next) => failures.push(error.type));
    const server = await listen(t, app);
    for (const path of ['/upload', '/late']) {
      const { socket, receive } = await rawConnection(server.address().port);
      socket.write(post('Content-Type: application/json\r\nContent-Length: 1000').replace('/upload', path));
      socket.write('{"a":');
      await receive('"TIMEOUT"');
      await until(() => failures.length === 1);
      assert.match(failures.pop(), path === '/upload' ? /request\.aborted/ : /stream\.not\.readable|passed on/);
      socket.destroy();
    }
  });
}

test('over HTTP/2 readers of a body hear that the deadline has ended it', async (t) => {
  const uploads = [];
  let read;
  const { port } = await serve(t, http2Adapter, {
    options: { timeout: 20 },
    routes: {
      'POST /upload': (req) => uploads.push({ req, outcome: read && heard(read(req)) }),
    },
  });
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  const readers = Object.values(READERS);
  for (const late of [false, true]) {
    for (const each of readers) {
      read = late ? undefined : each;
      const stream = session.request({ ':path': '/upload', ':method': 'POST' });
      stream.on('error', () => {}).write('x'.repeat(1000));
      const [headers] = await once(stream, 'response');
      assert.equal(headers[':status'], 504);
      await until(() => uploads.length === 1);
      const { req, outcome } = uploads.pop();
      await until(() => req.stream === undefined || req.stream.closed);
      await turn();
      assert.ok((await (outcome ?? heard(each(req)))) instanceof Error, `${each}`);
      stream.destroy();
    }
  }
  session.destroy();
});

test('an upload that its client leaves after the deadline is ended for those who read late', async (t) => {
  const uploads = [];
  const { port } = await serve(t, nodeAdapter, {
    options: { timeout: 20 },
    routes: { 'POST /upload': (req) => uploads.push(req) },
  });
  const { request, response } = send(port, '/upload', {
    method: 'POST',
    headers: { 'content-length': 2000 },
    body: (client) => client.write('part'),
  });
  assert.equal((await response).status, 504);
  request.destroy();
  assert.ok((await heard(buffer(uploads[0]))) instanceof Error);
});
