// Goodput of a server that is short of its event loop, since its handlers compute: answers within the client's
// patience, as a share of what is offered and can be served, by what protects the server. The load is open: it does
// not slow down with the answers.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

import { countAnswers } from '../demo/computation.mjs';
import { clientTimeoutMs } from '../demo/settings.mjs';
import { percent, whole } from '../demo/table.mjs';
import { offerLoad, start } from './clients.mjs';
import { openDatabase } from './database.mjs';

const QUICK = process.argv.includes('--quick');
const SECONDS = QUICK ? 1 : 2;
/** Until then an unprotected server has as much to do as its clients have patience. */
const WARM_UP_MS = 2000;
/** Long enough for some pauses and bursts. */
const LONG_SECONDS = 6;
const CALIBRATION_MS = 1000;
const CLIENTS = 20;
/** A health check of an idle server takes no longer. */
const SETTLED_MS = 20;
/** A server that waits for the processor for a greater share of the time has a neighbour. */
const MOST_WAITED = 0.1;
const NAME_WIDTH = 42;
const CONNECTIONS = ['kept', 'fresh'];
const OURS = 'this package, middleware';
const PRIORITIES = 'this package, priorities';
/** Of the capacity. */
const IMPORTANT = 0.8;
const NAMES = [
  'no protection',
  '@fastify/under-pressure',
  'overload-protection',
  'toobusy-js',
  OURS,
  'this package, protect()',
];

/** What it runs for each request is compiled by then, as in a server that has been there for a while. */
async function startServer(name, handler, connections) {
  const child = start('./event-loop-server.mjs', name, JSON.stringify(handler));
  const [port] = await once(child, 'message');
  const isKept = connections === 'kept';
  await countAnswers(port, { path: '/warm-up', isKept, forMs: CALIBRATION_MS });
  // Servers know quiet times, too: some protections look at the mean of all time.
  await delay(CALIBRATION_MS);
  return { child, port, isKept };
}

/** What an unprotected server answers in a second of a processor when it never has to wait for a request. */
async function measureCapacity(name, handler, connections) {
  const server = await startServer(name, handler, connections);
  const clients = CLIENTS + Math.ceil((2 * (handler.ioMs ?? 0)) / handler.cpuMs);
  const { rate, waited } = await watch(server, async () => {
    const { port, isKept } = server;
    return { rate: await countAnswers(port, { path: '/work', isKept, clients, forMs: CALIBRATION_MS }) };
  });
  server.child.kill();
  return rate / (1 - waited);
}

/** What comes of it, and the share of its time for which the server had to wait for the processor. */
async function watch({ child: { pid } }, action) {
  const startedAt = performance.now();
  const before = waitedMs(pid);
  const result = await action();
  return { ...result, waited: (waitedMs(pid) - before) / (performance.now() - startedAt) };
}

