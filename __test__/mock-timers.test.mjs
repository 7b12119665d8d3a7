import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { runChild } from './support/child.mjs';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const never = () => new Promise(() => {});
const withTimeout = (timeout) => new ResiliencePipelineBuilder().addTimeout(timeout).build();
const DAY_MS = 86_400_000;
const APIS = [['setTimeout'], ['setTimeout', 'Date']];

/** Counts the timers of the installed mock that are neither fired nor cleared. */
function watchTimers(t) {
  const pending = new Set();
  const { setTimeout, clearTimeout } = globalThis;
  globalThis.setTimeout = (callback, delay) => {
    const id = setTimeout(() => {
      pending.delete(id);
      callback();
    }, delay);
    pending.add(id);
    return id;
  };
  globalThis.clearTimeout = (id) => {
    pending.delete(id);
    clearTimeout(id);
  };
  t.after(() => Object.assign(globalThis, { setTimeout, clearTimeout }));
  return pending;
}

for (const apis of APIS) {
  test(`a tick of exactly the timeout ends the execution (${apis})`, async (t) => {
    t.mock.timers.enable({ apis });
    const running = hold(withTimeout('5m'));
    t.mock.timers.tick(299_999);
    assert.equal(running.context.signal.aborted, false);
    t.mock.timers.tick(1);
    assert.equal(running.context.signal.aborted, true);
    assert.equal((await rejection(running.promise)).timeout, 300_000);
    assertIdle();
  });

  test(`deadlines beyond 2^31 ms pass when they are due (${apis})`, async (t) => {
    t.mock.timers.enable({ apis });
    const running = hold(withTimeout('30d'));
    t.mock.timers.tick(2 ** 31 - 1);
    t.mock.timers.tick(30 * DAY_MS - 2 ** 31);
    assert.equal(running.context.signal.aborted, false);
    t.mock.timers.tick(1);
    assert.equal(running.context.signal.aborted, true);
    assert.equal((await rejection(running.promise)).timeout, 30 * DAY_MS);
  });

  test(`overlapping deadlines pass one by one, each aborting its own execution (${apis})`, async (t) => {
    t.mock.timers.enable({ apis });
    const first = hold(withTimeout(100));
    t.mock.timers.tick(50);
    const second = hold(withTimeout(100));
    const third = hold(withTimeout(60));
    const aborted = () => [first, second, third].map(({ context }) => context.signal.aborted);
    t.mock.timers.tick(49);
    assert.deepEqual(aborted(), [false, false, false]);
    t.mock.timers.tick(1);
    assert.deepEqual(aborted(), [true, false, false]);
    t.mock.timers.tick(10);
    assert.deepEqual(aborted(), [true, false, true]);
    t.mock.timers.tick(40);
    assert.deepEqual(aborted(), [true, true, true]);
    for (const { promise } of [first, second, third]) {
      assert.equal((await rejection(promise)).code, 'TIMEOUT');
    }
  });
}

test('a deadline beyond 2^31 ms is kept to the millisecond when time advances in other steps', async (t) => {
  simulate(t);
  const running = hold(withTimeout('60d'));
  for (let day = 0; day < 60; day += 1) {
    assert.equal(running.context.signal.aborted, false);
    t.mock.timers.tick(DAY_MS);
  }
  assert.equal(running.context.signal.aborted, true);
  assert.equal((await rejection(running.promise)).timeout, 60 * DAY_MS);
});

test('no timer of the tool is left when executions have ended, however they end', async (t) => {
  simulate(t);
  const pending = watchTimers(t);
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout(100)
    .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 1, queueTimeout: 50 })
    .addTimeout(80)
    .build();
  const controller = new AbortController();
  const first = hold(pipeline);
  assert.equal(pending.size, 2);
  const queued = hold(pipeline, { signal: controller.signal });
  assert.equal(pending.size, 4);
  assert.equal((await rejection(pipeline.execute(never))).reason, 'full');
  assert.equal(pending.size, 4);
  controller.abort('gone');
  assert.equal(await rejection(queued.promise), 'gone');
  assert.equal(pending.size, 2);
  const late = hold(pipeline);
  t.mock.timers.tick(50);
  assert.equal((await rejection(late.promise)).reason, 'queue-timeout');
  assert.equal(pending.size, 2);
  first.finish();
  await first.promise;
  assert.equal(pending.size, 0);
  const timedOut = hold(pipeline);
  t.mock.timers.tick(80);
  assert.equal((await rejection(timedOut.promise)).timeout, 80);
  assert.equal(pending.size, 0);
  const last = hold(pipeline);
  pipeline.dispose();
  assert.equal(pending.size, 0);
  last.finish();
  await last.promise;
  assertIdle();
});

