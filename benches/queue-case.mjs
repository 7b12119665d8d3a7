// The cases of queue.mjs: so many executions begin in one turn behind a limit of ten, and all are awaited.

import { bulkhead } from 'cockatiel';
import pLimit from 'p-limit';

import resilience from '../index.js';
import { limited } from './sema.mjs';

const LIMIT = 10;
const empty = async () => {};
const MANY = 2 ** 31 - 1;
const ours = (options) => () => {
  const pipeline = new resilience.ResiliencePipelineBuilder({ context: 'explicit' })
    .addConcurrencyLimiter({ permitLimit: LIMIT, queueLimit: MANY, ...options })
    .build();
  return () => pipeline.execute(empty);
};

const CASES = {
  'fixed limiter': ours({}),
  'fixed limiter, queueTimeout': ours({ queueTimeout: '1h' }),
  'cockatiel bulkhead': () => {
    const policy = bulkhead(LIMIT, MANY);
    return () => policy.execute(empty);
  },
  'p-limit': () => {
    const limit = pLimit(LIMIT);
    return () => limit(empty);
  },
  'async-sema': () => limited(LIMIT, empty),
};

const run = CASES[process.argv[2]]();

/** In nanoseconds an execution. */
async function time(waiting) {
  const all = new Array(waiting + LIMIT);
  const start = performance.now();
  for (let i = 0; i < all.length; i++) all[i] = run();
  await Promise.all(all);
  return ((performance.now() - start) * 1e6) / all.length;
}

process.on('message', async ({ waiting, batches }) => {
  let best = Infinity;
  for (let batch = 0; batch < batches; batch++) best = Math.min(best, await time(waiting));
  process.send(best);
});
