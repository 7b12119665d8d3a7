// A rate limiter with many keys: memory for each, and time for a check, beside the peers.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const KEYS = process.argv.includes('--quick') ? 200_000 : 1_000_000;
const PEER = 'rate-limiter-flexible';
const NAMES = ['fixed-window', 'sliding-window', 'token-bucket', PEER, 'express-rate-limit'];

const file = fileURLToPath(new URL('./rate-limiter-case.mjs', import.meta.url));
const results = new Map();
for (const name of NAMES) {
  const child = fork(file, [name, String(KEYS)], { execArgv: ['--expose-gc', '--max-old-space-size=8192'] });
  const [result] = await once(child, 'message');
  results.set(name, result);
}

console.log(`A rate limiter with ${KEYS.toLocaleString('en')} keys, one permit taken of each, Node ${process.version}`);
const row = (...cells) => console.log(`  ${cells[0].padEnd(28)}${cells.slice(1).map((cell) => cell.padStart(16)).join('')}`);
row('', 'bytes a key', 'x less memory', 'ns a check', 'x as fast');
const peer = results.get(PEER);
for (const [name, { bytes, ns }] of results) {
  row(name, bytes.toFixed(0), (peer.bytes / bytes).toFixed(1), ns.toFixed(0), (peer.ns / ns).toFixed(1));
}
