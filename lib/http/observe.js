'use strict';

// Listens to a request and its response: to know of the end, to give their other listeners the handler's context,
// because events come from the connection, outside of any AsyncLocalStorage scope, and to be found by the request.
//
// No property is added to either as long as nothing listens to them: one takes microseconds in Express, which
// changes the prototype of each, after which V8 shares no hidden class among them. And a `WeakMap` with an entry
// a request keeps the garbage collector busy.

const { EventEmitter } = require('node:events');
const { OutgoingMessage } = require('node:http');

const { findInboundBy, storage } = require('../current-context.js');
const { typeError } = require('../options.js');
const { emits, streamOf, watch } = require('./connection.js');

/** Of a listener of a request. */
const OUTERMOST = Symbol('@ylcnfrht/resilience.outermost');
/** Of a framework's own request: Node's. */
const NATIVE = Symbol('@ylcnfrht/resilience.native');

/** By requests that are no emitters. @type {WeakMap<object, InboundRequest>} */
const madeUp = new WeakMap();

/** @typedef {import('./inbound-request.js').InboundRequest} InboundRequest */

/**
 * Tells a request when its response was ended or, if there may be some of that to guard until the client has read
 * it, when it was handed to the system. One that is cut off takes its connection along.
 *
 * @param {InboundRequest} request
 * @param {boolean} guardsBody
 */
function observeEnd(request, guardsBody) {
  const { req, res, connection } = request;
  const isHttp2 = streamOf(req) !== undefined;
  const isConnected = connection !== req && emits(connection);
  if (!isConnected || (!isHttp2 && !(res instanceof OutgoingMessage))) {
    observeMadeUp(request);
    return;
  }
  if (isHttp2) {
    observeStream(request, guardsBody);
    return;
  }
  const ended = () => request.closed();
  res.prependListener(guardsBody ? 'finish' : 'prefinish', ended);
  // One that has to wait for another on its connection does not either.
  if (res.socket === null && !guardsBody) hookEnd(request);
}

/**
 * A stream of HTTP/2 whose client has closed it, with something left to be read, may emit nothing more than
 * `aborted`, and nothing at all once its response was ended.
 *
 * @param {InboundRequest} request
 * @param {boolean} guardsBody
 */
function observeStream(request, guardsBody) {
  const stream = /** @type {any} */ (request.connection);
  const closed = () => request.closed();
  stream.once('aborted', closed);
  if (stream.session) watch(stream.session, request);
  const { end } = stream;
  stream.end = (/** @type {any[]} */ ...args) => {
    // Node itself ends the stream that its client has closed.
    const isOurs = !stream.aborted;
    const result = Reflect.apply(end, stream, args);
    if (isOurs && (!guardsBody || stream.closed)) request.ended();
    return result;
  };
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
 * A response that is not one of Node's on a connection of Node's tells its end by whatever it has: events, or the
 * calls that end it. The outermost request hears of it for all.
 *
 * @param {InboundRequest} outermost
 */
function observeMadeUp(outermost) {
  if (outermost.outermost !== outermost) return;
  const { res } = outermost;
  const tell = (/** @type {'ended' | 'closed'} */ how) => {
    // The innermost first: the abort of one further out is no answer to it.
    for (let each = outermost.innermost; each !== undefined; each = each.outer) each[how]();
  };
  const ended = () => tell('ended');
  const closed = () => tell('closed');
  if (emits(res)) {
    for (const event of ['prefinish', 'finish']) res.once(event, ended);
    res.once('close', closed);
  }
  const isHooked = hookCall(res, 'end', ended);
  hookCall(res, 'destroy', closed);
  if (isHooked || emits(res)) return;
  throw typeError('the response of a request', 'an emitter, or have a function end that can be wrapped', res);
}

/**
 * @param {any} target
 * @param {string} name
 * @param {() => void} after
 */
function hookCall(target, name, after) {
  const original = target[name];
  if (typeof original !== 'function') return false;
  // A mock is asked later for what it was called with.
  const hooked = new Proxy(original, {
    apply: (call, self, args) => {
      const result = Reflect.apply(call, self, args);
      after();
      return result;
    },
  });
  return Reflect.set(target, name, hooked);
}

/**
 * Makes the request known, and gives the listeners that are added from now on the context of the innermost handler
 * that runs. Most requests get none, and are left as they are.
 *
 * @param {InboundRequest} request The outermost of its response.
 */
function carryContext(request) {
  const { req, res } = request;
  for (const emitter of [req, res]) {
    if (!(emitter instanceof EventEmitter)) continue;
    let hooked = false;
    const hook = () => {
      // Once the response has ended, Node itself listens to the request.
      if (hooked || (request.isOver && emitter === req)) return;
      hooked = true;
      const { emit } = emitter;
      const emitInContext = (/** @type {any[]} */ ...args) => {
        const { carried } = request;
        if (carried === undefined || emitter.listenerCount(args[0]) === 0) {
          return Reflect.apply(emit, emitter, args);
        }
        return (request.carrier ?? storage).run(carried, Reflect.apply, emit, emitter, args);
      };
      emitter.emit = emitInContext;
    };
    hook[OUTERMOST] = request;
    // Not by its own `on`: OpenTelemetry replaces that, and wraps the listener.
    Reflect.apply(EventEmitter.prototype.on, emitter, ['newListener', hook]);
  }
  if (!(req instanceof EventEmitter)) madeUp.set(req, request);
}

/**
 * What the first middleware has made of a request.
 *
 * @param {any} req
 * @returns {InboundRequest | undefined}
 */
function outermostOf(req) {
  if (!(req instanceof EventEmitter)) return madeUp.get(req);
  if (req.listenerCount('newListener') === 0) return undefined;
  /** @type {any} */
  const listener = req.listeners('newListener').find((each) => OUTERMOST in each);
  return listener?.[OUTERMOST];
}

/**
 * Lets the context be found by a framework's own request.
 *
 * @param {any} subject
 * @param {any} req
 */
function linkToNative(subject, req) {
  if (subject !== req) subject[NATIVE] = req;
}

findInboundBy((request) => outermostOf(/** @type {any} */ (request)[NATIVE] ?? request)?.current);

module.exports = { carryContext, linkToNative, observeEnd, outermostOf };
