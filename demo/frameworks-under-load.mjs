// npm run load: every framework with a fixed limit, offered several times what its dependency can serve.
import { measureCapacity } from './dependency.mjs';
import { frameworks } from './frameworks.mjs';
import { runPhase } from './phase.mjs';
import { progressLine } from './progress.mjs';
import * as settings from './settings.mjs';
import { FIGURES, align, figures, percent } from './table.mjs';

const CALIBRATION_MS = 1500;
/** Of the dependency's capacity, as answers in time. */
const TARGET = 0.95;

export const names = Object.keys(frameworks);

/**
 * @param {{ seconds: number, only: string[], overloads: number[] }} options
 * @returns {Promise<boolean>} false when something that must always hold did not
 */
export async function loadFrameworks({ seconds, only, overloads }) {
  const capacity = await measureCapacity(settings.dependency, CALIBRATION_MS);
  console.log(`\nThe dependency serves ${Math.round(capacity)} calls/s on this machine.\n`);
  const rows = [];
  const problems = [];
  for (const framework of only) {
    for (const overload of overloads) {
      const line = progressLine(`${framework} ${overload}x`, seconds);
      const rate = overload * capacity;
      const phase = await runPhase('fixed', { framework, rate, seconds, onProgress: line.show });
      line.end();
      rows.push([framework, `${overload}x`, ...figures(phase.clients, { capacity, seconds })]);
      problems.push(...phase.problems.map((text) => `${framework}, ${overload}x: ${text}.`));
    }
  }
  console.log(`\n${align(['framework', 'load', ...FIGURES], rows).join('\n')}`);
  console.log(`\nOn an idle machine, ${percent(TARGET)} of capacity or more is to be expected.`);
  if (problems.length > 0) console.error(`\nFAILED\n${problems.join('\n')}`);
  return problems.length === 0;
}
