'use strict';

// A response that has been answered in its handler's place. The handler does not know and goes on: whatever it
// does to the response has no effect, and fails as little as it would have before.

const { nextTick } = require('../turn.js');

/** What ends or adds to a response, and takes a callback as its last argument. */
const WRITES = /** @type {const} */ (['write', 'end']);
/** What returns the response. */
const CHAINED = /** @type {const} */ (['setHeader', 'setHeaders', 'appendHeader', 'writeHead', 'setTimeout']);
const SILENT = /** @type {const} */ ([
  'removeHeader',
  'writeContinue',
  'writeProcessing',
  'writeEarlyHints',
  'destroy',
]);

/**
 * Cuts a response that has ended off from its handler.
 *
 * It claims that no header was sent: an error handler that sees sent headers destroys the connection, which
 * other requests may use. Who listens to its events sees the truth: a log has no status otherwise.
 *
 * @param {import('node:http').ServerResponse} res
 * @param {() => void} onLateWrite Called for every write that is swallowed.
 */
function seal(res, onLateWrite) {
  const { emit, statusCode } = res;
  let emitting = false;
  /** @type {Record<string, PropertyDescriptor>} */
  const sealed = {
    headersSent: { get: () => emitting, configurable: true },
    statusCode: { get: () => statusCode, set: () => {}, configurable: true, enumerable: true },
    emit: method((...args) => {
      const nested = emitting;
      emitting = true;
      try {
        return Reflect.apply(emit, res, args);
      } finally {
        emitting = nested;
      }
    }),
  };
  for (const name of WRITES) {
    sealed[name] = method((...args) => {
      onLateWrite();
      const callback = args.at(-1);
      if (typeof callback === 'function') nextTick(callback);
      return name === 'end' ? res : true;
    });
  }
  for (const name of CHAINED) sealed[name] = method(() => res);
  for (const name of SILENT) sealed[name] = method(() => undefined);
  Object.defineProperties(res, sealed);
}

/** @param {(...args: any[]) => unknown} value */
const method = (value) => ({ value, writable: true, configurable: true });

module.exports = { seal };
