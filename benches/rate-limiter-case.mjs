// One contestant of rate-limiter.mjs, in a process of its own: takes one permit for each of many keys, then one
// for each again, and reports the time and the memory that the keys take.

import { setImmediate as turn } from 'node:timers/promises';

const WINDOW_MS = 3_600_000;
const PERMITS = 100;

/** Each gives a function that takes a permit for a key; imported only where it runs. */
const CONTESTANTS = {
  'fixed-window': () => ours('fixed-window'),
  'sliding-window': () => ours('sliding-window'),
  'token-bucket': () => ours('token-bucket'),
  'rate-limiter-flexible': async () => {
    const { RateLimiterMemory } = await import('rate-limiter-flexible');
    const limiter = new RateLimiterMemory({ points: PERMITS, duration: WINDOW_MS / 1000 });
    return (key) => limiter.consume(key);
  },
  'express-rate-limit': async () => {
    const { MemoryStore } = await import('express-rate-limit');
    const store = new MemoryStore();
    store.init({ windowMs: WINDOW_MS });
    return (key) => store.increment(key);
  },
};

async function ours(algorithm) {
  const { default: resilience } = await import('../index.js');
  const pipeline = new resilience.ResiliencePipelineBuilder({ context: 'explicit' })
    .addRateLimiter({
      permitLimit: PERMITS,
      window: WINDOW_MS,
      algorithm,
      key: ({ operationKey }) => operationKey,
      maxKeys: 2_000_000,
    })
    .build();
  const work = () => {};
  return (operationKey) => pipeline.execute(work, { operationKey });
}

/** A text that no two numbers share, made anew each time: as an address or an API key comes with a request. */
const keyOf = (number) => `client-${number.toString(36)}-${(number * 7919).toString(36)}`;

/** In bytes: what the system has given to this process, after all that is garbage has gone. */
async function memory() {
  for (let round = 0; round < 3; round++) {
    globalThis.gc();
    await turn();
  }
  return process.memoryUsage().rss;
}

async function timePass(take, keys) {
  const start = performance.now();
  for (let number = 0; number < keys; number++) await take(keyOf(number));
  return ((performance.now() - start) * 1e6) / keys;
}

const [name, keyCount] = process.argv.slice(2);
const keys = Number(keyCount);
const take = await CONTESTANTS[name]();
// So that what the compiler and the first pages take is not counted as the keys'.
await timePass(take, 2000);
const before = await memory();
await timePass(take, keys);
const after = await memory();
const ns = await timePass(take, keys);
process.send({ bytes: (after - before) / keys, ns });
process.exit();
