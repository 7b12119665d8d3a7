'use strict';

// The axes of the pictures.

/** A limit that runs away would press everything else to the ground: it may leave the picture instead. */
const MOST_OVER_CAPACITY = 4;
const STEPS = [1, 2, 2.5, 5, 10];

/** @param {Iterable<number>} values */
function highest(values) {
  let top = 0;
  for (const value of values) if (value > top) top = value;
  return top;
}

/**
 * The top of an axis that limits are drawn to, the same for all.
 *
 * @param {readonly import('../../types/simulate/report.js').SimulationSeries[]} all
 */
function limitTop(all) {
  const capacity = Math.max(...all.map((series) => highest(series.capacity)));
  const limit = Math.max(...all.map((series) => Math.max(highest(series.limit), highest(series.inflight))));
  const most = capacity === 0 ? limit : capacity * MOST_OVER_CAPACITY;
  return Math.max(1, Math.min(Math.max(limit, capacity) * 1.08, most));
}

/**
 * Round numbers from 0 to the top.
 *
 * @param {number} top
 * @param {number} count About how many.
 */
function ticks(top, count) {
  const magnitude = 10 ** Math.floor(Math.log10(top / count));
  const step = magnitude * (STEPS.find((factor) => factor * magnitude * count >= top) ?? 10);
  return Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, index) => index * step);
}

/** @param {number} value */
const tickLabel = (value) => String(Number(value.toPrecision(6)));

module.exports = { highest, limitTop, tickLabel, ticks };
