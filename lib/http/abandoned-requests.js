'use strict';

// The handlers of one adapter that run on although their client has left, or was answered in their place.

const { warn } = require('../telemetry.js');
const { setImmediate } = require('../turn.js');

let hasWarned = false;

/** @typedef {import('./inbound-request.js').InboundRequest} InboundRequest */

class AbandonedRequests {
  /** @type {Set<InboundRequest>} */
  #requests = new Set();
  #pipeline;

  /** @param {import('../pipeline.js').ResiliencePipeline} pipeline */
  constructor(pipeline) {
    this.#pipeline = pipeline;
  }

  get size() {
    return this.#requests.size;
  }

  /** @param {InboundRequest} request */
  add(request) {
    this.#requests.add(request);
    // Handlers that heed their signal have ended by then.
    if (!hasWarned) setImmediate(() => this.#warn());
  }

  /**
   * @param {InboundRequest} request
   * @returns {boolean} Whether it was one of them.
   */
  delete(request) {
    return this.#requests.delete(request);
  }

  /** Once a process, when more run on than the limit lets in. */
  #warn() {
    const { size } = this;
    if (hasWarned || size <= this.#limit()) return;
    hasWarned = true;
    const { name = 'a pipeline without a name' } = this.#pipeline;
    warn(
      new Error(
        `${size} handlers of ${name} run on although their clients have left or were answered in their place, ` +
          'beside those that the limit lets in: hand getResilienceSignal() on to what they wait for',
      ),
    );
  }

  #limit() {
    /** @type {any} */
    const fixed = this.#pipeline.getStrategy('ConcurrencyLimiter');
    /** @type {any} */
    const adaptive = this.#pipeline.getStrategy('AdaptiveConcurrencyLimiter');
    return fixed?.permitLimit ?? adaptive?.limit ?? Infinity;
  }
}

module.exports = { AbandonedRequests };
