'use strict';

// A request at the gate of the event loop: what happens to it while it waits, and when it counts no more.

const { AsyncResource } = require('node:async_hooks');

const turns = require('../loop-turns.js');
const { connectionOf, isGone, streamOf, unwatch, watch } = require('./connection.js');
const { afterFirstByte } = require('./first-byte.js');

/** @typedef {import('./admission.js').Exchange} Exchange */
/** @typedef {import('./inbound-request.js').InboundRequest} InboundRequest */
/** @typedef {import('./overload.js').Overload} Overload */

/** A request at the gate, until it has ended or the first byte of its answer has left. */
class Visit {
  #overload;
  #exchange;
  #outermost;
  #key = 0;
  /** Of one that waits: where its request was read. @type {AsyncResource | undefined} */
  #resource;
  #since = 0;
  /** How long it has waited. */
  waitedMs = 0;
  /** By what it counts against a quota, and whether it has. @type {{ key: any, isTaken: boolean } | undefined} */
  quota;
  /** What was made of it. @type {InboundRequest | undefined} */
  request;

  /**
   * @param {Overload} overload
   * @param {Exchange} exchange
   * @param {InboundRequest | undefined} outermost
   */
  constructor(overload, exchange, outermost) {
    this.#overload = overload;
    this.#exchange = exchange;
    this.#outermost = outermost;
  }

  /** What its permit is counted by; null if it has none. @returns {string | number | undefined | null} */
  get rateKey() {
    return this.quota?.isTaken ? this.quota.key : null;
  }

  /** @param {number} key */
  begin(key) {
    this.#key = key;
  }

  /** @param {number} key */
  wait(key) {
    this.#key = key;
    this.#since = performance.now();
    this.#resource = new AsyncResource('ResilienceWaiter');
    const connection = connectionOf(this.#exchange.req);
    watch(connection, this);
    if (streamOf(this.#exchange.req) === undefined) return;
    // Its client may close it, and nothing else is emitted.
    connection.once('aborted', this.closed);
    if (connection.session) watch(connection.session, this);
  }

  start() {
    const enter = this.#wake();
    this.waitedMs = performance.now() - this.#since;
    if (isGone(connectionOf(this.#exchange.req))) {
      this.end();
      this.#exchange.answered?.();
    } else {
      enter(() => this.#overload.enter(this.#exchange, this.#outermost));
    }
  }

  /** @param {string} reason */
  refuse(reason) {
    this.#key = 0;
    this.#wake()(() => this.#overload.refuse(this.#exchange, reason));
  }

  /** Its client has left. */
  closed = () => {
    if (this.#resource === undefined) return;
    this.#wake();
    this.end();
    this.#exchange.answered?.();
  };

  /** It has started, and ends by itself or by its first byte. */
  look() {
    if (this.#key === 0) return;
    if (this.request === undefined || this.request.isOver) this.end();
    else afterFirstByte(this.#exchange.res, () => this.end());
  }

  end() {
    if (this.#key === 0) return;
    const key = this.#key;
    this.#key = 0;
    turns.end(key);
  }

  /**
   * It waits no longer.
   *
   * @returns {(work: () => void) => void} Runs what comes of it where its request was read.
   */
  #wake() {
    const resource = /** @type {AsyncResource} */ (this.#resource);
    this.#resource = undefined;
    const connection = connectionOf(this.#exchange.req);
    unwatch(connection, this);
    if (streamOf(this.#exchange.req) !== undefined) {
      connection.off('aborted', this.closed);
      if (connection.session) unwatch(connection.session, this);
    }
    return (work) => resource.runInAsyncScope(work);
  }
}

module.exports = { Visit };
