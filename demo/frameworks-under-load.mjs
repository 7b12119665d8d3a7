// npm run load: every framework with a fixed limit, offered several times what its dependency can serve; and with
// overload protection, offered several times what its handlers can compute.
import { measureCapacity } from './dependency.mjs';
import { frameworks } from './frameworks.mjs';
import { measureComputing, runPhase } from './phase.mjs';
import { progressLine } from './progress.mjs';
import * as settings from './settings.mjs';
import { FIGURES, align, figures, percent } from './table.mjs';

const CALIBRATION_MS = 1500;
/** Of the capacity, as answers in time. */
const TARGETS = { dependency: 0.95, cpu: 0.85 };
const MODES = { dependency: 'fixed', cpu: 'overload' };

export const names = Object.keys(frameworks);

/**
 * @param {{ seconds: number, only: string[], overloads: number[] }} options
 * @returns {Promise<boolean>} false when something that must always hold did not
 */
export async function loadFrameworks({ seconds, only, overloads }) {
  const calls = await measureCapacity(settings.dependency, CALIBRATION_MS);
  console.log(`\nThe dependency serves ${Math.round(calls)} calls/s on this machine.\n`);
  const problems = [];

  /** What it is short of; how much of it there is. */
  const load = async (framework, short, capacity) => {
    const rows = [];
    for (const overload of overloads) {
      const line = progressLine(`${framework} ${overload}x`, seconds);
      const options = { framework, short, rate: overload * capacity, seconds, onProgress: line.show };
      const phase = await runPhase(MODES[short], options);
      line.end();
      rows.push([framework, `${overload}x`, ...figures(phase.clients, { capacity, seconds })]);
      problems.push(...phase.problems.map((text) => `${framework}, ${short}, ${overload}x: ${text}.`));
    }
    return rows;
  };

  const rows = { dependency: [], cpu: [] };
  for (const framework of only) {
    rows.dependency.push(...(await load(framework, 'dependency', calls)));
    const answers = await measureComputing(framework, CALIBRATION_MS);
    rows.cpu.push(...(await load(framework, 'cpu', answers)));
  }
  const columns = ['framework', 'load', ...FIGURES];
  console.log(`\nShort of their dependency, behind a fixed limiter\n\n${align(columns, rows.dependency).join('\n')}`);
  console.log(`\nShort of processor time, with overload protection\n\n${align(columns, rows.cpu).join('\n')}`);
  console.log(
    `\nOn an idle machine, ${percent(TARGETS.dependency)} of capacity or more is to be expected of the first, ` +
      `${percent(TARGETS.cpu)} of the second.`,
  );
  if (problems.length > 0) console.error(`\nFAILED\n${problems.join('\n')}`);
  return problems.length === 0;
}