/** How long the main thread of a process was ready and did not run. Only Linux tells. */
function waitedMs(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** What the clients saw. */
async function run(server, { load, capacity, seconds = SECONDS, ...options }) {
  const { port, isKept } = server;
  // More than ever wait, whatever it is that they wait for: too few connections would be a limiter.
  const open = isKept ? Math.ceil((2 * capacity * clientTimeoutMs) / 1000) : 0;
  const given = { ...options, connections: open, warmUpMs: WARM_UP_MS };
  const seen = await watch(server, () => offerLoad(port, load * capacity, seconds, given));
  await settle(port);
  return { ...seen, most: Math.min(seen.offered, capacity * seconds * (1 - seen.waited)) };
}

/** Until the server has nothing left of a load. */
async function settle(port) {
  for (let ms = Infinity; ms > SETTLED_MS; ) {
    const sentAt = performance.now();
    const [response] = await once(http.get({ agent: false, host: '127.0.0.1', port, path: '/healthz' }), 'response');
    await once(response.resume(), 'end');
    ms = performance.now() - sentAt;
  }
}

/** One server under one load after the other. */
async function compare(name, handler, { connections, loads, title = name, ...options }) {
  const server = await startServer(name, handler, connections);
  for (const load of loads) print(title, load, await run(server, { ...options, load }));
  server.child.kill();
}

const COLUMNS = ['load', 'goodput', 'p99 ms', 'refused', '503 p99 ms', 'health p99 ms', 'waited'];
const ms = (value) => (value === undefined ? '-' : value >= clientTimeoutMs ? `>${clientTimeoutMs}` : value.toFixed(0));
const right = (cell) => cell.padStart(14);
const line = (name, cells) => console.log(`  ${name.padEnd(NAME_WIDTH)}${cells.map(right).join('')}`);

function title(text) {
  console.log(`\n${text}`);
  line('', COLUMNS);
}

function print(name, load, result) {
  const { served, shed, offered, most, p99, shedP99, healthCheckP99, waited } = result;
  const goodput = `${percent(served / most)}${waited > MOST_WAITED ? '*' : ''}`;
  const figures = [goodput, ms(p99), percent(shed / offered), ms(shedP99), ms(healthCheckP99), percent(waited)];
  line(name, [`${load}x`, ...figures]);
}

console.log(
  `Overload of the event loop: handlers compute, clients wait ${clientTimeoutMs} ms, ${SECONDS} s each after ` +
    `${WARM_UP_MS / 1000} s of the same load, Node ${process.version}\n` +
    'goodput: 200s in time, of what was offered, or can be served in the processor time that there was',
);
await comparePeers({ cpuMs: 5 }, QUICK ? [2] : [1, 2, 5]);
if (!QUICK) {
  await computeAfterIo({ cpuMs: 5, ioMs: 20 }, [2, 5]);
  await computeAfterIo({ cpuMs: 5, ioMs: 50 }, [2, 5]);
  await computeAfterIo({ cpuMs: 2, ioMs: 200 }, [2]);
  await spareAndPrefer({ cpuMs: 5 });
}
console.log(`\nwaited: for a processor that others had, of the time; * marks more than ${percent(MOST_WAITED)}`);

async function comparePeers(handler, loads) {
  for (const connections of CONNECTIONS) {
    const express = await measureCapacity('no protection', handler, connections);
    const fastify = await measureCapacity('no protection, Fastify', handler, connections);
    title(
      `${handler.cpuMs} ms of CPU over ${connections} connections: ` +
        `Express serves ${whole(express)} a second, Fastify ${whole(fastify)}`,
    );
    for (const name of NAMES) {
      await compare(name, handler, { connections, loads, capacity: name.startsWith('@fastify') ? fastify : express });
    }
  }
}

async function computeAfterIo({ cpuMs, ioMs }, loads) {
  const database = await openDatabase(ioMs);
  const handler = { cpuMs, ioMs, databasePort: database.address().port };
  for (const connections of CONNECTIONS) {
    const capacity = await measureCapacity('no protection', handler, connections);
    title(
      `${cpuMs} ms of CPU after ${ioMs} ms of I/O over ${connections} connections: ` +
        `Express serves ${whole(capacity)} a second`,
    );
    await compare(OURS, handler, { connections, loads, capacity });
  }
  database.close();
}

/** Nobody is refused without need, and the important last. */
async function spareAndPrefer(handler) {
  const connections = 'kept';
  const capacity = await measureCapacity('no protection', handler, connections);
  title(`${handler.cpuMs} ms of CPU over kept connections: Express serves ${whole(capacity)} a second`);
  const usual = { connections, capacity, loads: [0.7], seconds: LONG_SECONDS };
  await compare(OURS, { ...handler, pauseMs: 300 }, { ...usual, title: `${OURS}, pauses of 300 ms` });
  await compare(OURS, handler, { ...usual, title: `${OURS}, bursts of 60`, burst: 60 });
  const server = await startServer(PRIORITIES, handler, connections);
  for (const load of [2, 4]) {
    const { important, ...result } = await run(server, { load, capacity, importantShare: IMPORTANT / load });
    print(PRIORITIES, load, result);
    const share = percent(important.served / important.offered);
    line('  of these the important', [`${IMPORTANT}x`, share, ms(important.p99)]);
  }
  server.child.kill();
}
process.exit();
