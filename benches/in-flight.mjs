// What many executions in flight cost: heap for each, and the time of a deadline beside setTimeout.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const QUICK = process.argv.includes('--quick');
const COUNT = QUICK ? 20_000 : 100_000;
const ROUNDS = QUICK ? 3 : 9;

const file = fileURLToPath(new URL('./in-flight-case.mjs', import.meta.url));
const ask = async (...args) => {
  const child = fork(file, args.map(String), { execArgv: ['--expose-gc'] });
  return (await once(child, 'message'))[0];
};

console.log(`${COUNT.toLocaleString('en')} executions in flight, explicit, Node ${process.version}`);
console.log('  bytes of heap an execution, beyond its callback\'s promise');
for (const name of ['fixed limiter', 'fixed limiter + timeout', 'adaptive limiter + timeout']) {
  const heap = await ask('heap', COUNT, name);
  console.log(`    ${name.padEnd(40)}${heap.toFixed(0).padStart(8)}`);
}
console.log('  ns to begin and end one, the others pending');
const rounds = [];
for (let round = 0; round < ROUNDS; round++) {
  const times = await ask('time', COUNT);
  rounds.push({ ...times, 'the deadline alone': times['limiter + timeout'] - times.limiter });
}
for (const name of Object.keys(rounds[0])) {
  const median = rounds.map((times) => times[name]).sort((a, b) => a - b)[Math.floor(ROUNDS / 2)];
  console.log(`    ${name.padEnd(40)}${median.toFixed(0).padStart(8)}`);
}
