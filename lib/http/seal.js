'use strict';

// A response that has been answered in its handler's place. The handler does not know and goes on: whatever it
// does to the response has no effect, fails as little as it would have before, and comes to its end: listeners that
// it adds only now hear the events that have passed, once it has ended the response itself.

const { nextTick } = require('../turn.js');
const { connectionOf, watch } = require('./connection.js');

/** What ends or adds to a response, and takes a callback as its last argument. */
const WRITES = /** @type {const} */ (['write', 'end']);
/** What returns the response. */
const CHAINED = /** @type {const} */ (['setHeader', 'setHeaders', 'appendHeader', 'writeHead', 'setTimeout']);
const SILENT = /** @type {const} */ ([
  'removeHeader',
  'writeContinue',
  'writeProcessing',
  'writeEarlyHints',
]);
/** What a response emits at its end. */
const ENDS = /** @type {const} */ (['finish', 'close']);

/**
 * Cuts a response that has ended off from its handler.
 *
 * It claims that no header was sent: an error handler that sees sent headers destroys the connection, which
 * other requests may use. Who listens to its events sees the truth: a log has no status otherwise.
 *
 * @param {import('node:http').IncomingMessage} req
 * @param {import('node:http').ServerResponse} res
 * @param {(name: 'write' | 'end') => void} onLateWrite Called for every write that is swallowed.
 */
function seal(req, res, onLateWrite) {
  const { emit, statusCode } = res;
  const late = new LateEnd(connectionOf(req), res);
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
        late.emitted(args);
      }
    }),
    destroy: method(() => {
      late.tell(['close']);
      return res;
    }),
  };
  for (const name of WRITES) {
    sealed[name] = method((...args) => {
      onLateWrite(name);
      const callback = args.at(-1);
      if (typeof callback === 'function') nextTick(callback);
      if (name === 'write') return true;
      late.tell(ENDS);
      return res;
    });
  }
  for (const name of CHAINED) sealed[name] = method(() => res);
  for (const name of SILENT) sealed[name] = method(() => undefined);
  // One that was made up may have fewer methods, or be frozen.
  for (const [name, descriptor] of Object.entries(sealed)) {
    if (name in res) Reflect.defineProperty(res, name, descriptor);
  }
}

/** The end of a response as those hear it who come too late for its own. */
class LateEnd {
  #connection;
  #res;
  /** By event that has passed, those who were there. @type {Map<string, Function[]>} */
  #heard = new Map();
  #waitsForClient = false;

  /**
   * @param {any} connection
   * @param {import('node:http').ServerResponse} res
   */
  constructor(connection, res) {
    this.#connection = connection;
    this.#res = res;
    if (res.writableFinished) this.#passed('finish');
  }

  /** @param {any[]} args Of an event. */
  emitted([event, ...args]) {
    if (event === 'newListener') this.#added(args[0]);
    else if (event === 'finish') this.#passed('finish');
    else if (event === 'close') {
      // Whoever was there has seen that it was not handed over.
      if (!this.#heard.has('finish')) this.#passed('finish');
      this.#passed('close');
    }
  }

  /**
   * The handler has ended the response.
   *
   * @param {readonly ('finish' | 'close')[]} events
   */
  tell(events) {
    nextTick(() => {
      for (const event of events) {
        const heard = this.#heard.get(event);
        // Otherwise the event itself has yet to come.
        if (heard === undefined) continue;
        const late = this.#listeners(event).filter((listener) => !heard.includes(listener));
        this.#passed(event);
        for (const listener of late) Reflect.apply(listener, this.#res, []);
      }
    });
  }

  /** @param {'finish' | 'close'} event */
  #passed(event) {
    this.#heard.set(event, this.#listeners(event));
  }

  /** @param {string} event @returns {Function[]} Of a response that was made up, perhaps none. */
  #listeners(event) {
    return this.#res.rawListeners?.(event) ?? [];
  }

  /** One who waits for the client to leave: it still may. @param {string} event */
  #added(event) {
    if (event !== 'close' || this.#waitsForClient || !this.#heard.has('close')) return;
    this.#waitsForClient = true;
    watch(this.#connection, { closed: () => this.tell(['close']) });
  }
}

/** @param {(...args: any[]) => unknown} value */
const method = (value) => ({ value, writable: true, configurable: true });

module.exports = { seal };
