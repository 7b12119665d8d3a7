// npm start: builds what is missing, then shows the package under load (demo/).
import { readOptions } from './options.mjs';
import { prepare } from './prepare.mjs';
import { fail } from './run.mjs';

const DEFAULT_SECONDS = 15;
const MOST_SECONDS = 3600;
const DEFAULT_OVERLOAD = 2;
const MOST_OVERLOAD = 10;
const HELP = `Usage: npm start [-- --seconds N] [--overload N]

Offers an Express server more load than its dependency can serve: without protection, with a fixed concurrency
limiter, and with an adaptive one by gradient2 and by knee; then more than its handlers can compute, without and with
overload protection. Prints what the clients and the server saw.

  --seconds N    length of each of the six phases, 1 to ${MOST_SECONDS}; default ${DEFAULT_SECONDS}
  --overload N   the load, as a multiple of what can be served, 1 to ${MOST_OVERLOAD}; default ${DEFAULT_OVERLOAD}
  --help         this text`;

const given = readOptions({ seconds: { type: 'string' }, overload: { type: 'string' } }, HELP);
const seconds = readNumber('seconds', DEFAULT_SECONDS, MOST_SECONDS);
const overload = readNumber('overload', DEFAULT_OVERLOAD, MOST_OVERLOAD);
await prepare();
const { runDemo } = await import('../demo/demo.mjs');
const sound = await runDemo(seconds, overload).catch((error) => fail(`The demo stopped: ${error.message}`));
process.exitCode = sound ? 0 : 1;

/**
 * @param {'seconds' | 'overload'} name
 * @param {number} fallback
 * @param {number} most
 */
function readNumber(name, fallback, most) {
  const { [name]: text = String(fallback) } = given;
  if (Number(text) >= 1 && Number(text) <= most) return Number(text);
  return fail(`--${name} takes a number from 1 to ${most}; not '${text}'.`);
}