test('a deadline armed on the real clock passes while the tool is installed', async (t) => {
  const started = performance.now();
  const real = hold(withTimeout(20));
  simulate(t);
  const fake = hold(withTimeout(20));
  // An earlier deadline makes the real timer start anew, which the tool's clearTimeout cannot stop.
  assert.equal((await rejection(real.promise)).code, 'TIMEOUT');
  assert.ok(performance.now() - started >= 20);
  assert.equal(fake.context.signal.aborted, false);
  t.mock.timers.tick(20);
  assert.equal((await rejection(fake.promise)).code, 'TIMEOUT');
});

test('a deadline armed on the real clock is cleared while the tool is installed', async (t) => {
  const child = await runChild(`
    import { mock } from 'node:test';
    import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
    const pipeline = new ResiliencePipelineBuilder().addTimeout('1h').build();
    const controller = new AbortController();
    pipeline.execute(() => new Promise(() => {}), { signal: controller.signal }).catch(console.log);
    mock.timers.enable({ apis: ['setTimeout'] });
    controller.abort('cleared');
  `);
  assert.deepEqual([child.code, child.stdout], [0, 'cleared']);
});

test('a deadline of the tool that is pending when the tool is gone ends with its execution', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const pipeline = withTimeout(20);
  const running = hold(pipeline);
  t.mock.timers.reset();
  const real = hold(pipeline);
  assert.equal((await rejection(real.promise)).code, 'TIMEOUT');
  assert.equal(running.context.signal.aborted, false);
  running.finish('in its own time');
  assert.equal(await running.promise, 'in its own time');
  assertIdle();
});

test('replaced timers do not make time jump for a limiter that measures it', async (t) => {
  const samples = [];
  const algorithm = {
    onSample: (sample) => {
      samples.push(sample.rtt);
      return sample.limit;
    },
  };
  const pipeline = new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter({ algorithm }).build();
  const across = hold(pipeline);
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1e12 });
  const inside = hold(pipeline);
  t.mock.timers.tick(1000);
  for (const { finish, promise } of [across, inside]) {
    finish();
    await promise;
  }
  assert.equal(samples[1], 1000);
  // The tool's time goes on from the last call, at a whole millisecond.
  assert.ok(samples[0] >= 1000 && samples[0] <= 1001, `${samples[0]}`);
  t.mock.timers.reset();
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 5e12 });
  const again = hold(pipeline);
  t.mock.timers.tick(2000);
  again.finish();
  await again.promise;
  assert.equal(samples[2], 2000);
});

test('a package loaded while setTimeout was replaced wakes on the real clock when that is back', async () => {
  const child = await runChild(`
    const { setTimeout } = globalThis;
    globalThis.setTimeout = () => {};
    const { ResiliencePipelineBuilder } = await import('@ylcnfrht/resilience');
    globalThis.setTimeout = setTimeout;
    const pipeline = new ResiliencePipelineBuilder().addTimeout(5).build();
    await pipeline.execute(() => new Promise(() => {})).catch(({ code }) => console.log(code));
  `);
  assert.deepEqual([child.code, child.stdout], [0, 'TIMEOUT']);
});

test('a package loaded under mock timers follows them, and real ones when these are back', async () => {
  const child = await runChild(`
    import { mock } from 'node:test';
    const apis = ['setTimeout', 'Date'];
    mock.timers.enable({ apis });
    const { ResiliencePipelineBuilder } = await import('@ylcnfrht/resilience');
    const rtts = [];
    const algorithm = { onSample: ({ rtt, limit }) => (rtts.push(rtt), limit) };
    const pipeline = new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({ algorithm })
      .addTimeout(20)
      .build();
    const never = () => new Promise(() => {});
    for (let round = 0; round < 2; round += 1) {
      const fake = pipeline.settle(never);
      mock.timers.tick(19);
      console.log('active', pipeline.getStrategy('AdaptiveConcurrencyLimiter').inflight);
      mock.timers.tick(1);
      console.log((await fake).error.code);
      mock.timers.reset();
      const started = performance.now();
      const real = pipeline.settle(never);
      mock.timers.enable({ apis });
      console.log((await real).error.code, performance.now() - started >= 20);
    }
    console.log(rtts[0], rtts[2]);
  `);
  const round = ['active 1', 'TIMEOUT', 'TIMEOUT true'];
  assert.deepEqual([child.code, child.stdout.split('\n')], [0, [...round, ...round, '20 20']]);
});

test('queue places and deadlines armed inside a callback of the tool belong to the tool', async (t) => {
  simulate(t);
  const pipeline = withTimeout(10);
  let inner;
  setTimeout(() => {
    inner = hold(pipeline);
  }, 5);
  t.mock.timers.tick(5);
  t.mock.timers.tick(9);
  assert.equal(inner.context.signal.aborted, false);
  t.mock.timers.tick(1);
  assert.equal((await rejection(inner.promise)).code, 'TIMEOUT');
  await turn();
  assertIdle();
});
