// Goodput of a server that is offered more than its dependency can serve: answers within the client's patience, as
// a share of the capacity, by what protects the server. The load is open: it does not slow down with the answers.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { measureCapacity } from '../demo/dependency.mjs';
import * as settings from '../demo/settings.mjs';

const SECONDS = 10;
const OVERLOADS = [2, 5, 10];
const NAMES = [
  'no limiter',
  '@fastify/under-pressure',
  'overload-protection',
  'this package, fixed',
  'this package, knee',
];

const start = (file, ...args) => fork(fileURLToPath(new URL(file, import.meta.url)), args.map(String));

/** What the clients saw. */
async function run(name, rate) {
  const server = start('./overload-server.mjs', name);
  const [port] = await once(server, 'message');
  const load = start('../demo/load.mjs', port, rate, SECONDS);
  try {
    for (;;) {
      const [message] = await once(load, 'message');
      if (message.type === 'done') return message.result;
    }
  } finally {
    server.kill();
  }
}

const capacity = await measureCapacity(settings.dependency, 1500);
console.log(
  `Overload of a dependency that serves ${capacity.toFixed(0)} calls/s, clients wait ${settings.clientTimeoutMs} ms, ` +
    `${SECONDS} s each, Node ${process.version}`,
);
console.log(`  ${''.padEnd(28)}${OVERLOADS.map((times) => `${times}x: goodput, p99 ms`.padStart(24)).join('')}`);
for (const name of NAMES) {
  const cells = [];
  for (const times of OVERLOADS) {
    const { served, p99 } = await run(name, times * capacity);
    const share = ((100 * served) / (capacity * SECONDS)).toFixed(1);
    cells.push(`${share} %${served === 0 ? '' : p99.toFixed(0).padStart(8)}`.padStart(24));
  }
  console.log(`  ${name.padEnd(28)}${cells.join('')}`);
}
