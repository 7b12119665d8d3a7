// Plays the scenarios of the scoreboard.

import { readScenario, simulate } from '../simulate.js';

export const ALGORITHMS = ['knee', 'gradient2', 'vegas', 'aimd', 'oracle'];
/** Where calls are short of an event loop. */
export const LOOP_ALGORITHMS = ['overload', 'none', 'knee', 'gradient2'];
/** So many, because some algorithms do well with one seed and collapse with the next. */
export const SEEDS = Array.from({ length: 20 }, (_, index) => 101 + index);
/** Of the curves in the pictures. */
const POINTS = 150;

/**
 * @typedef {import('../types/simulate/report.js').SimulationReport} Report
 * @typedef {Map<string, Report>} Reports By scenario.
 * @typedef {import('../types/simulate/simulate.js').SimulationProgress} Progress
 */

/**
 * Leaves the oracle out where the scenario has none. aimd gets a timeout of the deadline where the scenario
 * has none: drops are its only signal.
 *
 * @param {string} name
 * @param {string[]} algorithms
 * @param {number[]} seeds
 * @param {(progress: Progress) => void} [onProgress]
 * @returns {Promise<Report>}
 */
export async function play(name, algorithms, seeds, onProgress = () => {}) {
  const scenario = readScenario(name);
  const { deadline, timeout = deadline, oracle } = scenario;
  const played = algorithms.filter((algorithm) => algorithm !== 'oracle' || oracle !== undefined);
  const reports = [];
  for (const [index, algorithm] of played.entries()) {
    const report = await simulate({
      scenario: algorithm === 'aimd' ? { ...scenario, timeout } : scenario,
      algorithms: algorithm,
      seeds,
      points: POINTS,
      onProgress: ({ done, total, fraction }) =>
        onProgress({
          done: index * total + done,
          total: played.length * total,
          fraction: (index + fraction) / played.length,
        }),
    });
    reports.push(report);
  }
  return { ...reports[0], algorithms: reports.flatMap((report) => report.algorithms) };
}

/**
 * None of an algorithm that the scenario was not played with.
 *
 * @param {Reports} reports
 * @param {string} scenario
 * @param {string} name
 */
export function runsOf(reports, scenario, name) {
  const { algorithms } = /** @type {Report} */ (reports.get(scenario));
  return algorithms.find(({ algorithm }) => algorithm === name)?.runs ?? [];
}
