'use strict';

// Stands before what a response and its request emit: to know of the end, and to give their listeners the
// handler's context, because events come from the connection, outside of any AsyncLocalStorage scope.
//
// The hooks are as few as will do: a property added to a response of Express takes microseconds, because it
// changes the prototype of each, after which V8 shares no hidden class among them.

const { storage } = require('../context.js');

/** What a response emits at its end: when it was ended, when the system has all of it, and at the latest. */
const END_EVENTS = new Set(['prefinish', 'finish', 'close']);

/** @typedef {import('./inbound-request.js').InboundRequest} InboundRequest */

/** @param {InboundRequest} request The outermost of its response. */
function observe(request) {
  const { res } = request;
  const req = /** @type {any} */ (request.req);
  const { emit } = res;
  res.emit = (/** @type {any[]} */ ...args) => {
    if (END_EVENTS.has(args[0])) tellEnd(request, args[0] === 'prefinish');
    return emitIn(request, emit, res, args);
  };
  const { emit: reqEmit } = req;
  req.emit = (/** @type {any[]} */ ...args) => emitIn(request, reqEmit, req, args);
  // A response that has to wait for another on its connection tells nothing when it is ended.
  if (res.socket === null) observeEnd(request);
}

/** @param {InboundRequest} request */
function observeEnd(request) {
  const { res } = request;
  const { end } = res;
  res.end = /** @type {any} */ (
    (/** @type {any[]} */ ...args) => {
      const result = Reflect.apply(/** @type {Function} */ (end), res, args);
      if (res.writableEnded) tellEnd(request, true);
      return result;
    }
  );
}

/**
 * @param {InboundRequest} request
 * @param {Function} emit
 * @param {import('node:events').EventEmitter} emitter
 * @param {any[]} args
 */
function emitIn(request, emit, emitter, args) {
  let carried;
  for (let each = /** @type {InboundRequest | undefined} */ (request); each !== undefined; each = each.inner) {
    carried = each.carried ?? carried;
  }
  if (carried === undefined || emitter.listenerCount(args[0]) === 0) {
    return Reflect.apply(emit, emitter, args);
  }
  return storage.run(carried, Reflect.apply, emit, emitter, args);
}

/**
 * @param {InboundRequest} request
 * @param {boolean} unread Whether there may be some of the response that the client has yet to read. It may
 *   take for ever: unless a deadline guards that too, it needs no permit.
 */
function tellEnd(request, unread) {
  for (let each = /** @type {InboundRequest | undefined} */ (request); each !== undefined; each = each.inner) {
    if (!unread || !each.admission.guardsBody) each.closed();
  }
}

module.exports = { observe };
