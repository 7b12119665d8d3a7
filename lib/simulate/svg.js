'use strict';

// A picture of a simulation: for each algorithm a panel of limit, calls in flight and capacity, and below it
// one of latency, all to the same scales.

const { highest, limitTop, tickLabel, ticks } = require('./scale.js');
const { DROP, STYLE, legend } = require('./svg-style.js');
const { fixed, percent } = require('./table.js');

/**
 * @typedef {import('../../types/simulate/report.js').SimulationReport} Report
 * @typedef {import('../../types/simulate/report.js').AlgorithmReport} AlgorithmReport
 * @typedef {import('../../types/simulate/report.js').SimulationSeries} Series
 * @typedef {import('./scenario.js').Window} Window
 * @typedef {{ x(ms: number): number, y(value: number): number }} Scales
 */

const WIDTH = 920;
const LEFT = 64;
const RIGHT = 24;
const HEADER = 104;
const FOOTER = 44;
const TITLE_HEIGHT = 26;
const LIMIT_HEIGHT = 130;
const LATENCY_HEIGHT = 64;
const GAP = 14;
const PANEL_HEIGHT = TITLE_HEIGHT + LIMIT_HEIGHT + GAP + LATENCY_HEIGHT + 20;
const PLOT_WIDTH = WIDTH - LEFT - RIGHT;
const DROP_HEIGHT = 16;
/** In characters: what has room. */
const LONGEST_TITLE = 70;
const LONGEST_LINE = 125;
const LONGEST_NAME = 24;

/**
 * @param {Report} report
 * @param {{ description: string, windows: readonly Window[] }} scenario
 */
