// A handler that goes on after its request was answered 504: whatever it does has no effect, the connection
// serves the next request, and nothing is thrown that it would not have expected before.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { pipeline as pipe } from 'node:stream/promises';
import test from 'node:test';
import { getResilienceSignal } from '@ylcnfrht/resilience';
import { forEachAdapter } from './support/http-adapters.mjs';
import { oneConnection, rawConnection } from './support/http-client.mjs';
import { LATE, assertAnswer, deferred, serve, turn, until } from './support/http-server.mjs';

/** What a handler does after its deadline, and how many late writes that is, if it can be told. */
const LATE_ACTS = {
  'answers with end': [(res) => assert.equal(res.end('late'), res), 1],
  'answers with a head': [(res) => res.writeHead(200, { 'x-late': '1' }).end('late'), 1],
  'sets headers': [(res) => res.setHeader('x-late', '1').setHeader('x-later', '2'), 0],
  'flushes headers': [(res) => res.flushHeaders(), 0],
  'removes headers': [(res) => res.removeHeader('content-type'), 0],
  'destroys the response': [(res) => res.destroy(), 0],
  'destroys the response with an error': [(res) => res.destroy(new Error('late')), 0],
  'passes an error on': [(_res, next) => next(new Error('late')), 'by the framework'],
  'passes a client error on': [
    (_res, next) => next(Object.assign(new Error('late'), { status: 400 })),
    'by the framework',
  ],
  'finds no other route': [(_res, next) => next(), 'by the framework'],
  'writes chunks': [
    async (res) => {
      assert.equal(res.write('one'), true);
      await new Promise((resolve) => res.write('two', 'utf8', resolve));
      await new Promise((resolve) => res.end('three', resolve));
    },
    3,
  ],
  'writes its head early': [(res) => res.writeEarlyHints({ link: '</a>; rel=preload' }), 0],
  'says that it processes': [(res) => res.writeProcessing(), 0],
  'lets the client go on': [(res) => res.writeContinue(), 0],
  'pipes a stream': [
    async (res) => {
      const stream = Readable.from(['one', 'two']);
      const piped = new Promise((resolve) => stream.once('end', resolve));
      stream.pipe(res);
      await piped;
    },
    3,
  ],
  'has a stream pipeline': [(res) => pipe(Readable.from(['one', 'two']), res).catch(() => {}), undefined],
  'asks whether it may answer': [
    (res) => {
      assert.equal(res.headersSent, false);
      assert.equal(res.writableEnded, true);
    },
    0,
  ],
};

