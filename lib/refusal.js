'use strict';

// The errors of refusals. Under overload they are many, and each says where it comes from by its properties: they
// carry no stack, which would be most of their price, and that of an outcome is made when it is read.

const { Failure } = require('./outcome.js');

/** @typedef {import('./segment.js').Gate} Gate */

/**
 * @param {Gate} gate
 * @param {import('./segment.js').Refusal} refusal
 * @returns {Error}
 */
function makeError({ refuse }, refusal) {
  const make = /** @type {NonNullable<Gate['refuse']>} */ (refuse);
  return withoutStack(() => make(refusal));
}

/**
 * @template T
 * @param {() => T} make
 */
function withoutStack(make) {
  const limit = Error.stackTraceLimit;
  if (typeof limit !== 'number') return make();
  try {
    Error.stackTraceLimit = 0;
  } catch {
    // It is frozen.
    return make();
  }
  try {
    return make();
  } finally {
    Error.stackTraceLimit = limit;
  }
}

/**
 * What an error says of the time until the gate may let one in again.
 *
 * @param {number} ms NaN if nobody knows.
 */
const wholeMs = (ms) => (Number.isNaN(ms) ? undefined : Math.max(Math.ceil(ms), 1));

class OutcomeRefusal extends Failure {
  /** The error, once it was read. @type {Error | undefined} */
  #error;
  #gate;
  #refusal;

  /**
   * @param {Gate} gate
   * @param {import('./segment.js').Refusal} refusal
   */
  constructor(gate, refusal) {
    super();
    this.#gate = gate;
    this.#refusal = refusal;
    /** An own property, as that of any outcome. @type {Error} */
    this.error;
    Object.defineProperty(this, 'error', OutcomeRefusal.#property);
  }

  static #property = {
    /** @this {OutcomeRefusal} */
    get() {
      return (this.#error ??= makeError(this.#gate, this.#refusal));
    },
    enumerable: true,
    configurable: true,
  };
}

module.exports = { OutcomeRefusal, makeError, wholeMs, withoutStack };
