'use strict';

const { callback, name: readName, oneOf, readOptions } = require('./options.js');
const { ResiliencePipeline } = require('./pipeline.js');
const { Segment, cut } = require('./segment.js');
const { adaptiveConcurrencyLimiterStrategy } = require('./strategies/adaptive-concurrency-limiter.js');
const { concurrencyLimiterStrategy } = require('./strategies/concurrency-limiter.js');
const { fallbackStrategy } = require('./strategies/fallback.js');
const { timeoutStrategy } = require('./strategies/timeout.js');
const { Telemetry } = require('./telemetry.js');

/**
 * A validated strategy that makes its own state for each pipeline: a gate, which decides natively, or a
 * combinator, which runs what is inside it in JavaScript.
 *
 * @typedef {{ gate: () => import('./segment.js').Gate }
 *   | { combinator: (telemetry: Telemetry) => import('./pipeline.js').Combinator }} Strategy
 */

class ResiliencePipelineBuilder {
  /** Outermost first. @type {Strategy[]} */
  #strategies = [];
  #name;
  #ambient;
  #listener;

  /** @param {unknown} [options] */
  constructor(options = {}) {
    const { name, context = 'ambient', telemetry } = readOptions('ResiliencePipelineBuilder', options, [
      'name',
      'context',
      'telemetry',
    ]);
    this.#name = name === undefined ? undefined : readName('name', name, '');
    this.#ambient = oneOf('context', context, ['ambient', 'explicit']) === 'ambient';
    this.#listener = callback('telemetry', telemetry);
  }

  /** @param {unknown} options */
  addTimeout(options) {
    this.#strategies.push(timeoutStrategy(options));
    return this;
  }

  /**
   * @param {unknown} options
   * @param {unknown} [queueLimit]
   */
  addConcurrencyLimiter(options, queueLimit) {
    this.#strategies.push(concurrencyLimiterStrategy(options, queueLimit));
    return this;
  }

  /** @param {unknown} [options] */
  addAdaptiveConcurrencyLimiter(options) {
    this.#strategies.push(adaptiveConcurrencyLimiterStrategy(options));
    return this;
  }

  /** @param {unknown} options */
  addFallback(options) {
    this.#strategies.push(fallbackStrategy(options));
    return this;
  }

  build() {
    const telemetry = new Telemetry(this.#name, this.#listener);
    /** @type {Map<string, object>} */
    const views = new Map();
    /** @type {import('./pipeline.js').Stage[]} */
    const stages = [];
    /** @type {import('./segment.js').Gate[]} */
    let gates = [];
    const closeRun = () => {
      stages.push(...cut(gates).map((run) => new Segment(run, telemetry)));
      gates = [];
    };
    for (const strategy of this.#strategies) {
      if ('gate' in strategy) {
        gates.push(strategy.gate());
        register(views, gates[gates.length - 1]);
      } else {
        closeRun();
        const combinator = strategy.combinator(telemetry);
        stages.push(combinator);
        register(views, combinator);
      }
    }
    closeRun();
    return new ResiliencePipeline(stages, views, this.#ambient, telemetry);
  }
}

/**
 * Of two strategies with one name, the outer one is found by it.
 *
 * @param {Map<string, object>} views
 * @param {{ name: string, view: object }} strategy
 */
function register(views, { name, view }) {
  if (!views.has(name)) views.set(name, view);
}

module.exports = { ResiliencePipelineBuilder };
