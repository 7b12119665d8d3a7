// The demo: measures what the dependency can serve, then offers more than that to four servers in turn.
import { measureCapacity } from './dependency.mjs';
import { runPhase } from './phase.mjs';
import { progressLine } from './progress.mjs';
import { report, titles } from './report.mjs';
import * as settings from './settings.mjs';

const CALIBRATION_MS = 1500;

/**
 * @param {number} seconds length of each phase, without its warm-up
 * @param {number} overload the load, as a multiple of the capacity
 * @returns {Promise<boolean>} false when something that must always hold did not
 */
export async function runDemo(seconds, overload) {
  const { workers, serviceMs } = settings.dependency;
  const capacity = await measureCapacity(settings.dependency, CALIBRATION_MS);
  const rate = overload * capacity;
  console.log(
    `\nA dependency of ${workers} workers at ${serviceMs} ms a call serves ` +
      `${Math.round(capacity)} calls/s on this machine.\n` +
      `Offering ${Math.round(rate)} requests/s to each of four servers that need it.\n`,
  );

  const phases = [];
  for (const mode of ['none', 'fixed', 'gradient2', 'knee']) {
    const line = progressLine(titles[mode], seconds);
    phases.push({ mode, ...(await runPhase(mode, { framework: 'express', rate, seconds, onProgress: line.show })) });
    line.end();
  }
  console.log(`\n${report(phases, { capacity, seconds, overload })}`);

  const problems = phases.flatMap((phase) => phase.problems.map((text) => `${titles[phase.mode]}: ${text}.`));
  if (problems.length === 0) {
    console.log('\nChecked: every request ended once, nothing was left held or open, no error was uncaught.');
  } else {
    console.error(`\nFAILED\n${problems.join('\n')}`);
  }
  return problems.length === 0;
}
