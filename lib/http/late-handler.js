'use strict';

// A handler that may go on after the execution of its request: it was answered in its place, or its client has left.

const { isTimeoutRejected } = require('../errors.js');
// A response lives in real time.
const { clearTimeout, nextTick, setTimeout } = require('../turn.js');

/** How long late work of a handler is taken to go on after an abort, where nothing tells of its end. */
const LATE_MS = 30_000;

class LateHandler {
  #request;
  #execution;
  /** Ends the wait for the handler's end. @type {NodeJS.Timeout | undefined} */
  #timer;

  /**
   * @param {import('./inbound-request.js').InboundRequest} request
   * @param {any} execution
   * @param {unknown} reason Of the abort.
   * @param {boolean | undefined} works Whether its work is under way; undefined if nothing tells.
   */
  constructor(request, execution, reason, works) {
    this.#request = request;
    this.#execution = execution;
    request.admission.abandoned.add(request);
    // That of a deadline: of any other abort its execution does so itself.
    if (isTimeoutRejected(reason)) execution.role.telemetry.abandoned.tellSoon(execution);
    if (works === undefined) this.#awaitEnd();
    // Once its execution has been told of the abort as well.
    else if (!works) nextTick(() => this.leave());
  }

  /** Takes the end of the response for that of the handler, where nothing else tells. */
  #awaitEnd() {
    const { res } = this.#request;
    const { end } = res;
    this.#timer = setTimeout(() => this.leave(), LATE_MS).unref();
    if (typeof end !== 'function') return;
    Reflect.set(res, 'end', (/** @type {any[]} */ ...args) => {
      this.leave();
      return Reflect.apply(/** @type {Function} */ (end), res, args);
    });
  }

  /** It has ended, after its execution has. */
  leave() {
    if (!this.#request.admission.abandoned.delete(this.#request)) return;
    clearTimeout(this.#timer);
    this.#execution.finish(true, undefined);
  }
}

module.exports = { LATE_MS, LateHandler };
