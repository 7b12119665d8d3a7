'use strict';

// A scenario of the user as native code takes it: numbers only, durations in ms, lists in place of names.

const { integer, name, positiveDuration, rangeError } = require('../options.js');
const { entries, fields, list, member } = require('./fields.js');
const { readCallers } = require('./scenario/callers.js');
const { NONE, readDependency } = require('./scenario/dependency.js');
const { readEventLoop } = require('./scenario/event-loop.js');
const { readLimiter } = require('./scenario/limiter.js');
const { readPhases, readTime } = require('./scenario/phases.js');

const FIELDS = /** @type {const} */ ([
  '$schema',
  'name',
  'description',
  'duration',
  'deadline',
  'timeout',
  'oracle',
  'limiter',
  'dependency',
  'eventLoop',
  'callers',
  'phases',
  'windows',
]);
const MAX_DURATION_MS = 365 * 86_400_000;
/** The calls of a run that are known before it begins. Native code keeps each, and ends a run of more. */
const MAX_CALLS = 20_000_000;
const MAX_WINDOWS = 100;

/**
 * @typedef {object} Window
 * @property {string} name
 * @property {number} fromMs
 * @property {number} toMs
 */

/**
 * @typedef {object} ParsedScenario
 * @property {string} name
 * @property {string} description
 * @property {number | undefined} oracle
 * @property {string[]} callers Their names, in the order of the native ones.
 * @property {Window[]} windows In the order of the native ones.
 * @property {any} native Without `points`, `seed`, and whether the protection of its event loop is on.
 */

/**
 * @param {unknown} value
 * @returns {ParsedScenario}
 */
function parseScenario(value) {
  const read = fields('scenario', value, FIELDS);
  const { deadline, timeout, oracle, limiter = {} } = read;
  const durationMs = readDuration(read.duration);
  name('scenario.$schema', read.$schema, '');
  const parsedName = name('scenario.name', read.name, 'scenario');
  const description = name('scenario.description', read.description, '');
  const deadlineMs = deadline === undefined ? Infinity : positiveDuration('scenario.deadline', deadline);
  const timeoutMs = timeout === undefined ? Infinity : positiveDuration('scenario.timeout', timeout);
  const has = { dependency: read.dependency !== undefined, eventLoop: read.eventLoop !== undefined };
  const dependency =
    has.eventLoop && !has.dependency ? NONE : readDependency('scenario.dependency', read.dependency);
  const callers = readCallers('scenario.callers', read.callers, has);
  const phases = readPhases('scenario.phases', read.phases, durationMs, callers, has);
  const windows = readWindows('scenario.windows', read.windows, durationMs);
  const native = {
    durationMs,
    deadlineMs,
    timeoutMs,
    limiter: readLimiter('scenario.limiter', limiter),
    dependency,
    eventLoop: has.eventLoop
      ? readEventLoop('scenario.eventLoop', read.eventLoop, has.dependency)
      : undefined,
    callers: callers.map(({ name: _, ...caller }) => caller),
    phases,
    windows: windows.map(({ fromMs, toMs }) => ({ fromMs, toMs })),
  };
  checkWork(native);
  return {
    name: parsedName,
    description,
    oracle: oracle === undefined ? undefined : integer('scenario.oracle', oracle, 1),
    callers: callers.map((caller) => caller.name),
    windows,
    native,
  };
}

/** @param {unknown} value */
function readDuration(value) {
  const ms = positiveDuration('scenario.duration', value);
  if (ms > MAX_DURATION_MS) throw rangeError('scenario.duration', "at most '365d'", value);
  return ms;
}

/**
 * @param {string} path
 * @param {unknown} value
 * @param {number} durationMs
 * @returns {Window[]}
 */
function readWindows(path, value, durationMs) {
  if (value === undefined) return [];
  const given = entries(path, value);
  if (given.length > MAX_WINDOWS) throw rangeError(path, `at most ${MAX_WINDOWS} windows`, given.length);
  return given.map(([title, span]) => {
    const at = member(path, title);
    const [from, to] = list(at, span, 'a list of two times, [from, to]', 2, 2);
    const fromMs = readTime(`${at}[0]`, from, durationMs);
    const toMs = readTime(`${at}[1]`, to, durationMs);
    if (fromMs >= toMs) throw rangeError(`${at}[1]`, `after ${at}[0] (${fromMs} ms)`, to);
    return { name: title, fromMs, toMs };
  });
}

/**
 * Refuses what would take hours.
 *
 * @param {{
 *   durationMs: number,
 *   dependency: { stallEveryMs: number },
 *   eventLoop: { pauseEveryMs: number } | undefined,
 *   callers: { rate: number }[],
 *   phases: { rates: number[], stallEveryMs?: number }[],
 * }} scenario
 */
function checkWork({ durationMs, dependency, eventLoop, callers, phases }) {
  const rates = callers.map(({ rate }, index) =>
    phases.reduce((highest, { rates: changed }) => Math.max(highest, changed[index] || 0), rate),
  );
  const calls = (rates.reduce((sum, rate) => sum + rate, 0) * durationMs) / 1000;
  if (calls > MAX_CALLS) {
    throw new RangeError(
      `scenario.duration times the highest rates of scenario.callers must be at most ${MAX_CALLS} calls, ` +
        `not ${Math.round(calls)}`,
    );
  }
  const stalls = [dependency, ...phases].map(({ stallEveryMs = Infinity }) => durationMs / stallEveryMs);
  const pauses = durationMs / (eventLoop?.pauseEveryMs ?? Infinity);
  if (pauses > MAX_CALLS) {
    throw new RangeError(
      `scenario.duration must have room for at most ${MAX_CALLS} pauses, not ${Math.round(pauses)}`,
    );
  }
  const most = Math.round(Math.max(...stalls));
  if (most > MAX_CALLS) {
    throw new RangeError(`scenario.duration must have room for at most ${MAX_CALLS} stalls, not ${most}`);
  }
}

module.exports = { parseScenario };
