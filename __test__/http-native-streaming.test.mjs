// Streams that a handler returns in its framework's own way.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import test from 'node:test';
import { ResiliencePipelineBuilder, getResilienceSignal } from '@ylcnfrht/resilience';
import { allAdapters, forEachAdapter } from './support/http-adapters.mjs';
import { deferred, serve, until } from './support/http-server.mjs';

forEachAdapter((adapter) => {
  test("a stream goes on past the deadline, and its latency is the first byte's", async (t) => {
    const samples = [];
    const pipeline = new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({
        algorithm: {
          onSample: (sample) => {
            samples.push(sample);
            return sample.limit;
          },
        },
      })
      .addTimeout(250)
      .build();
    const stream = new Readable({ read() {} });
    const ready = deferred();
    const { send, resilience } = await serve(t, adapter, {
      options: { pipeline },
      answers: {
        'GET /events': ({ res }) => {
          ready.resolve({ res, signal: getResilienceSignal() });
          stream.push('data: 0\n\n');
          return { stream, headers: { 'content-type': 'text/event-stream' } };
        },
      },
    });
    const started = performance.now();
    const { response } = send('/events');
    const { res, signal } = await ready.promise;
    await until(() => res.headersSent);
    const firstByte = performance.now() - started;
    await until(() => performance.now() - started > 400);
    assert.deepEqual([signal.aborted, samples.length], [false, 0]);
    stream.push('data: 1\n\n');
    stream.push(null);
    const { status, text } = await response;
    assert.deepEqual([status, text], [200, 'data: 0\n\ndata: 1\n\n']);
    await until(() => samples.length === 1);
    assert.ok(samples[0].rtt <= firstByte, `${samples[0].rtt} ms for a first byte within ${firstByte} ms`);
    assert.deepEqual([samples[0].dropped, resilience.swallowed], [false, 0]);
  });

  test('with body, the deadline cuts a stream off and aborts its handler', async (t) => {
    const abort = deferred();
    const { send, limiter } = await serve(t, adapter, {
      options: { timeout: { timeout: 100, body: true }, concurrency: { permitLimit: 1 } },
      answers: {
        'GET /events': () => {
          const signal = getResilienceSignal();
          signal.addEventListener('abort', () => abort.resolve(signal.reason));
          const stream = new Readable({ read() {} });
          stream.push('data: 0\n\n');
          return { stream };
        },
      },
    });
    await assert.rejects(send('/events').response);
    assert.equal((await abort.promise).code, 'TIMEOUT');
    assert.equal(limiter.inflight, 0);
  });
}, allAdapters);
