'use strict';

/** @typedef {import('../../types/simulate/report.js').Figures} Figures */

/** @type {readonly (readonly [title: string, cell: (figures: Figures) => string])[]} */
const COLUMNS = [
  ['goodput', ({ goodput }) => percent(goodput)],
  ['answers/s', ({ throughput }) => fixed(throughput, 1)],
  ['p50 ms', ({ p50 }) => fixed(p50, 1)],
  ['p99 ms', ({ p99 }) => fixed(p99, 1)],
  ['rejected', ({ rejected }) => percent(rejected)],
  ['false rejects', ({ falseRejects }) => percent(falseRejects)],
  ['limit', ({ limit }) => fixed(limit, 1)],
];

/**
 * @param {readonly { algorithm: string, figures: Figures }[]} rows
 * @returns {string[]} Lines.
 */
function figuresTable(rows) {
  return align([
    ['algorithm', ...COLUMNS.map(([title]) => title)],
    ...rows.map(({ algorithm, figures }) => [algorithm, ...COLUMNS.map(([, cell]) => cell(figures))]),
  ]);
}

/**
 * The first row is the heading; the first column goes to the left, the others to the right.
 *
 * @param {string[][]} rows
 */
function align(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (/** @type {string[]} */ row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ');
  const [heading, ...others] = rows.map(line);
  return [heading, widths.map((width) => '─'.repeat(width)).join('  '), ...others];
}

/** @param {number} value @param {number} digits */
const fixed = (value, digits) => (Number.isNaN(value) ? '-' : value.toFixed(digits));

/** @param {number} share */
const percent = (share) => (Number.isNaN(share) ? '-' : `${(share * 100).toFixed(1)} %`);

/** @param {number} ms */
const seconds = (ms) => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`);

module.exports = { figuresTable, fixed, percent, seconds };
