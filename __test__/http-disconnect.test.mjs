// A connection that is lost: the signal aborts, and the permit or the place in the queue is free at once.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { ResiliencePipelineBuilder, getResilienceContext, getResilienceSignal } from '@ylcnfrht/resilience';
import { forEachAdapter } from './support/http-adapters.mjs';
import { rawConnection } from './support/http-client.mjs';
import { deferred, serve, until } from './support/http-server.mjs';

/** A route whose requests wait, and tell when their signals abort. */
function heldRoute() {
  const held = [];
  return {
    held,
    handler: (req, res) => {
      const { signal } = getResilienceContext(req);
      const aborted = new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve(signal.reason));
      });
      held.push({ req, res, signal, aborted, answer: () => res.end(req.url) });
    },
  };
}

const work = (handler) => ({ 'GET /work': handler });

/** What `read()` gives right after everyone has heard that the server lost a connection. */
async function countsAtClose(server, index, read) {
  const counts = deferred();
  let connections = 0;
  server.on('connection', (socket) => {
    if (connections++ !== index) return;
    socket.once('close', () => process.nextTick(() => counts.resolve(read())));
  });
  return counts.promise;
}

function assertDisconnected(reason) {
  assert.ok(reason instanceof DOMException);
  assert.deepEqual([reason.name, reason.message], ['AbortError', 'the client disconnected']);
}

