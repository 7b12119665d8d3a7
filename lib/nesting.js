'use strict';

module.exports = {
  /** How many callbacks have been started inside one another. */
  depth: 0,
  /**
   * How many may be, before the next one starts in a turn of its own: a stack that overflows in the middle of an
   * admission would lose its permit.
   */
  MAX_DEPTH: 100,
};
