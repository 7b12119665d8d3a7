// The documented examples, run as they are written, with a dependency that the test controls.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  AdaptiveLimitProvider,
  ResiliencePipelineBuilder,
  getResilienceSignal,
  vegas,
} from '@ylcnfrht/resilience';
import { HTTP_REQUEST } from '@ylcnfrht/resilience/http';
import { hold, rejection, simulate, turn } from './support/hold.mjs';

test('an adaptive limiter and a timeout in front of a fetch', async (t) => {
  simulate(t);
  const seen = [];
  const fetch = (url, { signal }) => {
    seen.push([url, signal.aborted]);
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ minLimit: 5, maxLimit: 200 })
    .addTimeout('2s')
    .build();
  const url = 'https://search.internal/q?term=resilience';
  const error = rejection(pipeline.execute(({ signal }) => fetch(url, { signal })));
  assert.deepEqual(seen, [[url, false]]);
  t.mock.timers.tick(2000);
  assert.equal((await error).code, 'TIMEOUT');
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  assert.deepEqual([limiter.limit, limiter.inflight], [18, 0]);
});

test('vegas, tuned, with a lower start', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ algorithm: vegas({ alpha: 2, beta: 4 }), initialLimit: 10 })
    .build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  assert.equal(limiter.limit, 10);
  const overload = () => Promise.reject(Object.assign(new Error('busy'), { status: 503 }));
  await rejection(pipeline.execute(overload));
  assert.equal(limiter.limit, 6);
});

test("an algorithm of one's own: halve on overload, otherwise creep up by one per call", async () => {
  const halving = {
    onSample: ({ dropped, limit }) => (dropped ? limit / 2 : limit + 1),
  };
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ algorithm: halving })
    .build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  const held = Array.from({ length: 20 }, () => hold(pipeline));
  for (const { finish } of held.slice(0, 5)) finish();
  await Promise.all(held.slice(0, 5).map(({ promise }) => promise));
  assert.equal(limiter.limit, 25);
  await turn();
  held[5].fail(Object.assign(new Error('busy'), { code: 'ECONNRESET' }));
  await rejection(held[5].promise);
  assert.equal(limiter.limit, 12);
  for (const { fail } of held.slice(6)) fail(Object.assign(new Error('busy'), { code: 'ECONNRESET' }));
  await Promise.allSettled(held.map(({ promise }) => promise));
  assert.equal(limiter.limit, 12, 'calls admitted before the cut cannot cut again');
});

test('a provider and onLimitChanged watch the limit from outside', async () => {
  const lines = [];
  const provider = new AdaptiveLimitProvider();
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({
      limitProvider: provider,
      onLimitChanged: ({ oldLimit, newLimit, sample }) =>
        lines.push(`limit ${oldLimit} -> ${newLimit} (rtt ${sample.rtt >= 0} ms)`),
    })
    .build();
  const held = hold(pipeline);
  assert.deepEqual(
    { limit: provider.limit, inflight: provider.inflight, queued: provider.queued },
    { limit: 20, inflight: 1, queued: 0 },
  );
  held.fail(Object.assign(new Error('busy'), { statusCode: 500 }));
  await rejection(held.promise);
  assert.deepEqual(lines, ['limit 20 -> 18 (rtt true ms)']);
  assert.equal(provider.limit, 18);
});

test('a response that says overload is a drop by shouldDrop', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({
      shouldDrop: ({ outcome }) => !outcome.ok || outcome.result.status === 503,
    })
    .build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  await pipeline.execute(() => ({ status: 503 }));
  assert.equal(limiter.limit, 18);
  await pipeline.execute(() => ({ status: 200 }));
  assert.equal(limiter.limit, 18);
  await rejection(pipeline.execute(() => Promise.reject(new Error('any'))));
  assert.equal(limiter.limit, 16);
});

