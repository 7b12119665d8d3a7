'use strict';

// Cuts off clients that take nothing of what is there for them: a response that has begun is guarded by no deadline.
// One who waits for a handler, with nothing pending, is never cut off.

const { outsideOfRequests } = require('../timer.js');
const { clearInterval, setInterval } = require('../turn.js');
const { streamOf } = require('./connection.js');

/** RFC 9113, section 7. */
const HTTP2_CANCEL = 8;
/** How often one looks within the time. */
const LOOKS = 8;

/** @typedef {import('./inbound-request.js').InboundRequest} InboundRequest */

/**
 * How far a client has come with what is pending for it.
 *
 * @typedef {object} Flow
 * @property {number} written Bytes handed to the system; of HTTP/2, what its client lets the session send.
 * @property {number} left Bytes that the system, or the stream, has not got rid of.
 */

class StallGuard {
  #requests;
  #stallMs;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** Those with something pending, at the last look. @type {Map<InboundRequest, Flow & { since: number }>} */
  #pending = new Map();

  /**
   * @param {Set<InboundRequest>} requests Those under way, and those whose answer is: the latter are taken off here.
   * @param {number} stallMs
   */
  constructor(requests, stallMs) {
    this.#requests = requests;
    this.#stallMs = stallMs;
  }

  /** A request is under way. */
  watch() {
    if (this.#timer !== undefined) return;
    const every = Math.min(Math.max(this.#stallMs / LOOKS, 1), 10_000);
    this.#timer = outsideOfRequests.runInAsyncScope(() => setInterval(() => this.#look(), every).unref());
  }

  /** Whether something of an answer that has ended is pending. @param {InboundRequest} request */
  static isPending({ req, connection }) {
    return !connection.destroyed && flowOf(req, connection) !== undefined;
  }

  #look() {
    const now = performance.now();
    const pending = new Map();
    for (const request of this.#requests) {
      const { req, connection, isOver } = request;
      const flow = connection.destroyed ? undefined : flowOf(req, connection);
      if (flow === undefined) {
        if (isOver) this.#requests.delete(request);
        continue;
      }
      const last = this.#pending.get(request);
      const isStuck = last !== undefined && flow.written === last.written && flow.left >= last.left;
      const since = isStuck ? last.since : now;
      if (now - since >= this.#stallMs) this.#cut(request);
      else pending.set(request, { ...flow, since });
    }
    this.#pending = pending;
    if (this.#requests.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** @param {InboundRequest} request */
  #cut(request) {
    this.#requests.delete(request);
    const { connection, req } = request;
    if (streamOf(req) === undefined) connection.destroy();
    else cutStream(connection);
    request.closed();
  }
}

/**
 * @param {any} req
 * @param {any} connection
 * @returns {Flow | undefined} Undefined if nothing is pending.
 */
function flowOf(req, connection) {
  if (streamOf(req) === undefined) return flowOfSocket(connection);
  const left = connection.bufferSize;
  if (!(left > 0)) return undefined;
  return { written: connection.session?.state.remoteWindowSize ?? 0, left };
}

/**
 * A write is handed to the system as a whole, which then gets rid of it piece by piece: only its handle tells how far
 * that has come.
 *
 * @param {any} socket
 * @returns {Flow | undefined}
 */
function flowOfSocket(socket) {
  const left = socket?._handle?.writeQueueSize ?? 0;
  if (left === 0 && !(socket?.writableLength > 0)) return undefined;
  return { written: socket._handle?.bytesWritten ?? 0, left };
}

/** @param {any} stream */
function cutStream(stream) {
  const { session } = stream;
  const socket = socketOf(stream);
  if (flowOfSocket(socket) === undefined) {
    stream.close(HTTP2_CANCEL);
    return;
  }
  // Not even a reset would reach its client. A session waits for what it has written, unless its socket is closed.
  const destroySocket = socket._destroy;
  session.destroy();
  destroySocket(null, () => {});
}

/** That of a session, or none if it has ended. @param {any} stream */
function socketOf(stream) {
  try {
    return stream.session?.socket;
  } catch {
    return undefined;
  }
}

module.exports = { StallGuard };
