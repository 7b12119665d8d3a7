// The demo: measures what the dependency can serve, then offers more than that to four servers in turn; and then the
// same for servers that are short of processor time, since their handlers compute.
import { measureCapacity } from './dependency.mjs';
import { measureComputing, runPhase } from './phase.mjs';
import { progressLine } from './progress.mjs';
import { report, reportComputing, titles } from './report.mjs';
import * as settings from './settings.mjs';

const CALIBRATION_MS = 1500;
const FRAMEWORK = 'express';

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

  const phases = await runPhases(['none', 'fixed', 'gradient2', 'knee'], { short: 'dependency', rate, seconds });
  console.log(`\n${report(phases, { capacity, seconds, overload })}`);
  const computing = await runComputing(seconds, overload);

  const all = [...phases, ...computing];
  const problems = all.flatMap((phase) => phase.problems.map((text) => `${titles[phase.mode]}: ${text}.`));
  if (problems.length === 0) {
    console.log('\nChecked: every request ended once, nothing was left held or open, no error was uncaught.');
  } else {
    console.error(`\nFAILED\n${problems.join('\n')}`);
  }
  return problems.length === 0;
}

async function runComputing(seconds, overload) {
  const { cpuMs } = settings.computation;
  const capacity = await measureComputing(FRAMEWORK, CALIBRATION_MS);
  const rate = overload * capacity;
  console.log(
    `\nA server whose handlers compute for ${cpuMs} ms answers ${Math.round(capacity)} requests/s on this machine.\n` +
      `Offering ${Math.round(rate)} requests/s to each of two of these.\n`,
  );
  const phases = await runPhases(['none', 'overload'], { short: 'cpu', rate, seconds });
  console.log(`\n${reportComputing(phases, { capacity, seconds, overload })}`);
  return phases;
}

/** One after the other. */
async function runPhases(modes, { short, rate, seconds }) {
  const phases = [];
  for (const mode of modes) {
    const line = progressLine(titles[mode], seconds);
    const options = { framework: FRAMEWORK, short, rate, seconds, onProgress: line.show };
    phases.push({ mode, ...(await runPhase(mode, options)) });
    line.end();
  }
  return phases;
}
