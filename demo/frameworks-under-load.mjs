// npm run load: every framework with a fixed limit, offered several times what its dependency can serve.
import { measureCapacity } from './dependency.mjs';
import { frameworks } from './frameworks.mjs';
import { runPhase } from './phase.mjs';
import { progressLine } from './progress.mjs';
import * as settings from './settings.mjs';
import { align, percent, tenths, whole } from './table.mjs';

const CALIBRATION_MS = 1500;
/** Of the dependency's capacity, as answers in time. */
const TARGET = 0.95;
const COLUMNS = ['framework', 'load', 'offered/s', 'good/s', 'of capacity', '503', '504', 'gave up', 'p50 ms', 'p99 ms'];

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
      rows.push(row(framework, overload, phase.clients, { capacity, seconds }));
      problems.push(...phase.problems.map((text) => `${framework}, ${overload}x: ${text}.`));
    }
  }
  console.log(`\n${align(COLUMNS, rows).join('\n')}\n\nOn an idle machine, ${percent(TARGET)} of capacity or more is to be expected.`);
  if (problems.length > 0) console.error(`\nFAILED\n${problems.join('\n')}`);
  return problems.length === 0;
}

function row(framework, overload, clients, { capacity, seconds }) {
  return [
    framework,
    `${overload}x`,
    whole(clients.offered / seconds),
    whole(clients.served / seconds),
    percent(clients.served / seconds / capacity),
    whole(clients.shed),
    whole(clients.timedOut),
    whole(clients.gaveUp),
    tenths(clients.p50),
    tenths(clients.p99),
  ];
}
