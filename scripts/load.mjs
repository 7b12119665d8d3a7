// npm run load: builds what is missing, then shows every framework under overload (demo/).
import { readOptions } from './options.mjs';
import { prepare } from './prepare.mjs';
import { fail } from './run.mjs';

const DEFAULT_SECONDS = 30;
const MOST_SECONDS = 3600;
const OVERLOADS = [2, 5];
const HELP = `Usage: npm run load [-- --seconds N] [-- --framework NAME]

Offers a server of each framework twice and five times the load that its dependency can serve, behind a fixed
concurrency limiter, and the same of what its handlers can compute, with overload protection; then prints what the
clients saw, and checks that every request ended once and that nothing was left behind.

  --seconds N        length of each run, 1 to ${MOST_SECONDS}; default ${DEFAULT_SECONDS}
  --framework NAME   only this one
  --help             this text`;

const { seconds: given = String(DEFAULT_SECONDS), framework } = readOptions(
  { seconds: { type: 'string' }, framework: { type: 'string' } },
  HELP,
);
if (!(Number(given) >= 1 && Number(given) <= MOST_SECONDS)) {
  fail(`--seconds takes a number from 1 to ${MOST_SECONDS}; not '${given}'.`);
}
await prepare();
const { loadFrameworks, names } = await import('../demo/frameworks-under-load.mjs');
if (framework !== undefined && !names.includes(framework)) {
  fail(`--framework takes ${names.join(', ')}; not '${framework}'.`);
}
const only = framework === undefined ? names : [framework];
const sound = await loadFrameworks({ seconds: Number(given), only, overloads: OVERLOADS }).catch((error) =>
  fail(`The load stopped: ${error.message}`),
);
process.exitCode = sound ? 0 : 1;
