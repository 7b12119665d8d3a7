'use strict';

// What has to hold under the fake timers of every tool.

const assert = require('node:assert/strict');
const { IncomingMessage, ServerResponse } = require('node:http');
const { Socket } = require('node:net');
const { performance } = require('node:perf_hooks');

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** Taken before any tool replaces it. */
const realNow = performance.now.bind(performance);

const never = () => new Promise(() => {});

/** A promise's rejection. */
const rejection = (promise) =>
  promise.then(
    (value) => assert.fail(`resolved with ${value}`),
    (error) => error,
  );

/** Starts an execution whose callback runs until `finish` or `fail` is called. */
function hold(pipeline, options) {
  const held = { aborted: () => held.signal.aborted };
  held.promise = pipeline.execute(({ signal }) => {
    held.signal = signal;
    return new Promise((resolve, reject) => Object.assign(held, { finish: resolve, fail: reject }));
  }, options);
  held.promise.catch(() => {});
  return held;
}

/**
 * @typedef {object} Tool
 * @property {() => void} install Replaces the timers.
 * @property {() => void} uninstall Brings the real ones back; may be called twice.
 * @property {(ms: number) => void} advance
 * @property {(ms: number) => Promise<void>} [advanceAsync] Where the tool has it.
 * @property {() => void} runAll Runs timers until none is left.
 * @property {() => number} count Timers that are pending.
 * @property {(date: number) => void} [setDate] Where the tool has it.
 * @property {boolean} hasClock Whether it replaces a clock, too.
 * @property {() => typeof import('../../index.js')} load Loads a copy of the package of its own.
 */

