// What an accepted request costs: processor time of the server, beside the bare framework and the peers, in
// interleaved rounds of the same requests.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';

const QUICK = process.argv.includes('--quick');
const ROUNDS = QUICK ? 3 : 15;
const REQUESTS = QUICK ? 700 : 6000;
const WARM_UP = QUICK ? 2000 : 20_000;
const CONNECTIONS = 8;
const GROUPS = {
  'node:http': ['this package'],
  Express: ['this package', 'express-rate-limit', 'overload-protection'],
  Fastify: ['this package', '@fastify/under-pressure'],
  Koa: ['this package'],
  Hono: ['this package'],
};

const file = fileURLToPath(new URL('./http-server.mjs', import.meta.url));

async function start(name) {
  const child = fork(file, [name]);
  const [port] = await once(child, 'message');
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => open(port)));
  const cpu = async () => {
    child.send('cpu');
    const [microseconds] = await once(child, 'message');
    return microseconds;
  };
  return { name, child, sockets, cpu, times: [] };
}

/** A connection on which one request follows the answer to the one before. */
async function open(port) {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.setNoDelay(true);
  const request = Buffer.from('GET / HTTP/1.1\r\nHost: bench\r\n\r\n');
  return (count) =>
    new Promise((resolve, reject) => {
      let left = count;
      const onData = (chunk) => {
        if (!chunk.includes('{"hello":"world"}')) return;
        left -= 1;
        if (left > 0) {
          socket.write(request);
          return;
        }
        socket.off('data', onData);
        socket.off('close', onClose);
        resolve();
      };
      const onClose = () => reject(new Error('the server closed the connection'));
      socket.on('data', onData);
      socket.once('close', onClose);
      socket.write(request);
    });
}

const run = ({ sockets }, requests) => Promise.all(sockets.map((send) => send(requests / CONNECTIONS)));
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

console.log(`Processor time of the server for an accepted request: medians of ${ROUNDS} interleaved rounds, Node ${process.version}`);
console.log(`  ${''.padEnd(36)}${'us'.padStart(9)}${'added us'.padStart(12)}`);
for (const [framework, others] of Object.entries(GROUPS)) {
  const names = ['bare', ...others].map((what) => `${framework}, ${what}`);
  const servers = [];
  for (const name of names) servers.push(await start(name));
  for (const server of servers) await run(server, WARM_UP);
  for (let round = 0; round < ROUNDS; round++) {
    for (const server of servers) {
      const before = await server.cpu();
      await run(server, REQUESTS);
      server.times.push(((await server.cpu()) - before) / REQUESTS);
    }
  }
  const bare = servers[0].times;
  for (const { name, times, child } of servers) {
    // Round by round, so that a slow round of the machine counts on both sides.
    const added = median(times.map((time, round) => time - bare[round]));
    console.log(`  ${name.padEnd(36)}${median(times).toFixed(1).padStart(9)}${(name.endsWith('bare') ? '' : added.toFixed(1)).padStart(12)}`);
    child.disconnect();
  }
}
process.exit();
