'use strict';

// What a request comes on, by which those under way hear of its end.

const REQUESTS = Symbol('@ylcnfrht/resilience.requests');

/** @typedef {import('./inbound-request.js').InboundRequest} InboundRequest */

/** Of HTTP/2, the stream of a request. One of HTTP/1 has no such; its `stream` is the application's own. */
const streamOf = (/** @type {any} */ req) => (req.httpVersionMajor === 2 ? req.stream : undefined);

/** What a request comes on: of HTTP/2 its own stream; of a made-up one, itself. @param {any} req */
const connectionOf = (req) => streamOf(req) ?? req.socket ?? req;

/** Whether its client has left. @param {any} connection */
const isGone = (connection) => connection.destroyed || connection.closed === true;

/**
 * Whether it tells of events: the socket of a made-up request may be a plain object.
 *
 * @param {any} target
 * @returns {target is import('node:events').EventEmitter}
 */
const emits = (target) => typeof target.on === 'function' && typeof target.once === 'function';

/**
 * Notes a request, or who else waits for that, and tells it of its connection's end.
 *
 * @param {any} connection
 * @param {{ closed(): void }} request
 */
function watch(connection, request) {
  if (!emits(connection)) return;
  /** @type {Set<{ closed(): void }> | undefined} */
  let underWay = /** @type {any} */ (connection)[REQUESTS];
  if (underWay === undefined) {
    const set = new Set();
    /** @type {any} */ (connection)[REQUESTS] = underWay = set;
    connection.once('close', () => {
      // The innermost first: the abort of one further out is no answer to it.
      for (const each of [...set].reverse()) each.closed();
    });
  }
  underWay.add(request);
}

/**
 * @param {any} connection
 * @param {{ closed(): void }} request
 */
function unwatch(connection, request) {
  connection[REQUESTS]?.delete(request);
}

module.exports = { connectionOf, emits, isGone, streamOf, unwatch, watch };
