// How simulations run beside the JavaScript thread, and how they end early.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import test from 'node:test';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { simulate } from '@ylcnfrht/resilience/simulate';
import { runChild } from './support/child.mjs';
import { LONG, SMALL } from './support/scenarios.mjs';

const require = createRequire(import.meta.url);
const { binding } = require('../lib/native.js');
const ENTRY = JSON.stringify(fileURLToPath(new URL('../simulate.js', import.meta.url)));

/** Counts the listeners that a signal has. */
function counted(signal) {
  let listeners = 0;
  for (const [method, by] of [
    ['addEventListener', 1],
    ['removeEventListener', -1],
  ]) {
    const original = signal[method].bind(signal);
    signal[method] = (...args) => {
      listeners += by;
      return original(...args);
    };
  }
  return () => listeners;
}

/** Every native run that is made until the test ends. */
function watchRuns(t) {
  const runs = [];
  const { Simulation } = binding;
  t.after(() => (binding.Simulation = Simulation));
  binding.Simulation = class extends Simulation {
    constructor(...args) {
      super(...args);
      this.state = 'made';
      runs.push(this);
    }

    run() {
      this.state = 'running';
      const promise = super.run();
      promise.then(
        () => (this.state = 'done'),
        () => (this.state = 'cancelled'),
      );
      return promise;
    }
  };
  return runs;
}

/** The first progress of a simulation that is under way, told to a promise. */
function started() {
  let tell;
  const promise = new Promise((resolve) => (tell = resolve));
  return { promise, onProgress: tell };
}

test('a signal aborted before: rejects with its reason, and no run is made', async (t) => {
  const runs = watchRuns(t);
  const reason = { mine: true };
  const signal = AbortSignal.abort(reason);
  const listeners = counted(signal);
  await assert.rejects(simulate({ scenario: LONG, signal }), (error) => error === reason);
  assert.equal(runs.length, 0);
  assert.equal(listeners(), 0);
});

for (const reason of [new Error('mine'), 'text', null, undefined]) {
  test(`aborted while it runs, with ${String(reason)}: rejects with it when all runs are over`, async (t) => {
    const runs = watchRuns(t);
    const controller = new AbortController();
    const listeners = counted(controller.signal);
    const { promise, onProgress } = started();
    const simulation = simulate({
      scenario: LONG,
      algorithms: ['knee', 'aimd'],
      seeds: 100,
      signal: controller.signal,
      onProgress,
    });
    const { done, total } = await promise;
    assert.deepEqual([done, total], [0, 200]);
    const made = runs.length;
    assert.ok(made > 0);
    controller.abort(reason);
    const expected = controller.signal.reason ?? 'an AbortError';
    await simulation.then(
      () => assert.fail('resolved'),
      (error) => (reason === null ? assert.equal(error.name, 'AbortError') : assert.equal(error, expected)),
    );
    assert.equal(runs.length, made, 'none began after');
    assert.deepEqual(new Set(runs.map(({ state }) => state)), new Set(['cancelled']));
    assert.equal(listeners(), 0);
  });
}

test('aborted after its end: nothing happens', async () => {
  const controller = new AbortController();
  const listeners = counted(controller.signal);
  const report = await simulate({ scenario: SMALL, signal: controller.signal });
  assert.equal(listeners(), 0);
  controller.abort();
  assert.equal(report.algorithms.length, 1);
});

test('one signal ends several simulations, and leaves another', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const waits = [started(), started()];
  const ended = waits.map(({ onProgress }) => simulate({ scenario: LONG, signal, onProgress }));
  const other = simulate({ scenario: SMALL, seeds: 5 });
  await Promise.all(waits.map(({ promise }) => promise));
  controller.abort(new Error('both'));
  const outcomes = await Promise.allSettled(ended);
  assert.deepEqual(
    outcomes.map(({ reason }) => reason?.message),
    ['both', 'both'],
  );
  assert.equal((await other).algorithms[0].runs.length, 5);
});

test('progress rises, and ends at 1', async () => {
  const told = [];
  const times = [];
  const { algorithms } = await simulate({
    scenario: 'steady',
    algorithms: ['knee', 'gradient2'],
    seeds: 20,
    onProgress: (progress) => {
      told.push(progress);
      times.push(performance.now());
    },
  });
  assert.equal(algorithms.length, 2);
  assert.ok(told.length > 0);
  assert.deepEqual(told.at(-1), { done: 40, total: 40, fraction: 1 });
  for (const [index, { done, total, fraction }] of told.entries()) {
    assert.equal(total, 40);
    assert.ok(fraction >= done / total - 1e-9 && fraction <= 1, `${fraction} of ${done}`);
    if (index === 0) continue;
    assert.ok(fraction >= told[index - 1].fraction && done >= told[index - 1].done);
  }
  // But for the last one. Timers may be late, so that the next one comes early.
  assert.ok(times.length - 1 <= (times.at(-1) - times[0]) / 100 + 2, `${times.length} times`);
});

