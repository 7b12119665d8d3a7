// What a call into the core costs, beside the functions that others are built on. A case is a loop of calls, with
// no promise and nobody who waits; the cases take turns.

import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { binding, enter, exit, hot, thread } = require('../lib/native.js');

const SLICES = process.argv.includes('--quick') ? 50 : 400;
const CALLS = 2000;

/** A segment of the core. @param {(builder: any) => void} add */
function segment(add) {
  const builder = new binding.ResiliencePipelineBuilder();
  add(builder);
  return builder.build(thread);
}

const passes = (add) => {
  const key = segment(add);
  return () => exit(enter(key, NaN), 0);
};

const timeout = (builder) => builder.addTimeout(5000);
const limiter = (builder) => builder.addConcurrencyLimiter(10, 0, Infinity, 0);
const twice = (builder) => {
  // Permits of one that is alone are lent, and cost no call.
  limiter(builder);
  limiter(builder);
};
const timer = setTimeout(() => {}, 1e6);
const plain = { value: 0, call: (x) => (plain.value += x) };

const CASES = {
  'a function': () => plain.call(1),
  'performance.now()': () => performance.now(),
  'timer.ref(), timer.unref()': () => timer.ref() && timer.unref(),
  'a call that reads the clock and does nothing': () => hot.drain(),
  'enter and exit, a timeout': passes(timeout),
  'enter and exit, two limiters': passes(twice),
  'enter and exit, a limiter and a timeout': passes((builder) => {
    limiter(builder);
    timeout(builder);
  }),
};

const times = new Map(Object.keys(CASES).map((name) => [name, []]));
for (let slice = 0; slice < SLICES; slice++) {
  for (const [name, run] of Object.entries(CASES)) {
    const start = performance.now();
    for (let i = 0; i < CALLS; i++) run();
    times.get(name).push(((performance.now() - start) * 1e6) / CALLS);
  }
}
clearTimeout(timer);
console.log(`Calls into the core: medians of ${SLICES} interleaved slices, ns, Node ${process.version}`);
for (const [name, values] of times) {
  const median = values.sort((a, b) => a - b)[Math.floor(SLICES / 2)];
  console.log(`  ${name.padEnd(48)}${median.toFixed(0).padStart(9)}`);
}
