// One case of in-flight.mjs, in a process of its own.

import resilience from '../index.js';

const [kind, name, count] = [process.argv[2], process.argv[3], Number(process.argv[4])];
const SLICES = 100;
const SLICE = 2000;

const builder = () => new resilience.ResiliencePipelineBuilder({ context: 'explicit' });
const MANY = 2 ** 30;
const PIPELINES = {
  'fixed limiter': () => builder().addConcurrencyLimiter(MANY),
  'fixed limiter + timeout': () => builder().addConcurrencyLimiter(MANY).addTimeout('1h'),
  'adaptive limiter + timeout': () =>
    builder().addAdaptiveConcurrencyLimiter({ initialLimit: MANY, maxLimit: MANY }).addTimeout('1h'),
  // Two of them: the permits of one alone are lent, which would be counted for the deadline.
  limiter: () => builder().addConcurrencyLimiter(MANY).addConcurrencyLimiter(MANY),
  'limiter + timeout': () => PIPELINES.limiter().addTimeout('1h'),
};

const settledHeap = () => {
  gc();
  gc();
  return process.memoryUsage().heapUsed;
};

function heap() {
  const pipeline = PIPELINES[name]().build();
  const works = Array.from({ length: count }, () => new Promise(() => {}));
  const held = new Array(count).fill(undefined);
  const before = settledHeap();
  for (let i = 0; i < count; i++) held[i] = pipeline.execute(() => works[i]);
  // Each callback is the measurement's own: a function and its scope.
  const after = settledHeap();
  return (after - before) / held.length;
}

async function time() {
  let run = async () => {};
  if (name === 'setTimeout + clearTimeout') {
    for (let i = 0; i < count; i++) setTimeout(() => {}, 3_600_000 + (i % 1000));
    run = async () => clearTimeout(setTimeout(() => {}, 3_600_000));
  } else if (name !== 'callback alone') {
    const pipeline = PIPELINES[name]().build();
    for (let i = 0; i < count; i++) pipeline.execute(() => new Promise(() => {}));
    const empty = async () => {};
    run = () => pipeline.execute(empty);
  }
  // Short slices, of which the tenth best counts: a busy machine disturbs most of them.
  const times = [];
  for (let slice = 0; slice < SLICES; slice++) {
    const start = performance.now();
    for (let i = 0; i < SLICE; i++) await run();
    times.push(((performance.now() - start) * 1e6) / SLICE);
  }
  return times.sort((a, b) => a - b)[SLICES / 10];
}

process.send?.(kind === 'heap' ? { heap: heap() } : { ns: await time() }, () => process.exit());
