'use strict';

// Callbacks of a pipeline that go on although their execution has ended: a deadline has passed, or their caller has
// left. Their permits are back, so that they run beside those whom the limit lets in.

const { setImmediate } = require('./turn.js');

/** @typedef {import('./execution.js').Execution} Execution */

class Abandoned {
  /** How many there are. */
  count = 0;
  #telemetry;

  /** @param {import('./telemetry.js').Telemetry} telemetry Of the pipeline. */
  constructor(telemetry) {
    this.#telemetry = telemetry;
  }

  /**
   * An execution ends, and its callback does not.
   *
   * @param {Execution} execution
   */
  add(execution) {
    this.count += 1;
    execution.more.isAbandoned = true;
  }

  /**
   * Tells of it, unless it heeds its signal and ends at once.
   *
   * @param {Execution} execution
   */
  tellSoon(execution) {
    if (this.#telemetry.hears('OnAbandoned')) setImmediate(() => this.#tell(execution));
  }

  /** The callback has ended as well. @param {Execution} execution */
  delete(execution) {
    this.count -= 1;
    execution.more.isAbandoned = false;
  }

  /** @param {Execution} execution */
  #tell({ context, rare }) {
    if (!rare?.isAbandoned) return;
    const { reason } = context.signal;
    this.#telemetry.emit('OnAbandoned', undefined, context, { context, reason, abandoned: this.count });
  }
}

module.exports = { Abandoned };
