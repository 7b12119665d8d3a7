'use strict';

// What the builders collect: a validated strategy that makes its own state for each pipeline.

/**
 * What a combinator has of the pipeline that it belongs to.
 *
 * @typedef {object} Scope
 * @property {import('./telemetry.js').Telemetry} telemetry
 * @property {import('./delays.js').Delays} delays
 */

/**
 * A gate, which decides natively, or a combinator, which runs what is inside it in JavaScript.
 *
 * @typedef {{ gate: () => import('./segment.js').Gate }
 *   | { combinator: (scope: Scope) => import('./pipeline.js').Combinator, isOwn?: boolean }} Maker
 */

class Strategy {
  #maker;

  /** @param {Maker} maker */
  constructor(maker) {
    this.#maker = maker;
  }

  /** @param {Strategy} strategy */
  static makerOf(strategy) {
    return strategy.#maker;
  }

  /** Also false for what only looks like one. @param {any} value @returns {value is Strategy} */
  static is(value) {
    return typeof value === 'object' && value !== null && #maker in value;
  }
}

module.exports = { Strategy };
