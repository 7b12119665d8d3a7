// A database for servers under load: answers each query when it has taken its time, over TCP, as real ones do. What
// waits for an answer goes on in the poll phase of its event loop, not by a timer.

import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/**
 * @param {number} ms What a query takes, whatever else goes on.
 * @returns {Promise<import('node:net').Server>}
 */
export async function openDatabase(ms) {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('data', () => setTimeout(() => socket.write('r'), ms));
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

/**
 * A pool of connections, one query at a time on each, without a bound: what bounds it stands before it.
 *
 * @param {number} port
 * @returns {() => Promise<void>} A query.
 */
export function connectToDatabase(port) {
  /** @type {{ socket: import('node:net').Socket, resolve: () => void }[]} */
  const free = [];
  const open = () => {
    const connection = { socket: connect({ port, host: '127.0.0.1', noDelay: true }), resolve() {} };
    connection.socket.on('data', () => {
      free.push(connection);
      connection.resolve();
    });
    return connection;
  };
  return () =>
    new Promise((resolve) => {
      const connection = free.pop() ?? open();
      connection.resolve = resolve;
      connection.socket.write('q');
    });
}