test('an inbound pipeline with priorities: checkout pushes out the newest of the lowest', async (t) => {
  simulate(t);
  const req = (ctx) => ctx.properties.get(HTTP_REQUEST);

  /** Lower runs sooner. */
  function priority(ctx) {
    const r = req(ctx);
    if (r.path.startsWith('/checkout')) return 0; // revenue
    if (r.headers['x-plan'] === 'paid') return 1;
    if (r.method === 'GET') return 5;
    return 10; // background syncs, batch exports
  }

  const inbound = new ResiliencePipelineBuilder({ name: 'inbound' })
    .addConcurrencyLimiter({
      permitLimit: 200,
      queueLimit: 200,
      queueTimeout: '500ms',
      priority,
      // Queue full: a checkout request pushes out the newest queued request of the lowest priority.
      overflow: 'drop-lowest-priority',
    })
    .addTimeout('5s')
    .build();
  const limiter = inbound.getStrategy('ConcurrencyLimiter');
  const send = (method, path, headers = {}) =>
    hold(inbound, { properties: new Map([[HTTP_REQUEST, { method, path, headers }]]) });

  const running = Array.from({ length: 200 }, () => send('GET', '/search'));
  const exports = Array.from({ length: 100 }, () => send('POST', '/export'));
  const searches = Array.from({ length: 100 }, () => send('GET', '/search'));
  assert.deepEqual([limiter.inflight, limiter.queued], [200, 200]);

  const checkout = send('POST', '/checkout/42');
  const dropped = await rejection(exports[99].promise);
  assert.deepEqual(
    [dropped.code, dropped.statusCode, dropped.reason, dropped.pipelineName],
    ['BULKHEAD_FULL', 503, 'dropped', 'inbound'],
  );
  const paid = send('GET', '/search', { 'x-plan': 'paid' });
  assert.equal((await rejection(exports[98].promise)).reason, 'dropped');
  assert.equal((await rejection(send('POST', '/export').promise)).reason, 'full');

  running[0].finish();
  await running[0].promise;
  await turn();
  assert.equal(checkout.running, true);
  running[1].finish();
  await running[1].promise;
  await turn();
  assert.equal(paid.running, true);
  running[2].finish();
  await running[2].promise;
  await turn();
  assert.equal(searches[0].running, true);
  assert.equal(
    exports.some((one) => one.running),
    false,
  );
  assert.equal(
    running.slice(3).every(({ context }) => !context.signal.aborted),
    true,
  );

  t.mock.timers.tick(500);
  assert.equal((await rejection(exports[0].promise)).reason, 'queue-timeout');
  assert.equal(limiter.queued, 0);
  t.mock.timers.tick(4500);
  assert.equal((await rejection(running[3].promise)).code, 'TIMEOUT');
  assert.equal(limiter.inflight, 0);
});

test('an inbound adaptive pipeline exposes its live limit', async () => {
  const limit = new AdaptiveLimitProvider();
  const inbound = new ResiliencePipelineBuilder({ name: 'inbound' })
    .addAdaptiveConcurrencyLimiter({
      algorithm: 'gradient2',
      initialLimit: 50,
      minLimit: 10, // never shed down to nothing
      maxLimit: 500,
      queueLimit: 50,
      queueTimeout: '300ms',
      limitProvider: limit,
    })
    .addTimeout('5s')
    .build();
  const held = Array.from({ length: 101 }, () => hold(inbound));
  assert.deepEqual([limit.limit, limit.inflight, limit.queued], [50, 50, 50]);
  assert.equal((await rejection(held[100].promise)).reason, 'full');
  const overload = Object.assign(new Error('busy'), { status: 503 });
  for (const { fail } of held) fail(overload);
  await Promise.allSettled(held.map(({ promise }) => promise));
  for (let round = 0; round < 60; round += 1)
    await rejection(inbound.execute(() => Promise.reject(overload)));
  assert.deepEqual([limit.limit, limit.inflight, limit.queued], [10, 0, 0]);
});

test('a bulkhead with a fallback: shed is an empty list', async (t) => {
  simulate(t);
  const recommendations = new ResiliencePipelineBuilder({ name: 'recommendations' })
    .addFallback({ fallbackAction: () => [] }) // shed = empty list, the page still renders
    .addConcurrencyLimiter({ permitLimit: 20, queueLimit: 0 })
    .addTimeout('300ms')
    .build();
  const held = Array.from({ length: 20 }, () => hold(recommendations));
  assert.deepEqual(await recommendations.execute(() => ['never']), []);
  held[0].finish(['book']);
  assert.deepEqual(await held[0].promise, ['book']);
  t.mock.timers.tick(300);
  assert.deepEqual(await Promise.all(held.slice(1).map(({ promise }) => promise)), Array(19).fill([]));
  assert.deepEqual(await recommendations.execute(() => Promise.reject(new Error('down'))), []);
  assert.deepEqual(await recommendations.execute(() => ['up']), ['up']);
});

test('a nested pipeline inherits the deadline of the request, and plain code reads its signal', async (t) => {
  simulate(t);
  const request = new ResiliencePipelineBuilder({ name: 'inbound' }).addTimeout('1s').build();
  const inventory = new ResiliencePipelineBuilder({ name: 'inventory' }).addTimeout('2s').build();
  const signals = {};
  const stockOf = () =>
    inventory.execute(({ signal }) => {
      signals.inner = signal;
      return new Promise(() => {});
    });
  async function audit() {
    signals.plain = getResilienceSignal();
  }
  let stock;
  const handled = rejection(
    request.execute(({ signal }) => {
      signals.request = signal;
      audit();
      stock = rejection(stockOf());
      return stock;
    }),
  );
  assert.equal(signals.plain, signals.request);
  t.mock.timers.tick(1000);
  const error = await handled;
  assert.equal(error.pipelineName, 'inbound');
  assert.equal(await stock, error);
  assert.equal(signals.inner.reason, error);
  assert.equal(getResilienceSignal(), undefined);
});