/** @type {Record<string, (tool: Tool, own: typeof import('../../index.js')) => void | Promise<void>>} */
module.exports = {
  async 'a deadline passes exactly at its time'(tool, { ResiliencePipelineBuilder }) {
    tool.install();
    const running = hold(new ResiliencePipelineBuilder().addTimeout('5m').build());
    assert.equal(tool.count(), 1);
    tool.advance(299_999);
    assert.equal(running.aborted(), false);
    tool.advance(1);
    assert.equal(running.aborted(), true);
    const error = await rejection(running.promise);
    assert.deepEqual([error.code, error.timeout], ['TIMEOUT', 300_000]);
    assert.equal(tool.count(), 0);
  },

  async 'overlapping deadlines pass one by one'(tool, { ResiliencePipelineBuilder }) {
    tool.install();
    const withTimeout = (timeout) => new ResiliencePipelineBuilder().addTimeout(timeout).build();
    const first = hold(withTimeout(100));
    tool.advance(50);
    const second = hold(withTimeout(100));
    const third = hold(withTimeout(60));
    const aborted = () => [first, second, third].map((held) => held.aborted());
    tool.advance(49);
    assert.deepEqual(aborted(), [false, false, false]);
    tool.advance(1);
    assert.deepEqual(aborted(), [true, false, false]);
    tool.advance(9);
    assert.deepEqual(aborted(), [true, false, false]);
    tool.advance(1);
    assert.deepEqual(aborted(), [true, false, true]);
    tool.advance(39);
    assert.deepEqual(aborted(), [true, false, true]);
    tool.advance(1);
    assert.deepEqual(aborted(), [true, true, true]);
    for (const { promise } of [first, second, third]) {
      assert.equal((await rejection(promise)).code, 'TIMEOUT');
    }
    assert.equal(tool.count(), 0);
  },

  async 'one long step passes all deadlines in their order'(tool, { ResiliencePipelineBuilder }) {
    tool.install();
    const order = [];
    const start = (timeout) => {
      const held = hold(new ResiliencePipelineBuilder().addTimeout(timeout).build());
      held.signal.addEventListener('abort', () => order.push(timeout));
      return held;
    };
    const running = [300, 100, 200].map(start);
    // Armed by the tool itself in the middle of the step.
    globalThis.setTimeout(() => running.push(start(149)), 100);
    tool.advance(HOUR_MS);
    assert.deepEqual(order, [100, 200, 149, 300]);
    for (const { promise } of running) assert.equal((await rejection(promise)).code, 'TIMEOUT');
    assert.equal(tool.count(), 0);
  },

  async 'a waiter leaves the queue exactly at its time'(tool, { ResiliencePipelineBuilder }) {
    for (const add of ['addConcurrencyLimiter', 'addAdaptiveConcurrencyLimiter']) {
      tool.install();
      const limits = add === 'addConcurrencyLimiter' ? { permitLimit: 1 } : { initialLimit: 1, maxLimit: 1 };
      const pipeline = new ResiliencePipelineBuilder()[add]({
        ...limits,
        queueLimit: 2,
        queueTimeout: '2s',
        name: 'limiter',
      }).build();
      const running = hold(pipeline);
      const waiting = pipeline.execute(never);
      waiting.catch(() => {});
      assert.equal(tool.count(), 1);
      const limiter = pipeline.getStrategy('limiter');
      tool.advance(1999);
      assert.equal(limiter.queued, 1);
      tool.advance(1);
      assert.equal(limiter.queued, 0);
      assert.equal((await rejection(waiting)).reason, 'queue-timeout');
      const admitted = pipeline.execute(() => 'admitted');
      assert.equal(tool.count(), 1);
      running.finish();
      assert.equal(await admitted, 'admitted');
      assert.deepEqual([limiter.inflight, limiter.queued, tool.count()], [0, 0, 0]);
      tool.uninstall();
    }
  },

  async 'a middleware answers in the place of its handler exactly at its deadline'(tool) {
    tool.install();
    const { resilienceMiddleware } = require('../../http.js');
    const middleware = resilienceMiddleware({ timeout: '5m', concurrency: { permitLimit: 1 } });
    const send = (handler) => {
      const request = Object.assign(new IncomingMessage(new Socket()), { method: 'GET', url: '/' });
      const response = new ServerResponse(request);
      middleware(request, response, () => handler(response));
      return response;
    };
    const late = send(() => {});
    const full = send(() => {});
    assert.deepEqual([full.statusCode, full.writableEnded], [503, true]);
    tool.advance(299_999);
    assert.equal(late.writableEnded, false);
    tool.advance(1);
    assert.deepEqual([late.statusCode, late.writableEnded, tool.count()], [504, true, 0]);
  },

  async "timeoutGenerator's time runs from its answer on"(tool, { ResiliencePipelineBuilder }) {
    for (const timeoutGenerator of [() => '1.5s', async () => 1500]) {
      tool.install();
      const running = hold(new ResiliencePipelineBuilder().addTimeout({ timeoutGenerator }).build());
      // The answer takes microtasks, and those are nobody's timers.
      for (let turns = 0; turns < 20 && running.signal === undefined; turns += 1) await undefined;
      tool.advance(1499);
      assert.equal(running.aborted(), false);
      tool.advance(1);
      assert.equal(running.aborted(), true);
      assert.equal((await rejection(running.promise)).timeout, 1500);
      assert.equal(tool.count(), 0);
      tool.uninstall();
    }
  },

  async 'a deadline beyond 2^31 ms passes when it is due'(tool, { ResiliencePipelineBuilder }) {
    tool.install();
    const running = hold(new ResiliencePipelineBuilder().addTimeout('30d').build());
    tool.advance(2 ** 31 - 1);
    assert.equal(running.aborted(), false);
    tool.advance(30 * DAY_MS - 2 ** 31);
    assert.equal(running.aborted(), false);
    tool.advance(1);
    assert.equal(running.aborted(), true);
    assert.equal((await rejection(running.promise)).timeout, 30 * DAY_MS);
    assert.equal(tool.count(), 0);
  },

  async 'setting the date moves no deadline'(tool, { ResiliencePipelineBuilder }) {
    if (tool.setDate === undefined) return;
    for (const shift of [-HOUR_MS, HOUR_MS]) {
      tool.install();
      const running = hold(new ResiliencePipelineBuilder().addTimeout('5m').build());
      tool.setDate(Date.now() + shift);
      tool.advance(299_999);
      assert.equal(running.aborted(), false);
      tool.advance(1);
      assert.equal(running.aborted(), true);
      assert.equal((await rejection(running.promise)).code, 'TIMEOUT');
      tool.uninstall();
    }
  },

  async 'no timer is left, however an execution ends'(tool, { ResiliencePipelineBuilder }) {
    tool.install();
    const pipeline = new ResiliencePipelineBuilder()
      .addTimeout(100)
      .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 1, queueTimeout: 50 })
      .addTimeout(80)
      .build();
    const controller = new AbortController();
    const succeeding = hold(pipeline);
    assert.equal(tool.count(), 2);
    const waiting = pipeline.execute(never, { signal: controller.signal });
    assert.equal(tool.count(), 4);
    assert.equal((await rejection(pipeline.execute(never))).reason, 'full');
    assert.equal(tool.count(), 4);
    controller.abort('gone');
    assert.equal(await rejection(waiting), 'gone');
    assert.equal(tool.count(), 2);
    succeeding.finish('value');
    assert.equal(await succeeding.promise, 'value');
    assert.equal(tool.count(), 0);
    const failing = hold(pipeline);
    failing.fail('reason');
    assert.equal(await rejection(failing.promise), 'reason');
    assert.equal(tool.count(), 0);
    const late = hold(pipeline);
    tool.advance(80);
    assert.equal((await rejection(late.promise)).timeout, 80);
    assert.equal(tool.count(), 0);
    const last = hold(pipeline);
    assert.equal(tool.count(), 2);
    pipeline.dispose();
    assert.equal(tool.count(), 0);
    last.finish('last');
    assert.equal(await last.promise, 'last');
  },

  async 'running all timers passes every deadline'(tool, { ResiliencePipelineBuilder }) {
    tool.install();
    const pipeline = new ResiliencePipelineBuilder().addTimeout('1h').build();
    const outcomes = [pipeline.settle(never), pipeline.settle(never)];
    tool.runAll();
    for (const outcome of outcomes) assert.equal((await outcome).error.code, 'TIMEOUT');
    assert.equal(tool.count(), 0);
  },

  async 'deadlines one after the other pass in one asynchronous step'(tool, { ResiliencePipelineBuilder }) {
    if (tool.advanceAsync === undefined) return;
    tool.install();
    const fallbackAction = () => new Promise((resolve) => globalThis.setTimeout(resolve, 200, 'substitute'));
    const pipeline = new ResiliencePipelineBuilder().addFallback({ fallbackAction }).addTimeout(100).build();
    const values = [];
    const run = async () => {
      values.push(await pipeline.execute(never));
      values.push((await pipeline.settle(never)).result);
    };
    const done = run();
    await tool.advanceAsync(299);
    assert.deepEqual(values, []);
    await tool.advanceAsync(1);
    assert.deepEqual(values, ['substitute']);
    await tool.advanceAsync(300);
    assert.deepEqual(values, ['substitute', 'substitute']);
    await done;
    assert.equal(tool.count(), 0);
  },

  async 'a real deadline stays real while timers are replaced'(tool, { ResiliencePipelineBuilder }) {
    const pipeline = new ResiliencePipelineBuilder().addTimeout(50).build();
    const started = realNow();
    const across = hold(pipeline);
    const during = hold(pipeline);
    tool.install();
    const fake = hold(pipeline);
    assert.equal(tool.count(), 1);
    tool.advance(49);
    assert.deepEqual([across.aborted(), during.aborted(), fake.aborted()], [false, false, false]);
    assert.equal((await rejection(during.promise)).code, 'TIMEOUT');
    assert.ok(realNow() - started >= 50);
    assert.equal(fake.aborted(), false);
    tool.advance(1);
    assert.equal((await rejection(fake.promise)).code, 'TIMEOUT');
    assert.equal(tool.count(), 0);
    tool.uninstall();
    assert.equal((await rejection(across.promise)).code, 'TIMEOUT');
  },

  async 'a real deadline passes after timers were replaced and brought back'(tool, own) {
    const pipeline = new own.ResiliencePipelineBuilder().addTimeout(50).build();
    const started = realNow();
    const real = hold(pipeline);
    tool.install();
    const fake = hold(pipeline);
    tool.advance(HOUR_MS);
    assert.deepEqual([fake.aborted(), real.aborted()], [true, false]);
    const left = hold(pipeline);
    tool.uninstall();
    const next = hold(pipeline);
    assert.equal((await rejection(real.promise)).code, 'TIMEOUT');
    assert.ok(realNow() - started >= 50);
    assert.equal((await rejection(next.promise)).code, 'TIMEOUT');
    assert.equal(left.aborted(), false);
    left.finish('its tool is gone');
    assert.equal(await left.promise, 'its tool is gone');
  },

  async 'a package first loaded under replaced timers follows them, and real ones later'(tool) {
    tool.install();
    const { ResiliencePipelineBuilder } = tool.load();
    const pipeline = new ResiliencePipelineBuilder().addTimeout(20).build();
    for (let round = 0; round < 3; round += 1) {
      tool.install();
      const fake = hold(pipeline);
      assert.equal(tool.count(), 1);
      tool.advance(19);
      assert.equal(fake.aborted(), false);
      tool.advance(1);
      assert.equal(fake.aborted(), true);
      assert.equal((await rejection(fake.promise)).code, 'TIMEOUT');
      assert.equal(tool.count(), 0);
      tool.uninstall();
      const started = realNow();
      assert.equal((await rejection(pipeline.execute(never))).code, 'TIMEOUT');
      assert.ok(realNow() - started >= 20);
      // A deadline on the real clock has to live through the next replacement.
      const across = pipeline.settle(never);
      tool.install();
      assert.equal(tool.count(), 0);
      assert.equal((await across).error.code, 'TIMEOUT');
      tool.uninstall();
    }
  },

  async 'measured latency is the time of the tool'(tool, own) {
    if (!tool.hasClock) return;
    for (const load of [() => own, tool.load]) {
      tool.install();
      const { ResiliencePipelineBuilder } = load();
      const rtts = [];
      const algorithm = {
        onSample({ rtt, limit }) {
          rtts.push(rtt);
          return limit;
        },
      };
      const pipeline = new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter({ algorithm }).build();
      for (let round = 0; round < 2; round += 1) {
        tool.install();
        const running = hold(pipeline);
        tool.advance(1000);
        running.finish();
        await running.promise;
        tool.uninstall();
        await pipeline.execute(() => 'on the real clock');
      }
      assert.deepEqual([rtts[0], rtts[2]], [1000, 1000]);
    }
  },
};
