// The context of a request, in its handler and in everything that the handler calls or listens to.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter, once } from 'node:events';
import { Writable } from 'node:stream';
import test from 'node:test';
import { ResiliencePipelineBuilder, getResilienceContext, getResilienceSignal } from '@ylcnfrht/resilience';
import { HTTP_REQUEST } from '@ylcnfrht/resilience/http';
import { forEachAdapter } from './support/http-adapters.mjs';
import { oneConnection, rawConnection } from './support/http-client.mjs';
import { LATE, assertAnswer, deferred, serve, turn, until } from './support/http-server.mjs';

forEachAdapter((adapter) => {
  const options = { timeout: '5s', concurrency: { permitLimit: 2, queueLimit: 5 } };

  test('a handler finds its context and its signal, before and after it awaits', async (t) => {
    const { send } = await serve(t, adapter, {
      options,
      routes: {
        'GET /work': async (req, res) => {
          const context = getResilienceContext();
          assert.equal(getResilienceContext(req), context);
          assert.equal(adapter.requestOf(context.properties.get(HTTP_REQUEST)), req);
          assert.equal(getResilienceSignal(), context.signal);
          await turn();
          res.end(String(getResilienceContext() === context && getResilienceSignal() === context.signal));
        },
      },
    });
    assert.equal((await send('/work').response).text, 'true');
    assert.equal(getResilienceContext(), undefined);
    assert.equal(getResilienceSignal(), undefined);
  });

  test('a request before the middleware has no context, not even that of an earlier request', async (t) => {
    const outside = [];
    const { send } = await serve(t, adapter, {
      before: [
        (req, _res, next) => {
          outside.push(getResilienceContext(), getResilienceContext(req));
          next();
        },
      ],
      options,
      routes: { 'POST /work': (req, res) => req.resume().once('end', () => res.end('done')) },
    });
    const agent = oneConnection();
    t.after(() => agent.destroy());
    for (let index = 0; index < 3; index++) {
      await send('/work', { method: 'POST', body: 'body', agent }).response;
    }
    assert.deepEqual(outside, Array(6).fill(undefined));
  });

  test('the events of a request and its response have its context', async (t) => {
    const seen = new Map();
    const closed = deferred();
    const { send } = await serve(t, adapter, {
      options,
      routes: {
        'POST /upload': (req, res) => {
          const context = getResilienceContext();
          const note = (event) => seen.set(event, getResilienceContext() === context);
          req.on('data', () => note('data'));
          req.on('end', () => {
            note('end');
            res.end('done');
          });
          req.on('close', () => note('req close'));
          res.on('finish', () => note('finish'));
          res.on('close', () => {
            note('res close');
            setImmediate(closed.resolve);
          });
        },
      },
    });
    const body = (request) => {
      request.write('one');
      setImmediate(() => request.end('two'));
    };
    assert.equal((await send('/upload', { method: 'POST', body }).response).text, 'done');
    await closed.promise;
    for (const event of ['data', 'end', 'req close', 'finish', 'res close']) {
      assert.equal(seen.get(event), true, event);
    }
  });

  test('the events of requests that waited have the context of their own request', async (t) => {
    const seen = [];
    const { send, limiter } = await serve(t, adapter, {
      options: { concurrency: { permitLimit: 1, queueLimit: 5 } },
      routes: {
        'POST /upload': (req, res) => {
          const note = (event) => {
            const context = getResilienceContext();
            seen.push([req.url, event, adapter.requestOf(context.properties.get(HTTP_REQUEST)) === req]);
            assert.equal(getResilienceContext(req), context);
          };
          req.once('data', () => note('data'));
          req.once('end', () => {
            note('end');
            res.end('done');
          });
          res.once('finish', () => note('finish'));
        },
      },
    });
    const calls = [];
    for (let index = 0; index < 3; index++) {
      const body = (request) => request.write('one');
      calls.push(send(`/upload?${index}`, { method: 'POST', body }));
      await until(() => limiter.inflight + limiter.queued === index + 1);
    }
    // The end of each lets the next one in, from inside the events of the other's response.
    for (const { request, response } of calls) {
      request.end('two');
      assert.equal((await response).text, 'done');
    }
    const events = ['data', 'end', 'finish'];
    const all = calls.flatMap((_, index) => events.map((event) => [`/upload?${index}`, event, true]));
    assert.deepEqual(seen, all);
  });

  test('a streaming parser, and what it emits, has the context of its request', async (t) => {
    const seen = [];
    /** Cuts an upload into its lines, and lets a handler behind it take them, as parsers of multipart do. */
    const parseLines = (req, _res, next) => {
      if (req.method !== 'POST') return next();
      const lines = [];
      const parser = new Writable({
        write(chunk, _encoding, callback) {
          lines.push(...chunk.toString().split('\n').filter(Boolean));
          this.emit('line', lines.at(-1));
          setImmediate(callback);
        },
      });
      parser.on('line', () => seen.push(getResilienceContext() === getResilienceContext(req)));
      parser.on('finish', () => {
        req.lines = lines;
        next();
      });
      return req.pipe(parser);
    };
    const { send } = await serve(t, adapter, {
      after: [parseLines],
      options,
      routes: {
        'POST /upload': (req, res) => {
          res.end(JSON.stringify([req.lines, getResilienceContext() === getResilienceContext(req)]));
        },
      },
    });
    const uploads = Array.from({ length: 3 }, async (_, index) => {
      const body = (request) => {
        request.write(`${index} one\n`);
        setTimeout(() => request.end(`${index} two\n`), 5);
      };
      const { json } = await send('/upload', { method: 'POST', body }).response;
      assert.deepEqual(json, [[`${index} one`, `${index} two`], true]);
    });
    await Promise.all(uploads);
    assert.ok(seen.length >= 6 && seen.every(Boolean), String(seen));
  });

  test('a handler that waited reads the stores of its own request', async (t) => {
    const store = new AsyncLocalStorage();
    const seen = [];
    const gate = new EventEmitter();
    const { send, limiter } = await serve(t, adapter, {
      before: [(req, _res, next) => store.run(req.url, next)],
      options: { concurrency: { permitLimit: 1, queueLimit: 5 } },
      routes: {
        'GET /work': async (req, res) => {
          assert.equal(adapter.requestOf(getResilienceContext().properties.get(HTTP_REQUEST)), req);
          seen.push([req.url, store.getStore()]);
          await once(gate, 'go');
          res.end();
        },
      },
    });
    const responses = [];
    for (let index = 0; index < 4; index++) {
      responses.push(send(`/work?${index}`).response);
      await until(() => limiter.inflight + limiter.queued === index + 1);
    }
    for (let index = 0; index < 4; index++) {
      await until(() => seen.length === index + 1);
      gate.emit('go');
      await responses[index];
    }
    assert.deepEqual(seen, [0, 1, 2, 3].map((index) => [`/work?${index}`, `/work?${index}`]));
  });

  test('a pipeline called in the handler stops at the deadline, with the same error', async (t) => {
    const inventory = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).addTimeout('5s').build();
    const outcome = deferred();
    const { send } = await serve(t, adapter, {
      options: { timeout: 30 },
      routes: {
        'GET /work': async (req) => {
          const stock = await inventory.settle(({ signal }) => once(signal, 'abort'));
          outcome.resolve({ stock, reason: getResilienceContext(req).signal.reason });
        },
      },
    });
    assertAnswer(await send('/work').response, 504, 'TIMEOUT', LATE);
    const { stock, reason } = await outcome.promise;
    assert.equal(stock.ok, false);
    assert.equal(stock.error, reason);
    assert.deepEqual([reason.code, reason.timeout], ['TIMEOUT', 30]);
    assert.equal(inventory.getStrategy('ConcurrencyLimiter').inflight, 0);
  });

  test('a pipeline called from an event of the request stops at the deadline too', async (t) => {
    const storage = new ResiliencePipelineBuilder().addTimeout('5s').build();
    const outcome = deferred();
    const { send } = await serve(t, adapter, {
      options: { timeout: 30 },
      routes: {
        'POST /upload': (req) => {
          req.resume();
          req.on('end', () => outcome.resolve(storage.settle(({ signal }) => once(signal, 'abort'))));
        },
      },
    });
    const body = (request) => {
      request.write('one');
      setImmediate(() => request.end('two'));
    };
    assertAnswer(await send('/upload', { method: 'POST', body }).response, 504, 'TIMEOUT', LATE);
    assert.equal((await outcome.promise).error.timeout, 30);
  });

  test('an explicit pipeline is found by its request only', async (t) => {
    const pipeline = new ResiliencePipelineBuilder({ context: 'explicit' }).addTimeout(30).build();
    const abort = deferred();
    const { send } = await serve(t, adapter, {
      options: { pipeline },
      routes: {
        'GET /work': (req) => {
          const { signal } = getResilienceContext(req);
          const ambient = [getResilienceContext()];
          req.resume().once('end', () => ambient.push(getResilienceContext()));
          signal.addEventListener('abort', () => abort.resolve([ambient, signal.reason.code]));
        },
      },
    });
    assertAnswer(await send('/work').response, 504, 'TIMEOUT', LATE);
    assert.deepEqual(await abort.promise, [[undefined, undefined], 'TIMEOUT']);
  });

  test('pipelined requests have a context each', async (t) => {
    const contexts = new Set();
    const { port } = await serve(t, adapter, {
      options: { concurrency: { permitLimit: 2, queueLimit: 5 } },
      routes: {
        'GET /work': async (req, res) => {
          await turn();
          assert.equal(adapter.requestOf(getResilienceContext().properties.get(HTTP_REQUEST)), req);
          contexts.add(getResilienceContext());
          res.end(`<${req.url}>`);
        },
      },
    });
    const client = await rawConnection(port);
    for (let index = 0; index < 5; index++) client.get(`/work?${index}`);
    const received = await client.receive('</work?', 5);
    assert.deepEqual(
      [...received.matchAll(/<\/work\?(\d)>/g)].map(([, index]) => Number(index)),
      [0, 1, 2, 3, 4],
    );
    assert.equal(contexts.size, 5);
    client.socket.destroy();
  });
});
