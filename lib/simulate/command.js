'use strict';

// npx @ylcnfrht/resilience: its commands, their options, and what they print.

const { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');

const { NONE, ORACLE, OVERLOAD } = require('./chosen.js');
const { readScenario, scenarioNames } = require('./named.js');
const { didYouMean } = require('../nearest.js');
const { CAPACITY, plots } = require('./plot.js');
const { printable } = require('./printable.js');
const { progressBar } = require('./progress.js');
const { readSimulation, runSimulation } = require('./simulate.js');
const { toSvg } = require('./svg.js');
const { figuresTable, seconds } = require('./table.js');

const BAD_INPUT = 2;
/** As a shell has it: 128 and the number of SIGINT. */
const INTERRUPTED = 130;
const DEFAULT_ALGORITHMS = ['knee', 'gradient2', 'vegas', 'aimd'];
const WIDEST = 110;

const HELP = `Usage: resilience simulate <scenario> [options]

Simulates limit algorithms in front of a dependency, or the protection of an event loop, in simulated time.
The scenario is the name of one that comes with the package, or a file of JSON: docs/simulate.md has its
fields.

  --algorithm <list>  knee, gradient2, vegas, aimd, fixed:13, none, oracle, overload; several with commas.
                      The default is the first four, oracle if the scenario names the right limit, and
                      overload and none if it has an event loop
  --seeds <n>         runs of each algorithm, each with a seed of its own; 1 to 1000, default 1
  --svg <file>        draws limit, calls in flight, latency and drops over time
  --json              prints the report as JSON, and nothing else
  --points <n>        points of the curves, 10 to 10000, default 300; with --json they are printed too
  --list              prints the names of the scenarios
  --help              prints this`;

const OPTIONS = /** @type {const} */ ({
  algorithm: { type: 'string' },
  seeds: { type: 'string' },
  svg: { type: 'string' },
  json: { type: 'boolean' },
  points: { type: 'string' },
  list: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
});

/** Something that the user has to correct. */
class Mistake extends Error {}

/**
 * @param {string[]} argv
 * @returns {Promise<number>} The exit code.
 */
async function main(argv) {
  try {
    return await run(argv);
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    process.stderr.write(`resilience: ${printable(error.message)}\n`);
    return BAD_INPUT;
  }
}

/** @param {string[]} argv */
async function run(argv) {
  const { values, positionals } = parse(argv);
  if (values.help) return print(HELP.split('\n'));
  const [command, target, ...more] = positionals;
  if (command === undefined) throw new Mistake('name a command: resilience simulate <scenario>; see --help');
  if (command !== 'simulate') {
    throw new Mistake(`'${command}' is no command${didYouMean(command, ['simulate'])}; see --help`);
  }
  if (values.list) return print(listing());
  if (target === undefined) throw new Mistake('name a scenario, or a file of JSON; --list prints the names');
  if (more.length > 0) throw new Mistake(`simulate takes one scenario, not ${positionals.length - 1}`);
  return simulateCommand(target, values);
}

/** @param {string[]} argv */
function parse(argv) {
  try {
    return parseArgs({ args: argv, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    // Node's own message goes on with advice on positional arguments.
    const [message] = /** @type {Error} */ (error).message.split(/\. |\n/);
    const [, option = ''] = /^Unknown option '--?(.*)'/.exec(message) ?? [];
    throw new Mistake(`${message}${didYouMean(option, Object.keys(OPTIONS))}; see --help`);
  }
}

function listing() {
  const names = scenarioNames();
  const width = Math.max(...names.map((name) => name.length));
  return names.map((name) => `${name.padEnd(width)}  ${readScenario(name).description ?? ''}`.trimEnd());
}

/**
 * @param {string} target
 * @param {{ algorithm?: string, seeds?: string, svg?: string, json?: boolean, points?: string }} values
 */
async function simulateCommand(target, { algorithm, seeds, svg, json = false, points }) {
  const scenario = load(target);
  const controller = new AbortController();
  const simulation = check(scenario.where, () =>
    readSimulation({
      scenario: scenario.value,
      algorithms: algorithm?.split(',').map((name) => name.trim()) ?? defaultAlgorithms(scenario.value),
      seeds: whole(seeds),
      points: whole(points),
      signal: controller.signal,
    }),
  );
  const abandon = svg === undefined ? () => {} : claim(svg);
  const progress = progressBar(printable(simulation.scenario.name), process.stderr);
  const interrupt = () => controller.abort();
  process.once('SIGINT', interrupt);
  let report;
  try {
    report = await runSimulation({ ...simulation, onProgress: progress.show });
  } catch (error) {
    abandon();
    if (controller.signal.aborted) return INTERRUPTED;
    if (error instanceof RangeError) throw new Mistake(`${scenario.where}${error.message}`);
    throw error;
  } finally {
    process.removeListener('SIGINT', interrupt);
    progress.clear();
  }
  if (svg !== undefined) write(svg, toSvg(report, simulation.scenario));
  if (json) {
    const shown = points === undefined ? withoutSeries(report) : report;
    return print(JSON.stringify(shown, undefined, 2).split('\n'));
  }
  return print(summary(report, simulation.scenario));
}

/**
 * @param {string} target A name, or a path: that has a dot or a slash.
 * @returns {{ value: any, where: string }}
 */
function load(target) {
  if (!/[./\\]/.test(target)) return { value: check('', () => readScenario(target)), where: '' };
  let source;
  try {
    source = readFileSync(target, 'utf8');
  } catch (error) {
    throw new Mistake(`cannot read ${target}: ${/** @type {Error} */ (error).message}`);
  }
  let value;
  try {
    value = JSON.parse(source.replace(/^\ufeff/, ''));
  } catch (error) {
    throw new Mistake(`${target} is no JSON: ${/** @type {Error} */ (error).message.replaceAll('\n', ' ')}`);
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const name = path.basename(target, path.extname(target)) || target;
  return { value: isObject ? { name, ...value } : value, where: `${target}: ` };
}

/**
 * @template T
 * @param {string} where
 * @param {() => T} read What throws for bad input only.
 * @returns {T}
 */
function check(where, read) {
  try {
    return read();
  } catch (error) {
    throw new Mistake(`${where}${/** @type {Error} */ (error).message}`);
  }
}

/** @param {any} scenario */
const defaultAlgorithms = (scenario) => [
  ...(scenario?.eventLoop === undefined ? [] : [OVERLOAD, NONE]),
  ...DEFAULT_ALGORITHMS,
  ...(scenario?.oracle === undefined ? [] : [ORACLE]),
];

/** A number, or text that the error will show. @param {string | undefined} text */
const whole = (text) => (text !== undefined && /^\d+$/.test(text) ? Number(text) : text);

/**
 * Opens a file that will be written, before a simulation that may be long.
 *
 * @param {string} file
 * @returns {() => void} Takes away what it has made, if nothing comes of it.
 */
function claim(file) {
  const existed = existsSync(file);
  try {
    closeSync(openSync(file, 'a'));
  } catch (error) {
    throw new Mistake(`cannot write ${file}: ${/** @type {Error} */ (error).message}`);
  }
  return () => {
    if (!existed) rmSync(file, { force: true });
  };
}

/** @param {string} file @param {string} content */
function write(file, content) {
  try {
    writeFileSync(file, content);
  } catch (error) {
    throw new Mistake(`cannot write ${file}: ${/** @type {Error} */ (error).message}`);
  }
}

/** @param {import('../../types/simulate/report.js').SimulationReport} report */
function withoutSeries(report) {
  const algorithms = report.algorithms.map((one) => ({
    ...one,
    runs: one.runs.map(({ series: _, ...rest }) => rest),
  }));
  return { ...report, algorithms };
}

/**
 * @param {import('../../types/simulate/report.js').SimulationReport} report
 * @param {import('./scenario.js').ParsedScenario} scenario
 */
function summary({ scenario: name, duration, algorithms }, { description, windows }) {
  const { runs } = algorithms[0];
  const seeds = runs.length === 1 ? `seed ${runs[0].seed}` : `means of ${runs.length} seeds`;
  const width = Math.min(process.stdout.columns || WIDEST, WIDEST);
  const curves = algorithms.map(({ algorithm, runs: [first] }) => ({ algorithm, series: first.series }));
  return [
    description === '' ? name : `${name}: ${description}`,
    `${seconds(duration)} of simulated time, ${seeds}.`,
    '',
    ...figuresTable(algorithms),
    ...windows.flatMap(({ name: window, fromMs, toMs }) => [
      '',
      `${window}, ${seconds(fromMs)} to ${seconds(toMs)}`,
      ...figuresTable(algorithms.map((one) => ({ algorithm: one.algorithm, figures: one.windows[window] }))),
    ]),
    '',
    `Limit over time, seed ${runs[0].seed}; ${CAPACITY.repeat(3)} is the capacity of the dependency.`,
    ...plots(curves, duration, width),
  ];
}

/** @param {string[]} lines Each is one on the terminal. */
function print(lines) {
  process.stdout.write(`${lines.map(printable).join('\n')}\n`);
  return 0;
}

module.exports = { main };
