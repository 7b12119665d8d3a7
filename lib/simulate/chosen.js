'use strict';

// What `algorithms` stands for: native algorithms and fixed limits, each under the name that the report has.

const { aimd, gradient2, isBuiltIn, knee, vegas } = require('../algorithms.js');
const { integer, typeError } = require('../options.js');
const { didYouMean } = require('../nearest.js');

const BY_NAME = { knee, gradient2, vegas, aimd };
const ORACLE = 'oracle';
const FIXED = /^fixed:(\d+)$/;
const NONE = 'none';
const OVERLOAD = 'overload';
/** The limit of none. */
const UNREACHABLE = 2 ** 31 - 1;
const NAMES = [...Object.keys(BY_NAME), ORACLE, NONE, OVERLOAD, 'fixed:<limit>'];
const QUOTED = NAMES.map((name) => `'${name}'`).join(', ');
const ACCEPTED = `one of ${QUOTED}, or what knee({ ... }) and its like return`;
const MAX_ALGORITHMS = 100;

/**
 * @typedef {object} Chosen
 * @property {string} label
 * @property {number} [limit] That of a fixed one.
 * @property {any} [native] Each run begins with a copy of its own. Undefined for a fixed limit.
 * @property {boolean} [overload] Whether the event loop is protected, without a limiter.
 */

/** @typedef {Pick<import('./scenario.js').ParsedScenario, 'oracle' | 'native'>} Scenario */

/**
 * @param {unknown} value
 * @param {Scenario} scenario
 * @returns {Chosen[]}
 */
function readAlgorithms(value, scenario) {
  const several = Array.isArray(value);
  const given = several ? Array.from(value) : [value];
  if (given.length === 0 || given.length > MAX_ALGORITHMS) {
    throw new RangeError(`algorithms must be 1 to ${MAX_ALGORITHMS}, not ${given.length}`);
  }
  const counts = new Map();
  return given.map((one, index) => {
    const chosen = readAlgorithm(several ? `algorithms[${index}]` : 'algorithms', one, scenario);
    const count = (counts.get(chosen.label) ?? 0) + 1;
    counts.set(chosen.label, count);
    return count === 1 ? chosen : { ...chosen, label: `${chosen.label} #${count}` };
  });
}

/**
 * @param {string} option
 * @param {any} value
 * @param {Scenario} scenario
 * @returns {Chosen}
 */
function readAlgorithm(option, value, scenario) {
  if (typeof value === 'string') return readName(option, value, scenario);
  if (isBuiltIn(value)) {
    if (value.native === undefined) {
      throw new TypeError(`${option} must run natively: give gradient2 no queueSize of its own`);
    }
    const { name } = value.constructor;
    return { label: name[0].toLowerCase() + name.slice(1), native: value.native };
  }
  if (typeof value?.onSample === 'function') {
    throw new TypeError(
      `${option} must be a built-in algorithm: one in JavaScript cannot run off its thread`,
    );
  }
  throw typeError(option, ACCEPTED, value);
}

/**
 * @param {string} option
 * @param {string} name
 * @param {Scenario} scenario
 * @returns {Chosen}
 */
function readName(option, name, { oracle, native }) {
  if (Object.hasOwn(BY_NAME, name)) {
    const make = BY_NAME[/** @type {keyof typeof BY_NAME} */ (name)];
    return { label: name, native: make().native };
  }
  const fixed = FIXED.exec(name);
  if (fixed !== null) {
    const limit = integer(`the limit of ${option} '${name}'`, Number(fixed[1]), 1);
    return { label: name, limit };
  }
  if (name === ORACLE) {
    if (oracle !== undefined) return { label: name, limit: oracle };
    throw new RangeError(
      `${option} cannot be 'oracle': the scenario has no field 'oracle' that names the limit`,
    );
  }
  if (name === NONE) return { label: name, limit: UNREACHABLE };
  if (name === OVERLOAD) {
    if (native.eventLoop !== undefined) return { label: name, limit: UNREACHABLE, overload: true };
    throw new RangeError(`${option} cannot be 'overload': the scenario has no field 'eventLoop' to protect`);
  }
  const hint = didYouMean(name, NAMES) || ';';
  throw new RangeError(`${option} '${name.slice(0, 80)}' is unknown${hint} it is ${ACCEPTED}`);
}

module.exports = { NONE, ORACLE, OVERLOAD, readAlgorithms };
