// Times asynchronous functions in interleaved rounds, so that what disturbs the machine disturbs all of them.
// Each case has a process of its own: one case's use of AsyncLocalStorage makes every promise of its process
// dearer, and what the compiler learned from one case must not help or hinder another.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const ROUND_MS = 60;
const WARM_UP_MS = 300;

/** @param {number[]} values */
function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

/**
 * In a case's own process: answers each message, a duration in ms, with the time of one awaited call in ns.
 *
 * @param {Record<string, () => () => Promise<unknown>>} cases
 */
export function serve(cases) {
  const run = cases[process.argv[2]]();
  process.on('message', async (/** @type {number} */ ms) => {
    const start = performance.now();
    let calls = 0;
    let elapsed = 0;
    do {
      for (let i = 0; i < 500; i++) await run();
      calls += 500;
      elapsed = performance.now() - start;
    } while (elapsed < ms);
    process.send?.((elapsed * 1e6) / calls);
  });
}

/**
 * @param {URL} file The module whose process serves the cases.
 * @param {string[]} names
 * @param {number} rounds
 * @returns {Promise<Map<string, number>>} The median of each case in nanoseconds a call.
 */
export async function measure(file, names, rounds) {
  const workers = names.map((name) => ({ name, child: fork(fileURLToPath(file), [name]), times: [] }));
  const ask = async (worker, ms) => {
    worker.child.send(ms);
    const [answer] = await once(worker.child, 'message');
    return answer;
  };
  for (const worker of workers) await ask(worker, WARM_UP_MS);
  for (let round = 1; round <= rounds; round++) {
    for (const worker of workers) worker.times.push(await ask(worker, ROUND_MS));
    if (process.stderr.isTTY) process.stderr.write(`\r  round ${round} of ${rounds}`);
  }
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  for (const { child } of workers) child.disconnect();
  return new Map(workers.map(({ name, times }) => [name, median(times)]));
}
