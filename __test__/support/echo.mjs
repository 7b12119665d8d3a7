// A dependency in a thread of its own: it answers while the thread of the test stands still.

import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';

if (!isMainThread && parentPort !== null) {
  const [buffer] = await once(parentPort, 'message');
  const answered = new Int32Array(buffer);
  const server = createServer((socket) => {
    socket.setNoDelay().on('error', () => {});
    socket.on('data', (data) => {
      socket.write(data, () => {
        Atomics.add(answered, 0, data.length);
        Atomics.notify(answered, 0);
      });
    });
  });
  server.listen(0, () => parentPort.postMessage(server.address().port));
}

/**
 * Starts one, with `size` open connections.
 *
 * @param {number} size
 */
export async function startEcho(size) {
  const answered = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL(import.meta.url));
  worker.postMessage(answered.buffer);
  const [port] = await once(worker, 'message');
  const sockets = Array.from({ length: size }, () => connect(port).setNoDelay());
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  let calls = 0;
  return {
    close() {
      for (const socket of sockets) socket.destroy();
      return worker.terminate();
    },
    get calls() {
      return calls;
    },
    /** Asks, by a byte that is sent at once, and waits for the answer. */
    async call() {
      const socket = sockets.pop();
      if (socket === undefined) throw new Error('no connection is left');
      calls += 1;
      socket.write('x');
      await once(socket, 'data');
      sockets.push(socket);
      return 'answer';
    },
    /** Stands still until all answers lie in the sockets, and `ms` have passed. */
    block(ms) {
      const from = performance.now();
      const until = from + 10_000;
      for (let seen = Atomics.load(answered, 0); seen < calls; seen = Atomics.load(answered, 0)) {
        if (performance.now() > until) throw new Error(`${seen} of ${calls} calls were answered`);
        Atomics.wait(answered, 0, seen, 100);
      }
      const idle = new Int32Array(new SharedArrayBuffer(4));
      Atomics.wait(idle, 0, 0, Math.max(ms - (performance.now() - from), 0) + 1);
    },
  };
}
