// npm run bench: builds, installs the peers beside the benchmarks, and prints the tables.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readOptions } from './options.mjs';
import { prepare } from './prepare.mjs';
import { fail, root, run } from './run.mjs';

const HELP = `Usage: npm run bench [-- --quick]

Measures this package beside its peers and beside the bare callback, in one run.

  --quick   fewer rounds, and no overload: about a minute
  --help    this text`;

const benches = path.join(root, 'benches');
const { quick = false } = readOptions({ quick: { type: 'boolean' } }, HELP);
await prepare();
if (peersAreMissing()) {
  console.log('Installing the peers (npm ci in benches/) ...');
  const code = await run('npm ci --no-audit --no-fund', [], { shell: true, cwd: benches });
  if (code !== 0) fail('npm ci failed in benches/ (its message is above). It needs the network once.');
}
for (const bench of ['crossing', 'execute', 'queue', 'in-flight', 'threads', 'rate-limiter', 'http', 'overload']) {
  if (quick && bench === 'overload') continue;
  const code = await run(process.execPath, [`benches/${bench}.mjs`, ...(quick ? ['--quick'] : [])]);
  if (code !== 0) process.exitCode = code;
}

await run('cargo', ['bench', '--quiet', '--bench', 'core']);

/** Also where peers were added since the last install. */
function peersAreMissing() {
  const { dependencies } = JSON.parse(readFileSync(path.join(benches, 'package.json'), 'utf8'));
  return !Object.keys(dependencies).every((name) => existsSync(path.join(benches, 'node_modules', name)));
}
