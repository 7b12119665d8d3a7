// What an accepted and a refused request cost: processor time of the server, beside the bare framework and the peers,
// or an answer by hand, in interleaved rounds of the same requests.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';

const QUICK = process.argv.includes('--quick');
const ROUNDS = QUICK ? 3 : 15;
const REQUESTS = QUICK ? 700 : 6000;
const WARM_UP = QUICK ? 2000 : 20_000;
const CONNECTIONS = 8;
const REQUEST = Buffer.from('GET / HTTP/1.1\r\nHost: bench\r\n\r\n');
const ACCEPTED = {
  'node:http': ['bare', 'this package'],
  Express: ['bare', 'this package', 'express-rate-limit', 'overload-protection'],
  Fastify: ['bare', 'this package', '@fastify/under-pressure'],
  Koa: ['bare', 'this package'],
  Hono: ['bare', 'this package'],
};
const REFUSED = {
  'refused, node:http': ['by hand', 'withResilience'],
  'refused, Express': ['middleware by hand', 'middleware', 'protect()'],
};

const file = fileURLToPath(new URL('./http-server.mjs', import.meta.url));

async function start(name, answer) {
  const child = fork(file, [name]);
  const [port] = await once(child, 'message');
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => open(port, answer)));
  const cpu = async () => {
    child.send('cpu');
    const [microseconds] = await once(child, 'message');
    return microseconds;
  };
  return { name, child, port, sockets, cpu, times: [] };
}

/** A connection on which one request follows the answer to the one before. */
async function open(port, answer) {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.setNoDelay(true);
  return (count) =>
    new Promise((resolve, reject) => {
      let left = count;
      const onData = (chunk) => {
        if (!chunk.includes(answer)) return;
        left -= 1;
        if (left > 0) {
          socket.write(REQUEST);
          return;
        }
        socket.off('data', onData);
        socket.off('close', onClose);
        resolve();
      };
      const onClose = () => reject(new Error('the server closed the connection'));
      socket.on('data', onData);
      socket.once('close', onClose);
      socket.write(REQUEST);
    });
}

const run = ({ sockets }, requests) => Promise.all(sockets.map((send) => send(requests / CONNECTIONS)));
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** Beside the first of each group. */
async function compare(title, groups, { answer, hold = false }) {
  const how = `medians of ${ROUNDS} interleaved rounds, Node ${process.version}`;
  console.log(`Processor time of the server for ${title}: ${how}`);
  console.log(`  ${''.padEnd(36)}${'us'.padStart(9)}${'added us'.padStart(12)}`);
  for (const [group, members] of Object.entries(groups)) {
    const servers = [];
    for (const member of members) servers.push(await start(`${group}, ${member}`, answer));
    if (hold) await Promise.all(servers.map(holdPermit));
    for (const server of servers) await run(server, WARM_UP);
    for (let round = 0; round < ROUNDS; round++) {
      for (const server of servers) {
        const before = await server.cpu();
        await run(server, REQUESTS);
        server.times.push(((await server.cpu()) - before) / REQUESTS);
      }
    }
    const [first] = servers;
    for (const { name, times, child } of servers) {
      // Round by round, so that a slow round of the machine counts on both sides.
      const added = median(times.map((time, round) => time - first.times[round])).toFixed(1);
      const cells = [median(times).toFixed(1).padStart(9), (times === first.times ? '' : added).padStart(12)];
      console.log(`  ${name.padEnd(36)}${cells.join('')}`);
      child.disconnect();
    }
  }
}

/** By a request that has no end. */
async function holdPermit({ port }) {
  const socket = connect(port, '127.0.0.1');
  socket.write(REQUEST);
  await once(socket, 'data');
}

await compare('an accepted request', ACCEPTED, { answer: '{"hello":"world"}' });
await compare('a refused request', REFUSED, { answer: '"error":"BULKHEAD_FULL"', hold: true });
process.exit();
