// What waiting costs: executions that begin in one turn, of which ten run and the others queue.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const QUICK = process.argv.includes('--quick');
const NAMES = ['fixed limiter', 'fixed limiter, queueTimeout', 'cockatiel bulkhead', 'p-limit', 'async-sema'];
const WAITING = QUICK ? [1, 100, 10_000] : [1, 100, 10_000, 1_000_000];
/** Executions of one round: many small batches, or few large ones, of which the best counts. */
const EXECUTIONS = QUICK ? 50_000 : 100_000;
const ROUNDS = QUICK ? 1 : 3;
/** A queue that is an array shifts all of it for each that leaves. */
const MOST = { 'cockatiel bulkhead': 10_000 };

const file = fileURLToPath(new URL('./queue-case.mjs', import.meta.url));
console.log(`Executions behind a limit of 10, ns each, medians of ${ROUNDS} rounds, Node ${process.version}`);
console.log(`  ${'waiting'.padEnd(32)}${WAITING.map((n) => n.toLocaleString('en').padStart(11)).join('')}`);
const workers = NAMES.map((name) => ({ name, child: fork(file, [name]), times: WAITING.map(() => []) }));
for (let round = 0; round < ROUNDS; round++) {
  for (const { name, child, times } of workers) {
    for (const [index, waiting] of WAITING.entries()) {
      if (waiting > (MOST[name] ?? Infinity)) continue;
      child.send({ waiting, batches: Math.max(1, Math.ceil(EXECUTIONS / (waiting + 10))) });
      times[index].push((await once(child, 'message'))[0]);
    }
  }
}
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
for (const { name, child, times } of workers) {
  child.disconnect();
  const cells = times.map((values) => (values.length === 0 ? '-' : median(values).toFixed(0)).padStart(11));
  console.log(`  ${name.padEnd(32)}${cells.join('')}`);
}
