'use strict';

// What native runs have counted, under the names of the scenario.

/**
 * @typedef {import('./scenario.js').ParsedScenario} ParsedScenario
 * @typedef {import('../../types/simulate/report.js').Figures} Figures
 * @typedef {import('../../types/simulate/report.js').SimulationRun} Run
 */

/**
 * @param {ParsedScenario} scenario
 * @param {number} seed
 * @param {any} native
 * @returns {Run}
 */
function readRun(scenario, seed, native) {
  const { timeMs: time, ...series } = native.series;
  const figures = (/** @type {any} */ own) => ({ ...own, callers: byName(scenario.callers, own.callers) });
  return {
    seed,
    figures: figures(native.figures),
    windows: byName(
      scenario.windows.map(({ name }) => name),
      native.windows.map(figures),
    ),
    series: { time, ...series },
  };
}

/**
 * @param {string} algorithm
 * @param {Run[]} runs
 * @returns {import('../../types/simulate/report.js').AlgorithmReport}
 */
function summarize(algorithm, runs) {
  const windows = Object.keys(runs[0].windows);
  return {
    algorithm,
    figures: mean(runs.map(({ figures }) => figures)),
    windows: byName(
      windows,
      windows.map((name) => mean(runs.map((run) => run.windows[name]))),
    ),
    runs,
  };
}

/**
 * The means of numbers under the same names, however deep; what is not a number counts in none.
 *
 * @template {object} T
 * @param {T[]} all
 * @returns {T}
 */
function mean(all) {
  const [first] = /** @type {any[]} */ (all);
  return /** @type {T} */ (
    byName(
      Object.keys(first),
      Object.keys(first).map((key) => {
        const values = all.map((one) => /** @type {any} */ (one)[key]);
        if (typeof first[key] !== 'number') return mean(values);
        const known = values.filter((value) => !Number.isNaN(value));
        return known.reduce((sum, value) => sum + value, 0) / known.length;
      }),
    )
  );
}

/**
 * Also for names such as __proto__.
 *
 * @template T
 * @param {string[]} names
 * @param {T[]} values
 * @returns {Record<string, T>}
 */
const byName = (names, values) => Object.fromEntries(names.map((name, index) => [name, values[index]]));

module.exports = { readRun, summarize };