forEachAdapter((adapter) => {
  for (const [name, [act, writes]] of Object.entries(LATE_ACTS)) {
    test(`${name} after the deadline`, async (t) => {
      const acted = deferred();
      const deadline = deferred();
      const { server, send, resilience } = await serve(t, adapter, {
        options: { timeout: 20, concurrency: { permitLimit: 1 } },
        routes: {
          'GET /late': async (_req, res, next) => {
            try {
              await deadline.promise;
              await act(res, next);
              await turn();
              acted.resolve();
            } catch (error) {
              acted.reject(error);
            }
          },
          'GET /next': (_req, res) => res.end('next'),
        },
      });
      let connections = 0;
      server.on('connection', () => connections++);
      const agent = oneConnection();
      t.after(() => agent.destroy());
      assertAnswer(await send('/late', { agent }).response, 504, 'TIMEOUT', LATE);
      deadline.resolve();
      await acted.promise;
      const swallowed = writes === 'by the framework' ? adapter.lateFailureWrites : writes;
      if (swallowed !== undefined) assert.equal(resilience.swallowed, swallowed);
      assert.deepEqual(await answerOf(send('/next', { agent })), [200, 'next']);
      assert.equal(connections, 1);
    });
  }

  test('whatever a handler does in the very turn of its abort comes too late', async (t) => {
    const { send, port, resilience } = await serve(t, adapter, {
      options: { timeout: 20 },
      routes: {
        'GET /late/:name': (req, res, next) => {
          const [act] = LATE_ACTS[decodeURIComponent(req.url.slice('/late/'.length))];
          getResilienceSignal().addEventListener('abort', () => act(res, next));
        },
        'GET /next': (_req, res) => res.end('next'),
      },
    });
    for (const name of Object.keys(LATE_ACTS)) {
      const path = `/late/${encodeURIComponent(name)}`;
      assertAnswer(await send(path).response, 504, 'TIMEOUT', LATE);
      const client = await rawConnection(port);
      client.get(path);
      await client.receive(LATE);
      client.get('/next');
      const received = await client.receive('next');
      assert.equal(received.split('HTTP/1.1').length, 3, name);
      client.socket.destroy();
    }
    assert.ok(resilience.swallowed > 0);
  });

  test('a log sees the status that was sent, whatever the handler does meanwhile', async (t) => {
    const logged = [];
    const { send, limiter } = await serve(t, adapter, {
      before: [
        (_req, res, next) => {
          for (const event of ['finish', 'close']) {
            res.once(event, () => logged.push([event, res.statusCode, res.headersSent]));
          }
          next();
        },
      ],
      options: { timeout: 250, concurrency: { permitLimit: 1 } },
      routes: {
        'GET /work': (_req, res) => {
          getResilienceSignal().addEventListener('abort', () => {
            res.statusCode = 500;
            res.end();
          });
        },
      },
    });
    assert.equal((await send('/work').response).status, 504);
    await until(() => logged.length === 2);
    const running = send('/work');
    await until(() => limiter.inflight === 1);
    assert.equal((await send('/work').response).status, 503);
    assert.equal((await running.response).status, 504);
    await until(() => logged.length === 6);
    assert.deepEqual(
      logged.map((entry) => entry.join(' ')),
      [504, 503, 504].flatMap((status) => [`finish ${status} true`, `close ${status} true`]),
    );
  });

  test('the permit of a late handler goes to the next waiter', async (t) => {
    const late = deferred();
    const { send, limiter } = await serve(t, adapter, {
      options: { timeout: 20, concurrency: { permitLimit: 1, queueLimit: 1 } },
      routes: {
        'GET /late': async (_req, res) => {
          await late.promise;
          res.end('late');
        },
        'GET /next': (_req, res) => res.end('next'),
      },
    });
    const first = send('/late');
    while (limiter.inflight === 0) await turn();
    const second = send('/next');
    assertAnswer(await first.response, 504, 'TIMEOUT', LATE);
    assert.deepEqual(await answerOf(second), [200, 'next']);
    late.resolve();
    await turn();
  });

  test('the answer carries nothing that the handler had said about its own body', async (t) => {
    const { send } = await serve(t, adapter, {
      options: { timeout: 20 },
      routes: {
        'GET /late': (_req, res) => {
          res.statusCode = 206;
          res.statusMessage = 'Some of it';
          res.setHeader('Content-Type', 'text/csv');
          res.setHeader('Content-Length', '1000000');
          res.setHeader('Content-Encoding', 'gzip');
          res.setHeader('Content-Disposition', 'attachment');
          res.setHeader('Transfer-Encoding', 'chunked');
          res.setHeader('ETag', '"1"');
          res.setHeader('X-Request-Id', '7');
        },
      },
    });
    const { request, response } = send('/late');
    let statusMessage;
    request.on('response', (message) => ({ statusMessage } = message));
    const answer = await response;
    assertAnswer(answer, 504, 'TIMEOUT', LATE);
    assert.equal(statusMessage, 'Gateway Timeout');
    const { headers } = answer;
    assert.equal(headers['content-length'], String(answer.text.length));
    for (const name of ['content-encoding', 'content-disposition', 'transfer-encoding', 'etag']) {
      assert.equal(headers[name], undefined, name);
    }
    assert.equal(headers['x-request-id'], '7');
  });

  test('an upload whose reader is aborted by the deadline is answered 504', async (t) => {
    const read = deferred();
    const { send, limiter } = await serve(t, adapter, {
      options: { timeout: 30, concurrency: { permitLimit: 1 } },
      routes: {
        'POST /upload': (req) => {
          const hang = async function* (source) {
            for await (const chunk of source) {
              read.resolve(chunk.toString());
              yield chunk;
            }
          };
          pipe(req, hang, async (source) => source.next().then(() => new Promise(() => {})), {
            signal: getResilienceSignal(),
          }).catch(() => {});
        },
      },
    });
    const { response, request } = send('/upload', {
      method: 'POST',
      body: (request) => request.write('part'),
    });
    assert.equal(await read.promise, 'part');
    assertAnswer(await response, 504, 'TIMEOUT', LATE);
    assert.equal(limiter.inflight, 0);
    request.destroy();
  });
});

async function answerOf({ response }) {
  const { status, text } = await response;
  return [status, text];
}
