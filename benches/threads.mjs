// What two worker threads do, beside one: each has an engine of its own.

import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

import resilience from '../index.js';

if (isMainThread) await compare();
else await work();

async function compare() {
  const rounds = process.argv.includes('--quick') ? 3 : 9;
  const workers = [start(), start()];
  const ratios = [];
  for (const worker of workers) await count([worker]);
  for (let round = 0; round < rounds; round++) {
    const alone = await count([workers[round % 2]]);
    ratios.push((await count(workers)) / alone);
  }
  for (const worker of workers) await worker.terminate();
  const [median] = ratios.sort((a, b) => a - b).slice(Math.floor(rounds / 2));
  console.log(`Two worker threads, adaptive limiter + timeout, explicit: ${median.toFixed(2)} x one thread`);
}

function start() {
  return new Worker(new URL(import.meta.url));
}

/** The executions that the workers make in the same time. */
async function count(workers) {
  for (const worker of workers) worker.postMessage(300);
  const answers = await Promise.all(workers.map((worker) => once(worker, 'message')));
  return answers.reduce((sum, [calls]) => sum + calls, 0);
}

async function work() {
  const builder = new resilience.ResiliencePipelineBuilder({ context: 'explicit' });
  const pipeline = builder.addAdaptiveConcurrencyLimiter().addTimeout('5s').build();
  const empty = async () => {};
  parentPort.on('message', async (/** @type {number} */ ms) => {
    const end = performance.now() + ms;
    let calls = 0;
    for (; performance.now() < end; calls += 500) for (let i = 0; i < 500; i++) await pipeline.execute(empty);
    parentPort.postMessage(calls);
  });
}
