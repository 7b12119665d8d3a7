'use strict';

// The bodies of fetch's responses, after the execution that they came from.

const { finished } = require('node:stream');

const { classOf } = require('../copies.js');

/** @typedef {import('../context.js').ResilienceContext} ResilienceContext */
const { follow } = require('../caller-signal.js');

/**
 * By a response, and by its body, what aborts them: the context whose signal the fetch was given, and the
 * request that brought a signal along. Fetch knows both by weak references only; here they live as long as
 * anyone can read the body.
 *
 * @type {WeakMap<object, { context: ResilienceContext, input: unknown }>}
 */
const origins = new WeakMap();

/** @type {FinalizationRegistry<Reader>} */
const readers = new FinalizationRegistry((reader) => reader.leave());

/** Whoever reads a body, as the signals know it: it holds neither the body nor its context. */
class Reader {
  #context;
  #followed;

  /**
   * @param {ResilienceContext} context
   * @param {readonly AbortSignal[]} signals
   */
  constructor(context, signals) {
    this.#context = new WeakRef(context);
    this.#followed = signals.map((signal) => follow(signal, this, Reader.abort));
  }

  /**
   * @param {Reader} reader
   * @param {unknown} reason
   */
  static abort(reader, reason) {
    reader.leave();
    const context = reader.#context.deref();
    if (context !== undefined) classOf(context).abort(context, reason);
  }

  leave() {
    for (const followed of this.#followed.splice(0)) followed.remove();
  }
}

/**
 * Lets `signals` abort the reading of a response's body, until that has ended or nobody has it any more.
 *
 * @param {any} response
 * @param {{ context: ResilienceContext, input: unknown }} origin The attempt that brought it.
 * @param {readonly AbortSignal[]} signals
 */
function followBody(response, origin, signals) {
  const body = response?.body;
  if (typeof body !== 'object' || body === null || signals.length === 0) return;
  const { context } = origin;
  const aborted = signals.find((signal) => signal.aborted);
  if (aborted !== undefined) {
    classOf(context).abort(context, aborted.reason);
    return;
  }
  origins.set(response, origin);
  origins.set(body, origin);
  const reader = new Reader(context, signals);
  readers.register(context, reader);
  // Where it does not tell of its end, the garbage collector does.
  if (body instanceof ReadableStream) finished(/** @type {any} */ (body), () => reader.leave());
}

/**
 * Lets go of a response that nobody will read. Whoever reads it already goes on: that body is locked.
 *
 * @param {any} response
 */
function discardBody(response) {
  try {
    const { body } = response;
    if (typeof body?.cancel === 'function') Promise.resolve(body.cancel()).catch(() => {});
    else body?.destroy?.();
  } catch {
    // A response of another make, whose body cannot be cancelled.
  }
}

module.exports = { discardBody, followBody };
