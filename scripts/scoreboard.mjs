// npm run scoreboard: plays every scenario with every algorithm, prints the figures and writes the page.
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { align } from '../demo/table.mjs';
import { readOptions } from './options.mjs';
import { prepare } from './prepare.mjs';
import { root } from './run.mjs';

const DRAWN = ['knee', 'gradient2'];
const HELP = `Usage: npm run scoreboard [-- --quick]

Simulates all limit algorithms in all scenarios, prints what they reach (+ where a target is met), and writes
docs/scoreboard.md with its pictures.

  --quick   two runs of each instead of twenty; writes nothing
  --help    this text`;

const { quick = false } = readOptions({ quick: { type: 'boolean' } }, HELP);
await prepare();
// After the build.
const { simulate } = await import('../simulate.js');
const { isMet, mean, print, printTarget } = await import('../scoreboard/measures.mjs');
const { PICTURES, page } = await import('../scoreboard/page.mjs');
const { ALGORITHMS, LOOP_ALGORITHMS, SEEDS, play, runsOf } = await import('../scoreboard/play.mjs');
const { eventLoopRows, reference, rows } = await import('../scoreboard/rows.mjs');
const require = createRequire(import.meta.url);
const { progressBar } = require('../lib/simulate/progress.js');
const { parseScenario } = require('../lib/simulate/scenario.js');
const { readScenario } = require('../lib/simulate/named.js');
const { toSvg } = require('../lib/simulate/svg.js');

const parts = [
  { rows: [...rows, ...reference], algorithms: ALGORITHMS },
  { rows: eventLoopRows, algorithms: LOOP_ALGORITHMS },
];
const all = parts.flatMap((part) => part.rows.map(({ scenario }) => ({ ...part, scenario })));
const seeds = quick ? SEEDS.slice(0, 2) : SEEDS;
const reports = new Map();
for (const [index, { scenario, algorithms }] of all.entries()) {
  const progress = progressBar(`${scenario} (${index + 1} of ${all.length})`, process.stderr);
  reports.set(scenario, await play(scenario, algorithms, seeds, progress.show));
  progress.clear();
}
for (const part of parts) console.log(`${figures(part).join('\n')}\n`);
await timeAnHour();
if (!quick) write();

function figures({ rows: own, algorithms }) {
  const width = Math.max(...own.flatMap(({ measures }) => measures.map(({ name }) => name.length)));
  const lines = own.flatMap(({ scenario, measures }) =>
    measures.map((measure, index) => [
      index === 0 ? scenario : '',
      measure.name.padEnd(width),
      printTarget(measure),
      ...algorithms.map((algorithm) => figure(measure, runsOf(reports, scenario, algorithm))),
    ]),
  );
  return align(['scenario', 'figure'.padEnd(width), 'target', ...algorithms], lines);
}

function figure(measure, runs) {
  if (runs.length === 0) return '';
  return `${print(measure, mean(measure, runs))} ${isMet(measure, runs) ? '+' : ' '}`;
}

async function timeAnHour() {
  const hour = { ...readScenario('overload-130'), duration: '1h', callers: { rate: 200 }, windows: {} };
  const started = performance.now();
  await simulate({ scenario: hour });
  const seconds = (performance.now() - started) / 1000;
  console.log(`An hour of 200 calls a second was simulated in ${seconds.toFixed(1)} s.`);
}

function write() {
  const folder = path.join(root, 'docs/scoreboard');
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(root, 'docs/scoreboard.md'), page(reports));
  for (const name of Object.keys(PICTURES)) {
    const report = reports.get(name);
    const algorithms = report.algorithms.filter(({ algorithm }) => DRAWN.includes(algorithm));
    writeFileSync(
      path.join(folder, `${name}.svg`),
      toSvg({ ...report, algorithms }, parseScenario(readScenario(name))),
    );
  }
  console.log('Wrote docs/scoreboard.md and its pictures in docs/scoreboard/.');
}
