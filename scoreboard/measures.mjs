// What is read from the report of an algorithm: one figure, with its unit and its target.

/**
 * @typedef {import('../types/simulate/report.js').Figures} Figures
 * @typedef {import('../types/simulate/report.js').SimulationRun} Run
 *
 * @typedef {object} Target
 * @property {number} [atLeast]
 * @property {number} [atMost]
 *
 * @typedef {object} Measure
 * @property {string} name
 * @property {string} unit
 * @property {number} digits
 * @property {'high' | 'low' | undefined} good
 * @property {(run: Run) => number} read
 * @property {Target} target
 * @property {string} published What the best public limiters reach.
 */

/**
 * @param {string} unit
 * @param {number} digits
 * @param {Measure['good']} good
 * @param {(figures: Figures) => number} figure
 */
const measure =
  (unit, digits, good, figure) =>
  /**
   * @param {string} name
   * @param {string | undefined} window Of the scenario; undefined for all of the time.
   * @param {Target} [target]
   * @param {string} [published]
   * @returns {Measure}
   */
  (name, window, target = {}, published = '') => ({
    ...{ name, unit, digits, good, target, published },
    read: ({ figures, windows }) => figure(window === undefined ? figures : windows[window]),
  });

export const goodput = measure('%', 1, 'high', (figures) => 100 * figures.goodput);
export const p99 = measure('ms', 0, 'low', (figures) => figures.p99);
export const meanLatency = measure('ms', 1, 'low', (figures) => figures.meanLatency);
export const rejected = measure('%', 2, 'low', (figures) => 100 * figures.rejected);
export const rejectedP99 = measure('ms', 0, 'low', (figures) => figures.rejectedP99);
export const recovery = measure('s', 2, 'low', (figures) => figures.recovery / 1000);
export const fairness = measure('', 3, 'high', (figures) => figures.fairness);
export const cuts = measure('', 0, 'low', (figures) => figures.cuts);
export const limit = measure('', 1, undefined, (figures) => figures.limit);

/**
 * The share of one caller's calls that is answered within the deadline.
 *
 * @param {string} caller
 */
export const goodputOf = (caller) =>
  measure('%', 2, 'high', ({ callers }) => 100 * callers[caller].goodput);

/**
 * How far the mean limit of a window is from that of an earlier one.
 *
 * @param {string} name
 * @param {string} from
 * @param {string} to
 * @param {Target} target
 * @returns {Measure}
 */
export const drift = (name, from, to, target) => ({
  ...{ name, unit: '%', digits: 1, good: 'low', target, published: '' },
  read: ({ windows }) => 100 * Math.abs(windows[to].limit / windows[from].limit - 1),
});

/** No number if one of the runs has none. @param {Measure} measure @param {readonly Run[]} runs */
export const mean = ({ read }, runs) => runs.reduce((sum, run) => sum + read(run), 0) / runs.length;

/** @param {Measure} measure @param {readonly Run[]} runs */
export const lowest = ({ read }, runs) => Math.min(...runs.map(read));

/** @param {Measure} measure @param {readonly Run[]} runs */
export const highest = ({ read }, runs) => Math.max(...runs.map(read));

/** @param {Measure} measure @param {number} value */
export const print = ({ digits, unit }, value) =>
  Number.isNaN(value) ? '–' : `${value.toFixed(digits)} ${unit}`.trimEnd();

/** @param {Measure} measure */
export function printTarget({ unit, target: { atLeast, atMost } }) {
  if (atLeast !== undefined && atMost !== undefined) return `${atLeast} to ${atMost} ${unit}`.trimEnd();
  if (atLeast !== undefined) return `≥ ${atLeast} ${unit}`.trimEnd();
  if (atMost !== undefined) return `${atMost === 0 ? '' : '≤ '}${atMost} ${unit}`.trimEnd();
  return '';
}

/**
 * Of the mean as it is printed; undefined without a target.
 *
 * @param {Measure} measure
 * @param {readonly Run[]} runs
 */
export function isMet(measure, runs) {
  const { atLeast = -Infinity, atMost = Infinity } = measure.target;
  if (atLeast === -Infinity && atMost === Infinity) return undefined;
  const printed = Number(mean(measure, runs).toFixed(measure.digits));
  return printed >= atLeast && printed <= atMost;
}
