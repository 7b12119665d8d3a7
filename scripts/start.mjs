// npm start: builds what is missing, then shows the package under load (demo/).
import { readOptions } from './options.mjs';
import { prepare } from './prepare.mjs';
import { fail } from './run.mjs';

const DEFAULT_SECONDS = 15;
const MOST_SECONDS = 3600;
const HELP = `Usage: npm start [-- --seconds N]

Offers an Express server twice the load that its dependency can serve: without protection, with a fixed
concurrency limiter, and with an adaptive one; then prints what the clients and the server saw.

  --seconds N   length of each of the three phases, 1 to ${MOST_SECONDS}; default ${DEFAULT_SECONDS}
  --help        this text`;

const seconds = readSeconds();
await prepare();
const { runDemo } = await import('../demo/demo.mjs');
const sound = await runDemo(seconds).catch((error) => fail(`The demo stopped: ${error.message}`));
process.exitCode = sound ? 0 : 1;

function readSeconds() {
  const { seconds: given = String(DEFAULT_SECONDS) } = readOptions({ seconds: { type: 'string' } }, HELP);
  if (Number(given) >= 1 && Number(given) <= MOST_SECONDS) return Number(given);
  return fail(`--seconds takes a number from 1 to ${MOST_SECONDS}; not '${given}'.`);
}
