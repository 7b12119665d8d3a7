// Goodput of a server that is offered more than its dependency can serve: answers within the client's patience, as
// a share of the capacity, by what protects the server. The load is open: it does not slow down with the answers.

import { once } from 'node:events';

import { measureCapacity } from '../demo/dependency.mjs';
import * as settings from '../demo/settings.mjs';
import { offerLoad, start } from './clients.mjs';

const SECONDS = 10;
const OVERLOADS = [2, 5, 10];
const NAMES = [
  'no limiter',
  '@fastify/under-pressure',
  'overload-protection',
  'this package, fixed',
  'this package, knee',
];

/** What the clients saw. */
async function run(name, rate) {
  const server = start('./overload-server.mjs', name);
  const [port] = await once(server, 'message');
  try {
    return await offerLoad(port, rate, SECONDS);
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
