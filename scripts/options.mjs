// Command-line options of the scripts. `--help` and a mistake both end the script with text, without a stack.
import util from 'node:util';
import { fail } from './run.mjs';

/**
 * @param {import('node:util').ParseArgsConfig['options']} options
 * @param {string} help
 * @returns {Record<string, any>}
 */
export function readOptions(options, help) {
  const { help: helpWanted, ...values } = parse({ ...options, help: { type: 'boolean', short: 'h' } }, help);
  if (!helpWanted) return values;
  console.log(help);
  process.exit(0);
}

/**
 * @param {NonNullable<import('node:util').ParseArgsConfig['options']>} options
 * @param {string} help
 */
function parse(options, help) {
  try {
    return util.parseArgs({ options }).values;
  } catch (error) {
    return fail(`${error.message.split('\n')[0]}\n\n${help}`);
  }
}
