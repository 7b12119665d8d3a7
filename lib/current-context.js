'use strict';

// Which context the calling code runs in.

const { AsyncLocalStorage } = require('node:async_hooks');

const { ResilienceContext } = require('./context.js');
const { typeError } = require('./options.js');

/** @type {AsyncLocalStorage<ResilienceContext | undefined>} */
const storage = new AsyncLocalStorage();

/**
 * Finds the context of an inbound request, once anything that has such is loaded.
 *
 * @type {(request: object) => ResilienceContext | undefined}
 */
let findInbound = () => undefined;

/** @param {(request: any) => ResilienceContext | undefined} find */
function findInboundBy(find) {
  findInbound = find;
}

/** @param {object} [request] */
function getResilienceContext(request) {
  if (request === undefined) return storage.getStore();
  if (typeof request !== 'object' || request === null) throw typeError('request', 'an object', request);
  return findInbound(request);
}

/** What an execution that is begun here hangs below. */
function currentContext() {
  const context = storage.getStore();
  return context === undefined ? undefined : ResilienceContext.enclosing(context);
}

const getResilienceSignal = () => currentContext()?.signal;

/**
 * Calls `fn` outside of every execution, so that what it makes belongs to none.
 *
 * @param {unknown} fn
 */
function detached(fn) {
  if (typeof fn !== 'function') throw typeError('the argument of detached', 'a function', fn);
  return storage.run(undefined, /** @type {() => unknown} */ (fn));
}

module.exports = {
  currentContext,
  detached,
  findInboundBy,
  getResilienceContext,
  getResilienceSignal,
  storage,
};