function toSvg(report, { description, windows }) {
  const first = report.algorithms.map(({ runs }) => runs[0].series);
  const frame = {
    duration: report.duration,
    deadline: report.deadline,
    limit: limitTop(first),
    latency: Math.max(1e-3, ...first.map(({ latency }) => highest(latency))) * 1.08,
    drops: Math.max(1, ...first.map(({ drops }) => highest(drops))),
    windows,
  };
  const height = HEADER + report.algorithms.length * PANEL_HEIGHT + FOOTER;
  const panels = report.algorithms.map((algorithm, index) =>
    panel(algorithm, HEADER + index * PANEL_HEIGHT, frame, index),
  );
  const bottom = HEADER + report.algorithms.length * PANEL_HEIGHT - 20;
  const seeds = report.algorithms[0].runs;
  const note =
    seeds.length === 1
      ? `seed ${seeds[0].seed}`
      : `curves: seed ${seeds[0].seed}; figures: means of ${seeds.length} seeds`;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}"` +
      ` height="${height}" role="img" aria-labelledby="title">`,
    `<title id="title">${escape(`Limits over time: ${report.scenario}`)}</title>`,
    `<style>${STYLE}</style>`,
    `<rect class="background" width="${WIDTH}" height="${height}"/>`,
    text(LEFT, 34, escape(shorten(report.scenario, LONGEST_TITLE)), 'title'),
    text(LEFT, 56, escape(shorten(description, LONGEST_LINE)), 'muted'),
    legend(LEFT, 80, hasDeadline(frame)),
    ...panels,
    ...timeTicks(frame.duration).map(({ x, label }) => text(x, bottom + 18, label, 'muted middle')),
    text(LEFT, bottom + 40, 'simulated time in seconds', 'muted'),
    text(LEFT + PLOT_WIDTH, bottom + 40, note, 'muted end'),
    '</svg>',
  ].join('\n')}\n`;
}

/**
 * @param {AlgorithmReport} report
 * @param {number} top
 * @param {{
 *   duration: number,
 *   deadline: number | undefined,
 *   limit: number,
 *   latency: number,
 *   drops: number,
 *   windows: readonly Window[],
 * }} frame
 * @param {number} index
 */
function panel({ algorithm, figures, runs }, top, frame, index) {
  const { series } = runs[0];
  const x = (/** @type {number} */ ms) => LEFT + (ms / frame.duration) * PLOT_WIDTH;
  const limitTo = top + TITLE_HEIGHT + LIMIT_HEIGHT;
  const latencyTo = limitTo + GAP + LATENCY_HEIGHT;
  const limits = { x, y: (/** @type {number} */ value) => limitTo - (value / frame.limit) * LIMIT_HEIGHT };
  const latencies = {
    x,
    y: (/** @type {number} */ value) => latencyTo - (value / frame.latency) * LATENCY_HEIGHT,
  };
  const summary =
    `goodput ${percent(figures.goodput)}, p99 ${fixed(figures.p99, 0)} ms, ` +
    `rejected ${percent(figures.rejected)}, mean limit ${fixed(figures.limit, 1)}`;
  return [
    `<g class="panel">`,
    `<clipPath id="clip${index}"><rect x="${LEFT}" y="${limitTo - LIMIT_HEIGHT}" width="${PLOT_WIDTH}"` +
      ` height="${LIMIT_HEIGHT}"/></clipPath>`,
    text(LEFT, top + 16, escape(algorithm), 'name'),
    text(LEFT + PLOT_WIDTH, top + 16, escape(summary), 'muted end'),
    ...bands(frame.windows, x, limitTo, latencyTo, index === 0),
    ...grid(limits, frame.limit, 3),
    ...grid(latencies, frame.latency, 2),
    ...timeTicks(frame.duration).map((tick) => `<path class="tick" d="M${tick.x} ${latencyTo}v5"/>`),
    axisTitle('calls', limitTo - LIMIT_HEIGHT / 2),
    axisTitle('ms', latencyTo - LATENCY_HEIGHT / 2),
    `<g clip-path="url(#clip${index})">`,
    `<path class="inflight" d="${area(series.time, series.inflight, limits, limitTo, frame.duration)}"/>`,
    `<path class="capacity" d="${line(series.time, series.capacity, limits, frame.duration)}"/>`,
    `<path class="limit" d="${line(series.time, series.limit, limits, frame.duration)}"/>`,
    `<path class="drops" d="${drops(series, x, limitTo, frame.drops)}"/>`,
    '</g>',
    ...(hasDeadline(frame)
      ? [`<path class="deadline" d="M${LEFT} ${round(latencies.y(frame.deadline))}h${PLOT_WIDTH}"/>`]
      : []),
    `<path class="latency" d="${line(series.time, series.latency, latencies, frame.duration)}"/>`,
    '</g>',
  ].join('\n');
}

/**
 * Whether the deadline is within the picture.
 *
 * @template {{ deadline: number | undefined, latency: number }} T
 * @param {T} frame
 * @returns {frame is T & { deadline: number }}
 */
const hasDeadline = (frame) => frame.deadline !== undefined && frame.deadline < frame.latency;

/**
 * The windows of the scenario, named in the first panel.
 *
 * @param {readonly Window[]} windows
 * @param {(ms: number) => number} x
 * @param {number} limitTo
 * @param {number} latencyTo
 * @param {boolean} named
 */
function bands(windows, x, limitTo, latencyTo, named) {
  const from = limitTo - LIMIT_HEIGHT;
  return windows.flatMap(({ name, fromMs, toMs }) => {
    const [left, right] = [x(fromMs), x(toMs)];
    const size = `width="${round(right - left)}" height="${latencyTo - from}"`;
    const band = `<rect class="window" x="${round(left)}" y="${from}" ${size}/>`;
    const label = escape(shorten(name, LONGEST_NAME));
    return named ? [band, text((left + right) / 2, limitTo + GAP - 2, label, 'muted small middle')] : [band];
  });
}

/** @param {Scales} scales @param {number} top @param {number} count */
function grid({ y }, top, count) {
  return ticks(top, count).flatMap((value) => [
    `<path class="${value === 0 ? 'axis' : 'grid'}" d="M${LEFT} ${round(y(value))}h${PLOT_WIDTH}"/>`,
    text(LEFT - 8, y(value) + 4, tickLabel(value), 'muted end'),
  ]);
}

/** @param {number} duration */
const timeTicks = (duration) =>
  ticks(duration / 1000, 6).map((second) => ({
    x: round(LEFT + ((second * 1000) / duration) * PLOT_WIDTH),
    label: tickLabel(second),
  }));

/** @param {string} title @param {number} y */
const axisTitle = (title, y) =>
  `<text class="muted middle" transform="translate(18 ${round(y)}) rotate(-90)">${title}</text>`;

/**
 * A value is the mean of the step that begins at its time. Broken where there is no number.
 *
 * @param {readonly number[]} time
 * @param {readonly number[]} values
 * @param {Scales} scales
 * @param {number} duration
 */
function line(time, values, { x, y }, duration) {
  let command = 'M';
  return values
    .map((value, index) => {
      if (Number.isNaN(value)) {
        command = 'M';
        return '';
      }
      const middle = (time[index] + (time[index + 1] ?? duration)) / 2;
      const point = `${command}${round(x(middle))} ${round(y(value))}`;
      command = 'L';
      return point;
    })
    .join('');
}

/**
 * @param {readonly number[]} time
 * @param {readonly number[]} values
 * @param {Scales} scales
 * @param {number} floor
 * @param {number} duration
 */
function area(time, values, scales, floor, duration) {
  const { x } = scales;
  const half = duration / time.length / 2;
  const outline = line(time, values, scales, duration);
  return `${outline}L${round(x(duration - half))} ${floor}L${round(x(half))} ${floor}Z`;
}

/**
 * A bar each, from the bottom, so high as there were many.
 *
 * @param {Series} series
 * @param {(ms: number) => number} x
 * @param {number} floor
 * @param {number} most
 */
function drops(series, x, floor, most) {
  const half = series.time.length > 1 ? series.time[1] / 2 : 0;
  return series.drops
    .map((count, index) => {
      if (count === 0) return '';
      const height = Math.max(DROP, (count / most) * DROP_HEIGHT);
      return `M${round(x(series.time[index] + half))} ${floor}v${round(-height)}`;
    })
    .join('');
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} content Escaped.
 * @param {string} style
 */
const text = (x, y, content, style) =>
  `<text class="${style}" x="${round(x)}" y="${round(y)}">${content}</text>`;

/** @param {string} content @param {number} most */
const shorten = (content, most) => (content.length > most ? `${content.slice(0, most - 1)}…` : content);

/** @param {number} value */
const round = (value) => Number(value.toFixed(1));

/** Also of what XML has no place for. @param {string} raw */
const escape = (raw) =>
  raw
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');

module.exports = { toSvg };
