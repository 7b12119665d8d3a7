// One execution: this package, its peer and the bare callback, in one run.

import { measure } from './harness.mjs';

const ROUNDS = process.argv.includes('--quick') ? 3 : 25;
const FLOOR = 'bare callback';

/** The last of each group is what the others are compared with. */
const GROUPS = {
  'limiter + timeout': [
    'adaptive limiter + timeout, ambient',
    'adaptive limiter + timeout, explicit',
    'fixed limiter + timeout, ambient',
    'fixed limiter + timeout, explicit',
    'cockatiel wrap(bulkhead, timeout)',
  ],
  'limiter + timeout, the callback reads its signal': [
    'adaptive limiter + timeout, ambient, signal',
    'adaptive limiter + timeout, explicit, signal',
    'cockatiel wrap(bulkhead, timeout), signal',
  ],
  'limiter alone': [
    'fixed limiter, ambient',
    'fixed limiter, explicit',
    'p-limit',
    'async-sema',
    'cockatiel bulkhead',
  ],
  'limiter alone, which refuses': ['refused, execute', 'refused, settle', 'cockatiel bulkhead, refused'],
  'circuit breaker alone': [
    'circuit breaker, ambient',
    'circuit breaker, explicit',
    'opossum',
    'cockatiel sampling breaker',
  ],
  'retry, circuit breaker, limiter, timeout; of five: and a rate limiter, which the peer has not': [
    'composite of five, ambient',
    'composite of five, explicit',
    'composite of four, ambient',
    'composite of four, explicit',
    'cockatiel wrap of four',
  ],
  'adaptive limiter + timeout, explicit, and its events': [
    'telemetry listener',
    'diagnostics_channel subscriber',
    'nobody listens',
  ],
};

console.log(`One awaited execution: medians of ${ROUNDS} interleaved rounds, Node ${process.version}`);
const names = [FLOOR, ...Object.values(GROUPS).flat()];
const medians = await measure(new URL('./execute-cases.mjs', import.meta.url), names, ROUNDS);
const time = (name) => medians.get(name) ?? NaN;

const row = (name, ns, floor, peer) =>
  console.log(`  ${name.padEnd(48)}${ns.padStart(9)}${floor.padStart(10)}${peer.padStart(14)}`);
row('', 'ns', 'x floor', 'x as fast');
row(FLOOR, time(FLOOR).toFixed(0), '1.0', '');
for (const [title, members] of Object.entries(GROUPS)) {
  console.log(`\n${title}`);
  const peer = members[members.length - 1];
  for (const name of members) {
    const asFast = name === peer ? '1' : (time(peer) / time(name)).toFixed(1);
    row(name, time(name).toFixed(0), (time(name) / time(FLOOR)).toFixed(1), asFast);
  }
}