test('what onProgress throws ends it and is what it rejects with', async (t) => {
  const runs = watchRuns(t);
  const mine = new Error('mine');
  let calls = 0;
  const onProgress = () => {
    calls += 1;
    throw mine;
  };
  t.mock.timers.enable({ apis: ['setInterval'] });
  const simulation = simulate({ scenario: LONG, seeds: 10, onProgress });
  const rejected = assert.rejects(simulation, (error) => error === mine);
  while (calls === 0) {
    await setImmediate();
    t.mock.timers.tick(100);
  }
  await rejected;
  assert.ok(runs.length > 0 && runs.length <= 10);
  assert.deepEqual(new Set(runs.map(({ state }) => state)), new Set(['cancelled']));
  const before = calls;
  t.mock.timers.tick(10_000);
  assert.equal(calls, before, 'it is not called again');
  // At the end of a short one, too.
  await assert.rejects(simulate({ scenario: SMALL, onProgress }), (error) => error === mine);
});

test('a signal aborted in onProgress ends it', async () => {
  const controller = new AbortController();
  const onProgress = () => controller.abort(new Error('enough'));
  const simulation = simulate({ scenario: LONG, signal: controller.signal, onProgress });
  await assert.rejects(simulation, { message: 'enough' });
});

test('the thread is free meanwhile', async () => {
  let running = true;
  const simulation = simulate({ scenario: 'steady', algorithms: ['knee', 'aimd'], seeds: 30 });
  const done = simulation.finally(() => (running = false));
  const { eventLoopUtilization } = performance;
  const before = eventLoopUtilization();
  const cpu = process.cpuUsage();
  let turns = 0;
  while (running) {
    await delay(5);
    turns += 1;
  }
  await done;
  const { utilization } = eventLoopUtilization(before);
  const { user } = process.cpuUsage(cpu);
  assert.ok(turns >= 5, `${turns} turns`);
  assert.ok(user > 0);
  assert.ok(utilization < 0.5, `the event loop was busy for ${utilization} of the time`);
});

test('no more runs at once than there are processors', async (t) => {
  const runs = watchRuns(t);
  let most = 0;
  await simulate({
    scenario: 'slowdown',
    seeds: 40,
    onProgress: () => {
      most = Math.max(most, runs.filter(({ state }) => state === 'running').length);
    },
  });
  assert.equal(runs.length, 40);
  assert.ok(most <= require('node:os').availableParallelism(), `${most} at once`);
});

test('a process ends when its simulation has, and may end before', async () => {
  const entry = JSON.stringify('@ylcnfrht/resilience/simulate');
  assert.deepEqual(
    await runChild(`
      import { simulate } from ${entry};
      simulate({ scenario: 'slowdown' }).then(({ algorithms }) => console.log(algorithms[0].algorithm));
    `),
    { code: 0, stdout: 'knee', stderr: '' },
  );
  assert.deepEqual(
    await runChild(`
      import { simulate } from ${entry};
      const scenario = ${JSON.stringify(LONG)};
      simulate({ scenario, seeds: 4, onProgress: () => { console.log('under way'); process.exit(3); } });
    `),
    { code: 3, stdout: 'under way', stderr: '' },
  );
});

test('in a worker thread it gives the same', async () => {
  const options = { scenario: 'slowdown', algorithms: ['knee', 'vegas'], seeds: [4] };
  const worker = new Worker(
    `
      const { parentPort, workerData } = require('node:worker_threads');
      const { simulate } = require(${ENTRY});
      simulate(workerData).then((report) => parentPort.postMessage(report));
    `,
    { eval: true, workerData: options },
  );
  const exited = once(worker, 'exit');
  const [[report], own] = await Promise.all([once(worker, 'message'), simulate(options)]);
  assert.deepEqual(report, own);
  assert.deepEqual(await exited, [0]);
});

test('workers terminated amid simulations leave the process unharmed', async () => {
  for (let round = 0; round < 5; round += 1) {
    const workers = Array.from({ length: 4 }, () => {
      const worker = new Worker(
        `
          const { parentPort, workerData } = require('node:worker_threads');
          const { simulate } = require(${ENTRY});
          const onProgress = () => parentPort.postMessage('under way');
          simulate({ scenario: workerData, seeds: 8, onProgress }).catch(() => {});
          for (let seed = 1; seed <= 3; seed += 1) simulate({ scenario: workerData, seeds: [seed] });
        `,
        { eval: true, workerData: LONG },
      );
      return worker;
    });
    await Promise.all(workers.map((worker, index) => once(worker, index % 2 === 0 ? 'message' : 'online')));
    assert.deepEqual(await Promise.all(workers.map((worker) => worker.terminate())), [1, 1, 1, 1]);
    const { algorithms } = await simulate({ scenario: SMALL, seeds: 2 });
    assert.equal(algorithms[0].runs.length, 2);
  }
});

test('runs that were ended leave their threads to others', async () => {
  for (let round = 0; round < 30; round += 1) {
    const controller = new AbortController();
    const simulation = simulate({ scenario: LONG, seeds: 4, signal: controller.signal });
    await setImmediate();
    controller.abort(round);
    await assert.rejects(simulation, (error) => error === round);
  }
  assert.equal((await simulate({ scenario: SMALL })).algorithms.length, 1);
});
