'use strict';

// Stands between a server's `emit` and its listeners of requests: behind what instruments `emit`, so that a request
// has its span while it waits, and also if it is refused.

const { EventEmitter } = require('node:events');

const GATEWAY = Symbol('@ylcnfrht/resilience.gateway');

/** @typedef {import('node:http').IncomingMessage} IncomingMessage */
/** @typedef {import('node:http').ServerResponse} ServerResponse */
/** @typedef {(req: IncomingMessage, res: ServerResponse, handle: () => void) => void} Admit */

class Gateway {
  #server;
  /**
   * The server with one listener of requests, and otherwise all that it has. To the `emit` of a server that others
   * have replaced (OpenTelemetry that of all servers, and others that of one) it is that server.
   *
   * @type {EventEmitter}
   */
  #front;
  /** Outermost first. @type {Admit[]} */
  #admits = [];
  /** Those that expect 100 Continue. */
  #asked = new WeakSet();
  /** Of these, those that have come: they come again when they are handed on. */
  #entered = new WeakSet();

  /**
   * That of a server, made once.
   *
   * @param {any} server
   * @returns {Gateway}
   */
  static of(server) {
    return (server[GATEWAY] ??= new Gateway(server));
  }

  /** @param {EventEmitter} server */
  constructor(server) {
    this.#server = server;
    const front = (this.#front = Object.create(server));
    // Gives it listeners of its own.
    Reflect.apply(EventEmitter, front, []);
    Reflect.apply(EventEmitter.prototype.on, front, ['request', (/** @type {any[]} */ ...args) => this.#enter(args)]);
    const emitsItself = Object.hasOwn(server, 'emit');
    const { emit: own } = server;
    server.emit = (/** @type {any[]} */ ...args) => {
      // That of its class may be replaced at any time.
      const emit = emitsItself ? own : Object.getPrototypeOf(server).emit;
      return this.#emit(emit, args);
    };
  }

  /** @param {Admit} admit Asked before those that are there already. */
  add(admit) {
    this.#admits.unshift(admit);
  }

  /**
   * @param {Function} emit
   * @param {any[]} args
   */
  #emit(emit, args) {
    const [event, req, ...rest] = args;
    const asks = event === 'checkContinue';
    if (!asks && event !== 'request') return Reflect.apply(emit, this.#server, args);
    if (this.#entered.has(req)) return this.handOn(args);
    if (!asks) return Reflect.apply(emit, this.#front, args);
    this.#asked.add(req);
    // To who instruments `emit` it is a request from now on: what it is told may be a refusal.
    return this.#server.emit('request', req, ...rest);
  }

  /** @param {any[]} args */
  #enter(args) {
    const [req, res] = args;
    const asks = this.#asked.has(req);
    const event = asks ? 'checkContinue' : 'request';
    if (asks) this.#entered.add(req);
    const pass = (/** @type {number} */ index) => {
      if (index === this.#admits.length) this.handOn([event, ...args]);
      else this.#admits[index](req, res, () => pass(index + 1));
    };
    pass(0);
  }

  /** To the listeners, once: who instruments `emit` has seen it. @param {any[]} args */
  handOn(args) {
    return Reflect.apply(EventEmitter.prototype.emit, this.#server, args);
  }
}

module.exports = { Gateway };
