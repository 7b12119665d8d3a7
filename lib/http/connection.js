'use strict';

// The requests under way on a connection, also those whose response has no socket of its own yet or any more.

const REQUESTS = Symbol('requests');

/** @typedef {import('./inbound-request.js').InboundRequest} InboundRequest */

/**
 * Tells a request of its connection's end.
 *
 * @param {any} socket
 * @param {InboundRequest} request
 */
function watch(socket, request) {
  /** @type {Set<InboundRequest> | undefined} */
  let underWay = socket[REQUESTS];
  if (underWay === undefined) {
    const set = new Set();
    socket[REQUESTS] = underWay = set;
    socket.once('close', () => {
      for (const each of set) each.closed();
    });
  }
  underWay.add(request);
}

/**
 * @param {any} socket
 * @param {InboundRequest} request
 */
function unwatch(socket, request) {
  socket?.[REQUESTS]?.delete(request);
}

module.exports = { unwatch, watch };
