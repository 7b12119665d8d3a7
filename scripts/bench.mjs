// npm run bench: builds, installs the peers beside the benchmarks, and prints the tables.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readOptions } from './options.mjs';
import { prepare } from './prepare.mjs';
import { fail, root, run } from './run.mjs';

/** Some minutes each. */
const OVERLOADS = ['overload', 'event-loop'];
const CORE = 'core';
const BENCHES = ['crossing', 'execute', 'queue', 'in-flight', 'threads', 'rate-limiter', 'http', ...OVERLOADS, CORE];
const HELP = `Usage: npm run bench [-- --quick] [-- --only NAME]

Measures this package beside its peers and beside the bare callback, in one run.

  --quick       fewer rounds, and no overload unless it is named: about a minute
  --only NAME   one of ${BENCHES.join(', ')}
  --help        this text`;

const benches = path.join(root, 'benches');
const { quick = false, only } = readOptions({ quick: { type: 'boolean' }, only: { type: 'string' } }, HELP);
if (only !== undefined && !BENCHES.includes(only)) fail(`--only takes ${BENCHES.join(', ')}; not '${only}'.`);
await prepare();
if (peersAreMissing()) {
  console.log('Installing the peers (npm ci in benches/) ...');
  const code = await run('npm ci --no-audit --no-fund', [], { shell: true, cwd: benches });
  if (code !== 0) fail('npm ci failed in benches/ (its message is above). It needs the network once.');
}
for (const bench of only === undefined ? BENCHES : [only]) {
  if (quick && only === undefined && OVERLOADS.includes(bench)) continue;
  const code = await (bench === CORE
    ? run('cargo', ['bench', '--quiet', '--bench', CORE])
    : run(process.execPath, [`benches/${bench}.mjs`, ...(quick ? ['--quick'] : [])]));
  if (code !== 0) process.exitCode = code;
}

/** Also where peers were added since the last install. */
function peersAreMissing() {
  const { dependencies } = JSON.parse(readFileSync(path.join(benches, 'package.json'), 'utf8'));
  return !Object.keys(dependencies).every((name) => existsSync(path.join(benches, 'node_modules', name)));
}
