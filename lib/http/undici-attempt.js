'use strict';

// One attempt at a request of an undici dispatcher, as its handler.
//
//   state       what comes of the response's body
//   UNDECIDED   stays at the socket; what comes nevertheless is kept here
//   DELIVERED   goes to the handler of the request
//   DISCARDED   is ignored

const UNDECIDED = 0;
const DELIVERED = 1;
const DISCARDED = 2;

/**
 * What an outcome is decided by. `status` is `statusCode`, by the name that it has in a `Response`.
 *
 * @typedef {{ statusCode: number, status: number, headers: Record<string, any> }} Head
 */

class UndiciAttempt {
  /** Undici's own. @type {any} */
  controller;
  #context;
  #requestContext;
  #arrived;
  #state = UNDECIDED;
  #hasEnded = false;
  /** What came before it was decided, as it has to be told. @type {(() => void)[]} */
  #kept = [];
  /** @type {any} */
  #handler;
  /** What the handler controls its request by. @type {any} */
  #control;
  #onEnd = () => {};
  #resolve = (/** @type {Head} */ _head) => {};
  #reject = (/** @type {unknown} */ _error) => {};

  /**
   * @param {import('../context.js').ResilienceContext} context
   * @param {object} requestContext Where to put what undici tells of the request.
   * @param {(head: Head) => void} arrived Called with the head, if there is anyone left to decide.
   */
  constructor(context, requestContext, arrived) {
    this.#context = context;
    this.#requestContext = requestContext;
    this.#arrived = arrived;
    /** @type {Promise<Head>} */
    this.head = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // If the dispatcher throws, that is the attempt's failure.
    this.head.catch(() => {});
    // The context is the attempt's own, and aborted before there is a head or never.
    context.signal.addEventListener('abort', () => {
      this.#state = DISCARDED;
      // None of the user's work is left in it, whether or not the dispatcher ever ends the request.
      this.#reject(context.signal.reason);
      this.abort(context.signal.reason);
    });
  }

  /** @param {unknown} reason */
  abort(reason) {
    if (!this.#hasEnded) this.controller?.abort(reason);
  }

  /** Lets go of the response: of what has arrived by reading it, of anything else by ending it. */
  discard() {
    this.#state = DISCARDED;
    this.#kept = [];
    if (!this.#hasEnded) this.controller.resume();
    this.abort(new DOMException('another response was taken', 'AbortError'));
  }

  /**
   * Hands the response to a handler.
   *
   * @param {any} handler
   * @param {any} control
   * @param {() => void} onEnd
   */
  deliver(handler, control, onEnd) {
    this.#handler = handler;
    this.#control = control;
    this.#onEnd = onEnd;
    if (this.#hasEnded) onEnd();
    try {
      // What comes meanwhile is kept as well, and told in its turn.
      for (const tell of this.#kept) tell();
      this.#state = DELIVERED;
    } catch (error) {
      this.#state = DELIVERED;
      // As undici does with a handler that throws.
      if (this.#hasEnded) handler.onResponseError?.(control, error);
      else this.abort(error);
    }
    this.#kept = [];
    if (!control.paused && !this.#hasEnded) this.controller.resume();
  }

  /**
   * @param {any} controller
   * @param {unknown} requestContext
   */
  onRequestStart(controller, requestContext) {
    this.controller = controller;
    Object.assign(this.#requestContext, requestContext);
    if (this.#state === DISCARDED) controller.abort(this.#context.signal.reason);
  }

  /**
   * @param {any} controller
   * @param {number} statusCode
   * @param {Record<string, any>} headers
   * @param {string} [statusMessage]
   */
  onResponseStart(controller, statusCode, headers, statusMessage) {
    if (this.#state === DISCARDED) return;
    this.#kept.push(() => this.#handler.onResponseStart?.(this.#control, statusCode, headers, statusMessage));
    if (statusCode < 200) return;
    // Until it is decided. Not every dispatcher heeds it.
    controller.pause();
    const head = { statusCode, status: statusCode, headers };
    this.#arrived(head);
    this.#resolve(head);
  }

  /**
   * @param {any} _controller
   * @param {Uint8Array} chunk
   */
  onResponseData(_controller, chunk) {
    this.#tell(() => this.#handler.onResponseData?.(this.#control, chunk));
  }

  /**
   * @param {any} _controller
   * @param {Record<string, any>} trailers
   */
  onResponseEnd(_controller, trailers) {
    this.#hasEnded = true;
    this.#onEnd();
    this.#tell(() => this.#handler.onResponseEnd?.(this.#control, trailers));
  }

  /**
   * @param {any} _controller
   * @param {unknown} error
   */
  onResponseError(_controller, error) {
    this.#hasEnded = true;
    this.#onEnd();
    this.#reject(error);
    this.#tell(() => this.#handler.onResponseError?.(this.#control, error));
  }

  /** @param {() => void} tell */
  #tell(tell) {
    if (this.#state === UNDECIDED) this.#kept.push(tell);
    else if (this.#state === DELIVERED) tell();
  }
}

module.exports = { UndiciAttempt };
