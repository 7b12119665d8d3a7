// npm run memory: what ten million executions leave in memory.
import { readOptions } from './options.mjs';
import { prepare } from './prepare.mjs';
import { fail } from './run.mjs';

const MILLION = 1_000_000;
const DEFAULT_MILLIONS = 10;
const AT_ONCE = 100;
const TIMEOUT_MS = 5;
/** One call in this many runs into its timeout: with those in the inner pipeline, 1 % of all executions. */
const LATE = 80;
/** And one in this many makes a call of its own in another pipeline. */
const NESTED = 4;
/** Executions of one caller before it lets the event loop turn. */
const TURN = 50;
const HELP = `Usage: npm run memory [-- --millions N]

Runs executions of an adaptive limiter and a timeout, some nested, 1 % timed out, all with one caller's signal
that never aborts, and prints the memory in use after each million. Fails if the heap has grown since the
first million by a byte for each execution.

  --millions N   how many; default ${DEFAULT_MILLIONS}
  --help         this text`;

const { millions: given = String(DEFAULT_MILLIONS) } = readOptions({ millions: { type: 'string' } }, HELP);
const millions = Number(given);
if (!Number.isSafeInteger(millions) || millions < 1) fail(`--millions takes a whole number; not '${given}'.`);
await prepare();
const { ResiliencePipelineBuilder } = await import('@ylcnfrht/resilience');

const make = () =>
  new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ minLimit: 20, queueLimit: AT_ONCE })
    .addTimeout(TIMEOUT_MS)
    .build();
const outer = make();
const inner = make();
const options = { signal: new AbortController().signal };
let calls = 0;
let executions = 0;
let timeouts = 0;

const quick = async () => {};
const nested = () => {
  executions += 1;
  return inner.execute(quick);
};
const late = ({ signal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

await runTo(MILLION / 10);
executions = timeouts = 0;
const started = performance.now();
console.log('executions   timeouts    heap MB     RSS MB    seconds');
const heaps = [await measure()];
for (let count = 1; count <= millions; count += 1) {
  await runTo(count * MILLION);
  heaps.push(await measure());
}
const growth = /** @type {number} */ (heaps.at(-1)) - heaps[1];
const perExecution = growth / Math.max((millions - 1) * MILLION, 1);
console.log(`\nSince the first million the heap has grown by ${perExecution.toFixed(3)} bytes an execution.`);
if (perExecution >= 1) fail('Something of each execution stays in memory.');

/** Runs executions until there have been `total`. */
async function runTo(total) {
  const caller = async () => {
    for (let turn = 1; executions < total; turn += 1) {
      calls += 1;
      executions += 1;
      if (calls % LATE === 0) {
        const { ok } = await outer.settle(late, options);
        if (!ok) timeouts += 1;
      } else {
        await outer.execute(calls % NESTED === 1 ? nested : quick, options);
      }
      if (turn % TURN === 0) await new Promise(setImmediate);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
}

/** Prints what is in use once garbage is gone, and gives the heap in bytes. */
async function measure() {
  for (let round = 0; round < 5; round += 1) {
    globalThis.gc();
    await new Promise(setImmediate);
  }
  const { heapUsed, rss } = process.memoryUsage();
  const seconds = (performance.now() - started) / 1000;
  const numbers = [timeouts, (heapUsed / 2 ** 20).toFixed(2), (rss / 2 ** 20).toFixed(1), seconds.toFixed(1)];
  console.log([executions, ...numbers].map((number) => String(number).padStart(10)).join(' '));
  return heapUsed;
}
