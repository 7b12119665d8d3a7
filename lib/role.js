'use strict';

/** What an execution's promise settles with. */
const VALUE = 0;
const OUTCOME = 1;

/** What the executions of one place in a pipeline have in common. */
class Role {
  /**
   * @param {object} role
   * @param {import('./segment.js').Segment | undefined} role.segment The gates that it enters.
   * @param {boolean} role.ambient Whether the callback runs in the context's AsyncLocalStorage scope.
   * @param {boolean} role.nested Whether the callback gives an outcome: that of the strategies further in.
   * @param {import('./telemetry.js').Telemetry} role.telemetry Of the pipeline.
   * @param {0 | 1} role.form `VALUE` or `OUTCOME`.
   * @param {boolean} [role.isTold] Whether a stream hears of the end in place of a promise.
   */
  constructor({ segment, ambient, nested, telemetry, form, isTold = false }) {
    this.segment = segment;
    this.ambient = ambient;
    this.nested = nested;
    this.telemetry = telemetry;
    this.form = form;
    this.isTold = isTold;
  }
}

module.exports = { OUTCOME, Role, VALUE };
