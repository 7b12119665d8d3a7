'use strict';

/**
 * How many callbacks may be started inside one another, before it is asked whether the stack has room for more: one
 * that overflows in the middle of an admission would lose its permit.
 */
const MAX_DEPTH = 100;
/** More frames than those callbacks are likely to need. */
const ROOM = 4000;

const nesting = {
  /**
   * How many callbacks have been started inside one another, and a guess: a timeout of `vm` cuts callbacks off, and
   * no `finally` runs then. Whoever raises it restores it.
   */
  depth: 0,
  MAX_DEPTH,
  /** Whether the next callback has to start in a turn of its own, asked from `MAX_DEPTH` on. */
  isTooDeep() {
    if (!hasRoom()) return true;
    nesting.depth = 0;
    return false;
  },
};

function hasRoom() {
  try {
    return descend(ROOM) === 0;
  } catch {
    return false;
  }
}

/**
 * @param {number} left
 * @returns {number}
 */
const descend = (left) => (left === 0 ? 0 : descend(left - 1) * 1);

module.exports = nesting;