forEachAdapter((adapter) => {
  const options = { timeout: '5s', concurrency: { permitLimit: 1, queueLimit: 2 } };

  for (const [how, leave] of [
    ['closes', (socket) => socket.destroy()],
    ['resets', (socket) => socket.resetAndDestroy()],
    ['ends', (socket) => socket.end()],
  ]) {
    test(`a client that ${how} its connection while its handler runs`, async (t) => {
      const { held, handler } = heldRoute();
      const { server, port, limiter, send } = await serve(t, adapter, { options, routes: work(handler) });
      const counts = countsAtClose(server, 0, () => [limiter.inflight, limiter.queued]);
      const client = await rawConnection(port);
      client.get('/work');
      await until(() => held.length === 1);
      leave(client.socket);
      assertDisconnected(await held[0].aborted);
      assert.deepEqual(await counts, [0, 0]);
      held[0].res.end('for nobody');
      assert.equal(client.received, '');
      const second = send('/work');
      await until(() => held.length === 2);
      held[1].answer();
      assert.equal((await second.response).status, 200);
    });

    test(`a client that ${how} its connection while it is queued`, async (t) => {
      const { held, handler } = heldRoute();
      const { server, port, limiter, send } = await serve(t, adapter, { options, routes: work(handler) });
      const counts = countsAtClose(server, 1, () => [limiter.inflight, limiter.queued]);
      const first = send('/work?first');
      await until(() => held.length === 1);
      const client = await rawConnection(port);
      client.get('/work?gone');
      await until(() => limiter.queued === 1);
      const third = send('/work?third');
      await until(() => limiter.queued === 2);
      leave(client.socket);
      assert.deepEqual(await counts, [1, 1]);
      held[0].answer();
      await until(() => held.length === 2);
      held[1].answer();
      assert.equal((await first.response).text, '/work?first');
      assert.equal((await third.response).text, '/work?third');
      assert.deepEqual([held.length, client.received], [2, '']);
    });
  }

  test('the permit of a lost connection goes to the next waiter', async (t) => {
    const { held, handler } = heldRoute();
    const { port, limiter, send } = await serve(t, adapter, { options, routes: work(handler) });
    const client = await rawConnection(port);
    client.get('/work');
    await until(() => held.length === 1);
    const next = send('/work?next');
    await until(() => limiter.queued === 1);
    client.socket.destroy();
    await until(() => held.length === 2);
    held[1].answer();
    assert.equal((await next.response).text, '/work?next');
  });

  test('no sample comes of a lost connection, running, streaming or queued', async (t) => {
    const samples = [];
    const pipeline = new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({
        initialLimit: 2,
        queueLimit: 1,
        algorithm: {
          onSample: (sample) => {
            samples.push(sample.dropped);
            return sample.limit;
          },
        },
      })
      .build();
    const { held, handler } = heldRoute();
    const { port, limiter, send } = await serve(t, adapter, {
      options: { pipeline },
      routes: work(handler),
    });
    const clients = [];
    for (let index = 0; index < 3; index++) {
      clients.push(await rawConnection(port));
      clients[index].get('/work');
      await until(() => limiter.inflight + limiter.queued === index + 1);
    }
    held[1].res.write('part');
    await clients[1].receive('part');
    clients[2].socket.destroy();
    await until(() => limiter.queued === 0);
    clients[1].socket.destroy();
    clients[0].socket.destroy();
    await until(() => limiter.inflight === 0);
    assert.deepEqual(samples, []);
    const served = send('/work');
    await until(() => held.length === 3);
    held[2].answer();
    await served.response;
    assert.deepEqual([samples, limiter.limit], [[false], 2]);
  });

  test('an upload that is aborted gives its permit back', async (t) => {
    const { held, handler } = heldRoute();
    const { port, limiter } = await serve(t, adapter, { options, routes: { 'POST /upload': handler } });
    const client = await rawConnection(port);
    client.socket.write('POST /upload HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\npart');
    await until(() => held.length === 1);
    const [chunk] = await once(held[0].req, 'data');
    assert.equal(chunk.toString(), 'part');
    held[0].req.once('error', () => {});
    client.socket.destroy();
    assertDisconnected(await held[0].aborted);
    assert.equal(limiter.inflight, 0);
  });

  for (const [how, end] of [
    ['destroys its response', ({ res }) => res.destroy()],
    ['destroys its response with an error', ({ res }) => res.destroy(new Error('broken'))],
    ['destroys its connection', ({ req }) => req.socket.destroy()],
    ['destroys its connection with an error', ({ req }) => req.socket.destroy(new Error('broken'))],
    ['destroys its response after a part', ({ res }) => res.write('part', () => res.destroy())],
    ['takes its connection over and ends it', ({ req }) => req.socket.end('HTTP/1.1 101 Hijacked\r\n\r\n')],
  ]) {
    test(`a handler that ${how} gives its permit back once`, async (t) => {
      const { held, handler } = heldRoute();
      const { port, limiter, send } = await serve(t, adapter, { options, routes: work(handler) });
      const client = await rawConnection(port);
      client.get('/work');
      await until(() => held.length === 1);
      const waiting = send('/work?waiting');
      await until(() => limiter.queued === 1);
      const last = send('/work?last');
      await until(() => limiter.queued === 2);
      end(held[0]);
      await held[0].aborted;
      await until(() => held.length === 2);
      assert.deepEqual([limiter.inflight, limiter.queued], [1, 1]);
      held[1].answer();
      await until(() => held.length === 3);
      held[2].answer();
      assert.equal((await waiting.response).text, '/work?waiting');
      assert.equal((await last.response).text, '/work?last');
    });
  }

  test('a response that ends normally aborts nothing, even when its connection closes later', async (t) => {
    const { held, handler } = heldRoute();
    const { server, port, limiter } = await serve(t, adapter, { options, routes: work(handler) });
    const closed = countsAtClose(server, 0, () => limiter.inflight);
    const client = await rawConnection(port);
    client.get('/work');
    await until(() => held.length === 1);
    held[0].answer();
    await client.receive('/work');
    client.socket.destroy();
    assert.equal(await closed, 0);
    assert.equal(held[0].signal.aborted, false);
  });

  test('work that a handler leaves behind goes on when the client has its answer and leaves', async (t) => {
    const background = new ResiliencePipelineBuilder().addTimeout('5s').build();
    const release = deferred();
    let work;
    const { server, port } = await serve(t, adapter, {
      options,
      routes: {
        'GET /work': (_req, res) => {
          work = background.execute(async ({ signal }) => {
            await release.promise;
            return signal.aborted;
          });
          res.end('accepted');
        },
      },
    });
    const closed = countsAtClose(server, 0, () => undefined);
    const client = await rawConnection(port);
    client.get('/work');
    await client.receive('accepted');
    client.socket.destroy();
    await closed;
    release.resolve();
    assert.equal(await work, false);
  });

  test('pipelined requests on one connection are served in order', async (t) => {
    const { held, handler } = heldRoute();
    const { port, limiter } = await serve(t, adapter, { options, routes: work(handler) });
    const client = await rawConnection(port);
    client.get('/work?1');
    client.get('/work?2');
    await until(() => held.length === 1 && limiter.queued === 1);
    held[0].answer();
    await until(() => held.length === 2);
    held[1].answer();
    const received = await client.receive('HTTP/1.1 200 OK', 2).then(() => client.receive('/work?2'));
    assert.ok(received.indexOf('/work?1') < received.indexOf('/work?2'));
    client.socket.destroy();
  });

  test('a pipelined request whose permit the one before it waits for', async (t) => {
    const { held, handler } = heldRoute();
    const pipeline = new ResiliencePipelineBuilder()
      .addConcurrencyLimiter({
        permitLimit: 1,
        queueLimit: 2,
        priority: ({ properties }) => [...properties.values()][0].url.length,
      })
      .build();
    const { port, send, limiter } = await serve(t, adapter, {
      options: { pipeline },
      routes: work(handler),
    });
    const running = send('/work');
    await until(() => held.length === 1);
    const client = await rawConnection(port);
    client.get('/work?unimportant');
    client.get('/work?2');
    await until(() => limiter.queued === 2);
    held[0].answer();
    await until(() => held.length === 2);
    held[1].answer();
    await until(() => held.length === 3);
    held[2].answer();
    const received = await client.receive('/work?2');
    assert.ok(received.indexOf('/work?unimportant') < received.indexOf('/work?2'));
    assert.equal((await running.response).status, 200);
    client.socket.destroy();
  });

  test('a client that leaves takes all of its pipelined requests along', async (t) => {
    const { held, handler } = heldRoute();
    const { server, port, limiter } = await serve(t, adapter, {
      options: { timeout: '5s', concurrency: { permitLimit: 2, queueLimit: 2 } },
      routes: work(handler),
    });
    const counts = countsAtClose(server, 0, () => [limiter.inflight, limiter.queued]);
    const client = await rawConnection(port);
    for (let index = 0; index < 4; index++) client.get('/work');
    await until(() => held.length === 2 && limiter.queued === 2);
    client.socket.destroy();
    assert.deepEqual(await counts, [0, 0]);
    for (const { aborted } of held) assertDisconnected(await aborted);
    assert.equal(held.length, 2);
  });

  test('a rejection that cannot be written costs no permit and throws nothing', async (t) => {
    const { held, handler } = heldRoute();
    const { server, port, limiter, send } = await serve(t, adapter, {
      options: { concurrency: { permitLimit: 1 } },
      routes: work(handler),
    });
    const running = send('/work');
    await until(() => held.length === 1);
    const brokenPipe = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    const lost = new Promise((resolve) => {
      server.once('connection', (socket) => {
        socket._writev = undefined;
        socket._write = (_chunk, _encoding, callback) => callback(brokenPipe);
        socket.once('close', resolve);
      });
    });
    const client = await rawConnection(port);
    client.get('/work');
    await lost;
    assert.deepEqual([limiter.inflight, limiter.queued, held.length], [1, 0, 1]);
    held[0].answer();
    assert.equal((await running.response).status, 200);
  });

  for (const [what, requestOptions] of [
    ['rejected', { concurrency: { permitLimit: 1 } }],
    ['late', { timeout: 20, concurrency: { permitLimit: 1 } }],
  ]) {
    test(`a middleware that throws while a ${what} request is answered costs its connection`, async (t) => {
      const { held, handler } = heldRoute();
      const { port, limiter } = await serve(t, adapter, {
        before: [
          (_req, res, next) => {
            const { writeHead } = res;
            res.writeHead = (status, ...rest) => {
              if (status >= 500) throw new Error('a defect in a middleware');
              return Reflect.apply(writeHead, res, [status, ...rest]);
            };
            next();
          },
        ],
        options: requestOptions,
        routes: work(handler),
      });
      const first = await rawConnection(port);
      first.get('/work');
      await until(() => held.length === 1);
      if (what === 'rejected') {
        const second = await rawConnection(port);
        second.get('/work');
        await once(second.socket, 'close');
        held[0].answer();
        await first.receive('/work');
        first.socket.destroy();
      } else {
        const closed = once(first.socket, 'close');
        assert.equal((await held[0].aborted).code, 'TIMEOUT');
        await closed;
      }
      assert.equal(limiter.inflight, 0);
    });
  }

  test('a nested pipeline stops when the client leaves, running or waiting', async (t) => {
    const database = new ResiliencePipelineBuilder().addConcurrencyLimiter(1, 1).build();
    const calls = database.getStrategy('ConcurrencyLimiter');
    const outcomes = [];
    const { port } = await serve(t, adapter, {
      options: { timeout: '5s' },
      routes: {
        'GET /work': async () => {
          const outcome = await database.settle(() => once(getResilienceSignal(), 'abort'));
          outcomes.push(outcome);
        },
      },
    });
    const clients = [await rawConnection(port), await rawConnection(port)];
    for (const client of clients) client.get('/work');
    await until(() => calls.inflight === 1 && calls.queued === 1);
    for (const client of clients) client.socket.destroy();
    await until(() => outcomes.length === 2);
    for (const { error } of outcomes) assertDisconnected(error);
    assert.deepEqual([calls.inflight, calls.queued], [0, 0]);
  });
});
