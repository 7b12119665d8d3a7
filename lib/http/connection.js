'use strict';

// The requests under way on a connection, by which they hear of its end.

const REQUESTS = Symbol('@ylcnfrht/resilience.requests');

/** @typedef {import('./inbound-request.js').InboundRequest} InboundRequest */

/** What a request comes on: of HTTP/2 its own stream; of a made-up one, itself. @param {any} req */
const connectionOf = (req) => req.stream ?? req.socket ?? req;

/**
 * Notes a request, or who else waits for that, and tells it of its connection's end.
 *
 * @param {any} connection
 * @param {{ closed(): void }} request
 */
function watch(connection, request) {
  /** @type {Set<{ closed(): void }> | undefined} */
  let underWay = connection[REQUESTS];
  if (underWay === undefined) {
    const set = new Set();
    connection[REQUESTS] = underWay = set;
    connection.once('close', () => {
      // The innermost first: the abort of one further out is no answer to it.
      for (const each of [...set].reverse()) each.closed();
    });
  }
  underWay.add(request);
}

/**
 * @param {any} connection
 * @param {InboundRequest} request
 */
function unwatch(connection, request) {
  connection[REQUESTS]?.delete(request);
}

/**
 * Those that the middlewares of one request have made, outermost first, as long as it is under way.
 *
 * @param {any} connection
 * @param {any} req
 * @returns {InboundRequest[]}
 */
function requestsOf(connection, req) {
  const all = [];
  for (const each of connection[REQUESTS] ?? []) if (each.req === req) all.push(each);
  return all;
}

/** The request of Node's that a framework's own stands for. @param {any} request */
function rawOf(request) {
  // Of Hono, Fastify and Koa.
  return request.env?.incoming ?? request.raw ?? request.req ?? request;
}

/**
 * The one that a middleware has made of a framework's request.
 *
 * @param {any} subject
 * @param {import('./admission.js').Admission} admission
 */
function requestIn(subject, admission) {
  const req = rawOf(subject);
  const request = requestsOf(connectionOf(req), req).find((each) => each.admission === admission);
  return /** @type {InboundRequest} */ (request);
}

module.exports = { connectionOf, rawOf, requestIn, requestsOf, unwatch, watch };
