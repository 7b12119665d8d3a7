// npm run bench: builds, installs the peers beside the benchmarks, and prints the tables.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { readOptions } from './options.mjs';
import { prepare } from './prepare.mjs';
import { fail, root, run } from './run.mjs';

const HELP = `Usage: npm run bench [-- --quick]

Measures this package beside its peers and beside the bare callback, in one run.

  --quick   fewer rounds: under a minute
  --help    this text`;

const { quick = false } = readOptions({ quick: { type: 'boolean' } }, HELP);
await prepare();
const benches = path.join(root, 'benches');
if (!existsSync(path.join(benches, 'node_modules'))) {
  console.log('Installing the peers (npm ci in benches/) ...');
  const code = await run('npm ci --no-audit --no-fund', [], { shell: true, cwd: benches });
  if (code !== 0) fail('npm ci failed in benches/ (its message is above). It needs the network once.');
}
process.exitCode = await run(process.execPath, ['benches/execute.mjs', ...(quick ? ['--quick'] : [])]);
