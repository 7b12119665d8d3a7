'use strict';

// What the builders collect: a validated strategy that makes its own state for each pipeline.

const { mark, skillsOf } = require('./copies.js');

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

/** What makes strategies, by name. @type {Map<string, (...args: any[]) => Strategy>} */
const factories = new Map();
/** What each strategy was made by. @type {WeakMap<Strategy, { name: string, args: any[] }>} */
const recipes = new WeakMap();

/**
 * Lets other copies of the package make the strategies of this one again, for pipelines of their own: their gates are
 * of one native side.
 *
 * @template {(...args: any[]) => Strategy} F
 * @param {string} name The same in each copy, minified or not.
 * @param {F} make
 * @returns {F}
 */
function recallable(name, make) {
  const factory = (/** @type {any[]} */ ...args) => {
    const strategy = make(...args);
    recipes.set(strategy, { name, args });
    return strategy;
  };
  factories.set(name, factory);
  return /** @type {F} */ (factory);
}

mark('Strategy', { is: Strategy.is, recipeOf: (/** @type {Strategy} */ strategy) => recipes.get(strategy) });

/**
 * A strategy as one of this copy; undefined if it is none, or of another version.
 *
 * @param {unknown} value
 * @returns {Strategy | undefined}
 */
function adopt(value) {
  if (Strategy.is(value)) return value;
  const recipe = skillsOf(value, 'Strategy')?.recipeOf(value);
  return recipe && factories.get(recipe.name)?.(...recipe.args);
}

module.exports = { Strategy, adopt, recallable };
