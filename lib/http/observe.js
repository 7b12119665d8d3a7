'use strict';

// Listens to a request and its response: to know of the end, to give their other listeners the handler's context,
// because events come from the connection, outside of any AsyncLocalStorage scope, and to be found by the request.
//
// No property is added to either as long as nothing listens to them: one takes microseconds in Express, which
// changes the prototype of each, after which V8 shares no hidden class among them. And a `WeakMap` with an entry
// a request keeps the garbage collector busy.

const { findInboundBy, storage } = require('../context.js');
const { rawOf } = require('./connection.js');

/** Of a listener of a request. */
const OUTERMOST = Symbol('@ylcnfrht/resilience.outermost');

/** @typedef {import('./inbound-request.js').InboundRequest} InboundRequest */

/**
 * Tells a request when its response was ended or, if there may be some of that to guard until the client has read
 * it, when it was handed to the system. One that is cut off takes its connection along.
 *
 * @param {InboundRequest} request
 * @param {boolean} guardsBody
 */
function observeEnd(request, guardsBody) {
  const { res } = request;
  const ended = () => request.closed();
  // The response of HTTP/2 does not tell when it is ended.
  res.prependListener(guardsBody || 'stream' in res ? 'finish' : 'prefinish', ended);
  // One that has to wait for another on its connection does not either.
  if (res.socket === null && !guardsBody) hookEnd(request);
}

/** @param {InboundRequest} request */
function hookEnd(request) {
  const { res } = request;
  const { end } = res;
  res.end = /** @type {any} */ (
    (/** @type {any[]} */ ...args) => {
      const result = Reflect.apply(/** @type {Function} */ (end), res, args);
      if (res.writableEnded) request.closed();
      return result;
    }
  );
}

/**
 * Gives the listeners that are added from now on the context of the innermost handler that runs. Most requests
 * get none, and are left as they are.
 *
 * @param {InboundRequest} request The outermost of its response.
 */
function carryContext(request) {
  for (const emitter of [request.req, request.res]) {
    let hooked = false;
    const hook = () => {
      // Once the response has ended, Node itself listens to the request.
      if (hooked || (request.isOver && emitter === request.req)) return;
      hooked = true;
      const { emit } = emitter;
      const emitInContext = (/** @type {any[]} */ ...args) => {
        const { carried } = request;
        if (carried === undefined || emitter.listenerCount(args[0]) === 0) {
          return Reflect.apply(emit, emitter, args);
        }
        return storage.run(carried, Reflect.apply, emit, emitter, args);
      };
      emitter.emit = emitInContext;
    };
    hook[OUTERMOST] = request;
    emitter.on('newListener', hook);
  }
}

/**
 * What the first middleware has made of a request.
 *
 * @param {any} req
 * @returns {InboundRequest | undefined}
 */
function outermostOf(req) {
  const listener = req.listeners?.('newListener').find((/** @type {any} */ each) => OUTERMOST in each);
  return listener?.[OUTERMOST];
}

findInboundBy((request) => outermostOf(rawOf(request))?.current);

module.exports = { carryContext, observeEnd, outermostOf };
