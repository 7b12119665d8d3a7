'use strict';

// Limit and capacity over time, in characters: the limit as a line of braille dots, 2 by 4 a character.

const { limitTop, tickLabel, ticks } = require('./scale.js');

/** @typedef {import('../../types/simulate/report.js').SimulationSeries} Series */

const ROWS = 5;
const DOTS_DOWN = 4;
const DOTS_ACROSS = 2;
const MARGIN = 8;
const BLANK = 0x2800;
/** The bit of each dot, by its column and its row from the top. */
const DOTS = [
  [0x01, 0x02, 0x04, 0x40],
  [0x08, 0x10, 0x20, 0x80],
];
const CAPACITY = '╌';

/**
 * @param {readonly { algorithm: string, series: Series }[]} curves
 * @param {number} durationMs
 * @param {number} width In columns.
 * @returns {string[]} Lines.
 */
function plots(curves, durationMs, width) {
  const top = limitTop(curves.map(({ series }) => series));
  const columns = width - MARGIN - 2;
  const axis = timeAxis(durationMs, columns);
  return curves.flatMap(({ algorithm, series }) => {
    const rows = draw(series, top, columns).map((row, index) => {
      const label = index === 0 ? tickLabel(Math.round(top)) : index === ROWS - 1 ? '0' : '';
      return `${label.padStart(MARGIN)} ┤${row}`.trimEnd();
    });
    return ['', `${algorithm}: ${range(series.limit, top)}`, ...rows, ...axis];
  });
}

/** @param {readonly number[]} limit @param {number} top */
function range(limit, top) {
  const [low, high] = [Math.min(...limit), Math.max(...limit)].map(Math.round);
  const span = low === high ? `limit ${low}` : `limit ${low} to ${high}`;
  return high > top ? `${span}, above the top of the scale` : span;
}

/**
 * @param {Series} series
 * @param {number} top
 * @param {number} columns
 */
function draw({ limit, capacity }, top, columns) {
  const lines = Array.from({ length: ROWS }, () => new Array(columns).fill(0));
  const heights = ROWS * DOTS_DOWN;
  // Counted from above; what leaves the picture stays on its edge.
  const level = (/** @type {number} */ value) =>
    heights - 1 - Math.min(heights - 1, Math.floor((value / top) * heights));
  let before = NaN;
  resample(limit, columns * DOTS_ACROSS).forEach((value, x) => {
    const y = level(value);
    const from = Number.isNaN(before) ? y : before;
    for (let dot = Math.min(from, y); dot <= Math.max(from, y); dot += 1) {
      lines[Math.floor(dot / DOTS_DOWN)][Math.floor(x / DOTS_ACROSS)] |=
        DOTS[x % DOTS_ACROSS][dot % DOTS_DOWN];
    }
    before = y;
  });
  const mark = resample(capacity, columns).map((value) => Math.floor(level(value) / DOTS_DOWN));
  return lines.map((line, row) =>
    line
      .map((dots, x) => (dots > 0 ? String.fromCharCode(BLANK + dots) : mark[x] === row ? CAPACITY : ' '))
      .join(''),
  );
}

/**
 * Each column is the mean of its share of the values; with fewer values than columns they repeat.
 *
 * @param {readonly number[]} values
 * @param {number} columns
 */
function resample(values, columns) {
  return Array.from({ length: columns }, (_, column) => {
    const from = Math.floor((column * values.length) / columns);
    const to = Math.max(from + 1, Math.floor(((column + 1) * values.length) / columns));
    return values.slice(from, to).reduce((sum, value) => sum + value, 0) / (to - from);
  });
}

/** @param {number} durationMs @param {number} columns */
function timeAxis(durationMs, columns) {
  const line = new Array(columns).fill('─');
  const labels = new Array(columns).fill(' ');
  for (const second of ticks(durationMs / 1000, 6)) {
    const x = Math.min(columns - 1, Math.round((second * 1000 * columns) / durationMs));
    line[x] = '┬';
    const label = `${tickLabel(second)} s`;
    labels.splice(Math.min(x, labels.length - label.length), label.length, ...label);
  }
  const indent = ' '.repeat(MARGIN + 1);
  return [`${indent}└${line.join('')}`, `${indent} ${labels.join('')}`.trimEnd()];
}

module.exports = { CAPACITY, plots };
