// The tables of the scoreboard, in Markdown: a line for each figure.

import { highest, isMet, lowest, mean, print, printTarget } from './measures.mjs';
import { runsOf } from './play.mjs';

/**
 * @typedef {import('./measures.mjs').Measure} Measure
 * @typedef {import('./measures.mjs').Run} Run
 */

/**
 * @param {import('./rows.mjs').Row[]} rows
 * @param {import('./play.mjs').Reports} reports
 * @param {string[]} algorithms
 * @param {boolean} published Whether there is a column of other systems.
 */
export function table(rows, reports, algorithms, published) {
  const columns = ['scenario', 'figure', 'target', ...algorithms, ...(published ? ['public'] : [])];
  const numbers = new Set(['target', ...algorithms]);
  const cells = rows.flatMap(({ scenario, measures }) =>
    measures.map((measure, index) => [
      index === 0 ? `[\`${scenario}\`](../scenarios/${scenario}.json)` : '',
      measure.name,
      printTarget(measure),
      ...algorithms.map((algorithm) => cell(measure, runsOf(reports, scenario, algorithm))),
      ...(published ? [measure.published] : []),
    ]),
  );
  const rule = columns.map((column) => (numbers.has(column) ? '---:' : '---'));
  return [columns, rule, ...cells].map((line) => `| ${line.join(' | ')} |`).join('\n');
}

/**
 * The mean, bold where the target is met, and the worst of the runs.
 *
 * @param {Measure} measure
 * @param {readonly Run[]} runs
 */
export function cell(measure, runs) {
  if (runs.length === 0) return '';
  const value = mean(measure, runs);
  const shown = isMet(measure, runs) ? `**${print(measure, value)}**` : print(measure, value);
  if (measure.good === undefined || Number.isNaN(value)) return shown;
  const worst = measure.good === 'high' ? lowest(measure, runs) : highest(measure, runs);
  return `${shown} (${worst.toFixed(measure.digits)})`;
}
