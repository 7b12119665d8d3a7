'use strict';

const UNITS = Object.freeze({ ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 });
const PATTERN = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** What a duration looks like, for error messages. */
const DURATION = "a number of milliseconds or a string such as '250ms', '1.5s', '5m', '1h' or '2d'";

/**
 * @param {unknown} value
 * @returns {number} Milliseconds; NaN if `value` is no duration.
 */
function parseDuration(value) {
  if (typeof value === 'number') return value;
  if (typeof value !== 'string') return NaN;
  const match = PATTERN.exec(value);
  return match === null ? NaN : Number(match[1]) * UNITS[/** @type {keyof typeof UNITS} */ (match[2])];
}

module.exports = { DURATION, parseDuration };
