// The demo: measures what the dependency can serve, then offers more than that to three servers in turn.
import { measureCapacity } from './dependency.mjs';
import { runPhase } from './phase.mjs';
import { report, titles } from './report.mjs';
import * as settings from './settings.mjs';

const CALIBRATION_MS = 1500;
const LINE_EVERY_MS = 1000;

/**
 * @param {number} seconds length of each phase, without its warm-up
 * @returns {Promise<boolean>} false when something that must always hold did not
 */
export async function runDemo(seconds) {
  const { workers, serviceMs } = settings.dependency;
  const capacity = await measureCapacity(settings.dependency, CALIBRATION_MS);
  const rate = settings.overload * capacity;
  console.log(
    `\nA dependency of ${workers} workers at ${serviceMs} ms a call serves ` +
      `${Math.round(capacity)} calls/s on this machine.\n` +
      `Offering ${Math.round(rate)} requests/s to each of three servers that need it.\n`,
  );

  const phases = [];
  for (const mode of ['none', 'fixed', 'adaptive']) {
    const line = progressLine(titles[mode], seconds);
    phases.push({ mode, ...(await runPhase(mode, { rate, seconds, onProgress: line.show })) });
    line.end();
  }
  console.log(`\n${report(phases, { capacity, seconds })}`);

  const problems = phases.flatMap((phase) => phase.problems.map((text) => `${titles[phase.mode]}: ${text}.`));
  if (problems.length === 0) {
    console.log('\nChecked: every request ended once, nothing was left held or open, no error was uncaught.');
  } else {
    console.error(`\nFAILED\n${problems.join('\n')}`);
  }
  return problems.length === 0;
}

/** On a terminal one line that is redrawn; elsewhere a line a second. */
function progressLine(title, seconds) {
  const live = process.stdout.isTTY === true;
  const startedAt = performance.now();
  const total = seconds + settings.warmUpMs / 1000;
  let printedAt = startedAt;
  let text = '';

  /** @param {any} progress */
  const show = ({ offered, served, shed, timedOut, gaveUp, limit, inflight, queued }) => {
    const now = performance.now();
    const elapsed = Math.min((now - startedAt) / 1000, total);
    text =
      `${title.padEnd(16)} ${elapsed.toFixed(0).padStart(2)}/${total} s  offered ${offered}  ` +
      `200 ${served}  503 ${shed}  504 ${timedOut}  gave up ${gaveUp}  in flight ${inflight ?? 0}` +
      (limit === undefined ? '' : `/${limit}  queued ${queued}`);
    if (live) {
      process.stdout.write(`\r\x1b[2K${text.slice(0, (process.stdout.columns || 100) - 1)}`);
    } else if (now - printedAt >= LINE_EVERY_MS) {
      printedAt = now;
      console.log(text);
    }
  };
  return { show, end: () => console.log(live ? '' : text) };
}
