'use strict';

// What the middlewares over one response have made of its request: a chain from the innermost outwards, which the
// outermost holds.

/** @typedef {import('./inbound-request.js').InboundRequest} InboundRequest */

/**
 * Whether a middleware over the pipeline has seen the request.
 *
 * @param {InboundRequest | undefined} outermost
 * @param {import('../pipeline.js').ResiliencePipeline} pipeline
 */
function isCountedBy(outermost, pipeline) {
  for (let each = outermost?.innermost; each !== undefined; each = each.outer) {
    if (each.admission.pipeline === pipeline) return true;
  }
  return false;
}

/**
 * Whether the request has come through the gate of the event loop.
 *
 * @param {InboundRequest | undefined} outermost
 */
function hasVisited(outermost) {
  for (let each = outermost?.innermost; each !== undefined; each = each.outer) {
    if (each.exchange.visit !== undefined) return true;
  }
  return false;
}

/**
 * What the client has left, by each middleware that has told; the outermost first.
 *
 * @param {InboundRequest} outermost
 */
function quotasOf(outermost) {
  /** @type {import('./quota-headers.js').Quota[]} */
  const quotas = [];
  for (let each = outermost.innermost; each !== undefined; each = each.outer) {
    if (each.quota !== undefined) quotas.unshift(each.quota);
  }
  return quotas;
}

module.exports = { hasVisited, isCountedBy, quotasOf };
