// What is shown while a phase runs.
import { warmUpMs } from './settings.mjs';

const LINE_EVERY_MS = 1000;
const TITLE_WIDTH = 16;

/** On a terminal one line that is redrawn; elsewhere a line a second. */
export function progressLine(title, seconds) {
  const live = process.stdout.isTTY === true;
  const startedAt = performance.now();
  const total = seconds + warmUpMs / 1000;
  let printedAt = startedAt;
  let text = '';

  /** @param {any} progress */
  const show = ({ offered, served, shed, timedOut, gaveUp, limit, inflight, queued }) => {
    const now = performance.now();
    const elapsed = Math.min((now - startedAt) / 1000, total);
    text =
      `${title.padEnd(TITLE_WIDTH)} ${elapsed.toFixed(0).padStart(2)}/${total} s  offered ${offered}  ` +
      `200 ${served}  503 ${shed}  504 ${timedOut}  gave up ${gaveUp}  in flight ${inflight ?? 0}` +
      (limit === undefined ? '' : `/${limit}`) +
      (queued === undefined ? '' : `  queued ${queued}`);
    if (live) {
      process.stdout.write(`\r\x1b[2K${text.slice(0, (process.stdout.columns || 100) - 1)}`);
    } else if (now - printedAt >= LINE_EVERY_MS) {
      printedAt = now;
      console.log(text);
    }
  };
  return { show, end: () => console.log(live ? '' : text) };
}
