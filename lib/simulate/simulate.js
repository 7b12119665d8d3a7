'use strict';

const { isAbortSignal } = require('../execute-options.js');
const { binding } = require('../native.js');
const { callback, integer, readOptions, typeError } = require('../options.js');
const { readAlgorithms } = require('./chosen.js');
const { list } = require('./fields.js');
const { readScenario } = require('./named.js');
const { readRun, summarize } = require('./report.js');
const { runAll } = require('./runs.js');
const { parseScenario } = require('./scenario.js');

const OPTIONS = /** @type {const} */ (['scenario', 'algorithms', 'seeds', 'points', 'signal', 'onProgress']);
const MAX_SEEDS = 1000;

/** @typedef {ReturnType<typeof readSimulation>} Simulation */

/**
 * @param {unknown} options `SimulateOptions`.
 * @returns {Promise<import('../../types/simulate/report.js').SimulationReport>}
 */
async function simulate(options) {
  return runSimulation(readSimulation(options));
}

/** @param {unknown} options `SimulateOptions`. */
function readSimulation(options) {
  const read = readOptions('simulate', options, OPTIONS);
  const { seeds = 1, points = 300, signal } = read;
  const given = read.scenario;
  const scenario = parseScenario(typeof given === 'string' ? readScenario(given) : given);
  const { algorithms = scenario.native.eventLoop === undefined ? 'knee' : 'overload' } = read;
  if (signal !== undefined && !isAbortSignal(signal)) throw typeError('signal', 'an AbortSignal', signal);
  return {
    scenario,
    algorithms: readAlgorithms(algorithms, scenario),
    seeds: readSeeds(seeds),
    points: integer('points', points, 10, 10_000),
    signal,
    onProgress: callback('onProgress', read.onProgress),
  };
}

/** @param {unknown} value */
function readSeeds(value) {
  if (!Array.isArray(value)) {
    return Array.from({ length: integer('seeds', value, 1, MAX_SEEDS) }, (_, index) => index + 1);
  }
  return list('seeds', value, `a list of 1 to ${MAX_SEEDS} integers`, 1, MAX_SEEDS).map((seed, index) =>
    integer(`seeds[${index}]`, seed, 0),
  );
}

/**
 * @param {Simulation} simulation
 * @returns {Promise<import('../../types/simulate/report.js').SimulationReport>}
 */
async function runSimulation({ scenario, algorithms, seeds, points, signal, onProgress }) {
  const { native, name } = scenario;
  const runs = algorithms.flatMap((algorithm) => seeds.map((seed) => ({ algorithm, seed })));
  const starts = runs.map(({ algorithm, seed }) => () => {
    const { limit, overload = false } = algorithm;
    const eventLoop = native.eventLoop && { ...native.eventLoop, overload };
    const limiter = limit === undefined ? native.limiter : { ...native.limiter, initialLimit: limit };
    return new binding.Simulation({ ...native, eventLoop, limiter, points, seed }, algorithm.native);
  });
  const reports = await runAll(starts, { signal, onProgress });
  const read = reports.map((report, index) => readRun(scenario, runs[index].seed, report));
  return {
    scenario: name,
    duration: native.durationMs,
    deadline: Number.isFinite(native.deadlineMs) ? native.deadlineMs : undefined,
    algorithms: algorithms.map(({ label }, index) =>
      summarize(label, read.slice(index * seeds.length, (index + 1) * seeds.length)),
    ),
  };
}

module.exports = { readSimulation, runSimulation, simulate };
