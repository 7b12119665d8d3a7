// What an adaptive limiter learns from requests.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { forEachAdapter } from './support/http-adapters.mjs';
import { rawConnection } from './support/http-client.mjs';
import { heldRoute } from './support/http-held-route.mjs';
import { deferred, serve, turn, until } from './support/http-server.mjs';

/** Resolves when a timeout of a pipeline of its own has passed. */
const pass = (ms) =>
  new ResiliencePipelineBuilder()
    .addTimeout(ms)
    .build()
    .settle(() => new Promise(() => {}), {});

forEachAdapter((adapter) => {
  test('the latency of a stream is the time to its first byte', async (t) => {
    const samples = [];
    const ready = deferred();
    const pipeline = new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({
        algorithm: {
          onSample: (sample) => {
            samples.push(sample);
            return sample.limit;
          },
        },
      })
      .addTimeout('5s')
      .build();
    const { send } = await serve(t, adapter, {
      options: { pipeline },
      routes: {
        'GET /events': (_req, res) => {
          res.write('data: 0\n\n');
          ready.resolve({ res, firstByte: performance.now() });
        },
      },
    });
    const started = performance.now();
    const { response } = send('/events');
    const { res, firstByte } = await ready.promise;
    await pass(60);
    assert.deepEqual(samples, []);
    res.end();
    await response;
    await until(() => samples.length > 0);
    assert.equal(samples.length, 1);
    const [{ rtt, dropped, inflight }] = samples;
    assert.ok(rtt > 0 && rtt <= firstByte - started, `${rtt} ms`);
    assert.deepEqual([dropped, inflight], [false, 1]);
  });

  test('an adaptive limiter learns from served requests and drops, not from client errors', async (t) => {
    const dropped = [];
    const pipeline = new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({
        algorithm: {
          onSample: (sample) => {
            dropped.push(sample.dropped);
            return sample.limit;
          },
        },
      })
      .addTimeout(60)
      .build();
    const { send } = await serve(t, adapter, {
      options: { pipeline },
      routes: {
        'GET /status/:code': (req, res) => res.writeHead(Number(req.url.slice(-3))).end(),
        'GET /later/:code': async (req, res) => {
          await turn();
          res.writeHead(Number(req.url.slice(-3))).end();
        },
        'GET /slow': () => {},
      },
    });
    for (const [path, status, samples] of [
      ['/status/200', 200, [false]],
      ['/status/304', 304, [false]],
      ['/status/400', 400, []],
      ['/later/404', 404, []],
      ['/unknown', 404, []],
      ['/status/413', 413, []],
      ['/status/503', 503, [true]],
      ['/status/500', 500, []],
      ['/later/502', 502, []],
      ['/later/504', 504, [true]],
      ['/slow', 504, [true]],
      ['/later/200', 200, [false]],
    ]) {
      assert.equal((await send(path).response).status, status, path);
      assert.deepEqual(dropped.splice(0), samples, path);
    }
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
    const { held, routes } = heldRoute();
    const { port, limiter, send } = await serve(t, adapter, {
      options: { pipeline },
      routes,
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
});
