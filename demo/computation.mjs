// Handlers that compute: what is short is the event loop of their server.
import http from 'node:http';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** The processor time of this process in ms. On Windows it moves in steps of 16 ms, so there it is the time of day. */
const processorTime =
  process.platform === 'win32'
    ? () => performance.now()
    : () => {
        const { user, system } = process.cpuUsage();
        return (user + system) / 1000;
      };

/**
 * Uses processor time, as much on a busy machine as on an idle one.
 * @param {number} ms
 */
export function compute(ms) {
  const until = processorTime() + ms;
  for (let value = 1; processorTime() < until; ) {
    for (let i = 0; i < 5000; i++) value = Math.imul(value, 31) + i;
  }
}

/**
 * How many answers a second come to clients that each send a request when they have the answer to the one before:
 * what a server can do when it never waits for a request, and no request waits for long.
 * @param {number} port
 * @param {{ path: string, clients?: number, forMs: number, isKept?: boolean }} options isKept: the connections
 */
export async function countAnswers(port, { path, clients = 20, forMs, isKept = true }) {
  const agent = isKept && new http.Agent({ keepAlive: true });
  let answers = 0;
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      const [response] = await once(http.get({ agent, host: '127.0.0.1', port, path }), 'response');
      await once(response.resume(), 'end');
      answers += 1;
    }
  };
  const running = Array.from({ length: clients }, client);
  await delay(forMs / 3);
  const before = answers;
  const startedAt = performance.now();
  await delay(forMs);
  const rate = ((answers - before) * 1000) / (performance.now() - startedAt);
  isOver = true;
  await Promise.all(running);
  if (agent) agent.destroy();
  return rate;
}
