// One case of in-flight.mjs, in a process of its own.

import resilience from '../index.js';

const [kind, count, name] = [process.argv[2], Number(process.argv[3]), process.argv[4]];
const SLICES = 200;
const SLICE = 1000;

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

/** All in one process, in turns: what disturbs the machine disturbs all of them. */
async function time() {
  const empty = async () => {};
  const pending = () => new Promise(() => {});
  const runs = { 'callback alone': empty };
  for (const each of ['limiter', 'limiter + timeout']) {
    const pipeline = PIPELINES[each]().build();
    for (let i = 0; i < count; i++) pipeline.execute(pending);
    runs[each] = () => pipeline.execute(empty);
  }
  for (let i = 0; i < count; i++) setTimeout(() => {}, 3_600_000 + (i % 1000));
  runs['setTimeout + clearTimeout'] = async () => clearTimeout(setTimeout(() => {}, 3_600_000));
  const times = Object.fromEntries(Object.keys(runs).map((each) => [each, []]));
  for (let slice = 0; slice < SLICES; slice++) {
    for (const [each, run] of Object.entries(runs)) {
      const start = performance.now();
      for (let i = 0; i < SLICE; i++) await run();
      times[each].push(((performance.now() - start) * 1e6) / SLICE);
    }
  }
  // Of short slices the tenth best counts: a busy machine disturbs most of them.
  const best = (values) => values.sort((a, b) => a - b)[SLICES / 10];
  return Object.fromEntries(Object.entries(times).map(([each, values]) => [each, best(values)]));
}

process.send?.(kind === 'heap' ? heap() : await time(), () => process.exit());
