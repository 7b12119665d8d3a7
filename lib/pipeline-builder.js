'use strict';

// Puts strategies into a pipeline. Knows none of them, so that a bundle holds only those that it uses.

const { notUsable } = require('./copies.js');
const { Delays } = require('./delays.js');
const { callback, name: readName, oneOf, readOptions, typeError } = require('./options.js');
const { ResiliencePipeline } = require('./pipeline.js');
const { readOnly } = require('./read-only.js');
const { Segment, cut } = require('./segment.js');
const { Strategy, adopt } = require('./strategy.js');
const { Telemetry } = require('./telemetry.js');

class PipelineBuilder {
  /** Outermost first. @type {import('./strategy.js').Maker[]} */
  #makers = [];
  #name;
  #ambient;
  #listener;

  /** @param {unknown} [options] */
  constructor(options = {}) {
    const { name, context = 'ambient', telemetry } = readOptions(new.target.name, options, [
      'name',
      'context',
      'telemetry',
    ]);
    this.#name = name === undefined ? undefined : readName('name', name, '');
    this.#ambient = oneOf('context', context, ['ambient', 'explicit']) === 'ambient';
    this.#listener = callback('telemetry', telemetry);
  }

  /** @param {unknown} strategy One of ours, or a function that makes one of the user's. */
  add(strategy) {
    const own = adopt(strategy);
    if (own !== undefined) {
      this.#makers.push(Strategy.makerOf(own));
    } else if (typeof strategy === 'function') {
      this.#makers.push({ combinator: () => readCustom(strategy()), isOwn: true });
    } else {
      const accepted = 'made by one of the …Strategy functions, or a function that makes your own';
      throw notUsable('the strategy', accepted, strategy, 'Strategy');
    }
    return this;
  }

  build() {
    const telemetry = new Telemetry(this.#name, this.#listener);
    const scope = { telemetry, delays: new Delays() };
    /** @type {Map<string, object>} */
    const views = new Map();
    /** @type {(import('./segment.js').Gate[] | import('./pipeline.js').Combinator)[]} */
    const parts = [];
    /** @type {import('./segment.js').Gate[]} */
    let gates = [];
    const closeRun = () => {
      parts.push(...cut(gates));
      gates = [];
    };
    for (const maker of this.#makers) {
      if ('gate' in maker) {
        gates.push(maker.gate());
        register(views, gates[gates.length - 1], false);
      } else {
        closeRun();
        const combinator = maker.combinator(scope);
        parts.push(combinator);
        register(views, combinator, maker.isOwn === true);
      }
    }
    closeRun();
    // Segments attach users' providers and controls: not before every user's function has made its strategy.
    const stages = parts.map((part) => (Array.isArray(part) ? new Segment(part, telemetry) : part));
    return new ResiliencePipeline(stages, views, this.#ambient, scope);
  }
}

/**
 * Of two strategies with one name, the outer one is found by it.
 *
 * @param {Map<string, object>} views
 * @param {{ name: string, view: object }} strategy
 * @param {boolean} isOwn Whether the view is an object of the user's, and stays as it is.
 */
function register(views, { name, view }, isOwn) {
  if (!views.has(name)) views.set(name, isOwn ? view : readOnly(view, `the strategy '${name}'`));
}

/**
 * @param {any} strategy What a user's function made.
 * @returns {import('./pipeline.js').Combinator}
 */
function readCustom(strategy) {
  if (typeof strategy?.execute !== 'function') {
    throw typeError('a strategy of your own', 'an object with name and execute(next, context)', strategy);
  }
  // Not a default: without a name nobody finds it in telemetry, nor by getStrategy.
  const name = readName('the name of a strategy of your own', strategy.name ?? null, '');
  return { name, view: strategy, execute: (next, context) => strategy.execute(next, context) };
}

module.exports = { PipelineBuilder };
