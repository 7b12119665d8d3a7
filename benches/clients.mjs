// Processes under load and the clients that load them.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/**
 * @param {string} file Of this folder.
 * @param {...unknown} args
 */
export const start = (file, ...args) => fork(fileURLToPath(new URL(file, import.meta.url)), args.map(String));

/**
 * Offers a load, and gives what its clients saw.
 *
 * @param {number} port
 * @param {number} rate Requests a second.
 * @param {number} seconds
 * @param {object} [options] Of demo/load.mjs.
 */
export async function offerLoad(port, rate, seconds, options = {}) {
  const clients = start('../demo/load.mjs', port, rate, seconds, JSON.stringify(options));
  for (;;) {
    const [{ type, result }] = await once(clients, 'message');
    if (type === 'done') return result;
  }
}
