'use strict';

// What ends an execution in place of its callback: a gate that refuses it, and a deadline.

const { TimeoutRejectedError } = require('./errors.js');
const { OutcomeRefusal, makeError, wholeMs } = require('./refusal.js');
const { OUTCOME } = require('./role.js');

/** @typedef {import('./execution.js').Execution} Execution */
/** @typedef {import('./segment.js').Gate} Gate */
/** @typedef {import('./segment.js').Segment} Segment */

/**
 * By a timeout's error, the gate whose deadline ended an execution around other stages. That gate counts the
 * callback which the error reaches further in.
 *
 * @type {WeakMap<object, Gate>}
 */
const abandoners = new WeakMap();

/**
 * The timeout gate behind an error that ends a callback further in; it counts one callback.
 *
 * @param {object} error
 */
function gateBehind(error) {
  const gate = abandoners.get(error);
  abandoners.delete(error);
  return gate;
}

/**
 * A gate turned the execution away.
 *
 * @param {Execution} execution
 * @param {number} index
 * @param {string} reason
 * @param {number} active
 * @param {number} queued
 * @param {number} retryAfterMs NaN if nobody knows.
 */
function refused(execution, index, reason, active, queued, retryAfterMs) {
  const { context, promise, role, stores, ticket } = execution;
  const { gates, telemetry } = /** @type {Segment} */ (role.segment);
  const gate = gates[index];
  const { name, isLimiter, onRejected } = gate;
  const { pipelineName } = telemetry;
  const retryAfter = wholeMs(retryAfterMs);
  const refusal = { reason, active, queued, retryAfter, pipelineName, strategyName: name };
  /** @type {Error | undefined} */
  let error;
  if (ticket === 0 && promise === undefined && role.form === OUTCOME && !role.isTold) {
    execution.promise = Promise.resolve(new OutcomeRefusal(gate, refusal));
  } else {
    error = makeError(gate, refusal);
  }
  if (!isLimiter || (onRejected === undefined && !telemetry.hears('OnRateLimiterRejected'))) {
    execution.settle(false, error, true);
    return;
  }
  const notice = () => {
    telemetry.notify(name, 'onRejected', onRejected, { context, retryAfter, reason });
  };
  stores?.defer(notice);
  execution.settle(false, error, true, false, () => {
    telemetry.emit('OnRateLimiterRejected', name, context, { context, reason, active, queued, retryAfter });
    if (stores === undefined) notice();
  });
}

/**
 * A deadline passed.
 *
 * @param {Execution} execution
 * @param {number} index
 */
function timedOut(execution, index) {
  const { context, rare, role, stores } = execution;
  // Its deadlines are disarmed by now, and its permits held: it goes on.
  if (rare?.stream?.hasBegun()) return;
  const { gates, telemetry } = /** @type {Segment} */ (role.segment);
  const gate = gates[index];
  const { name, onTimeout } = gate;
  const own = gate.parameter === undefined ? gate.timeoutMs : rare?.parameter;
  const timeout = /** @type {number} */ (own);
  const error = new TimeoutRejectedError(timeout, {
    pipelineName: telemetry.pipelineName,
    strategyName: name,
  });
  const notice = () => telemetry.notify(name, 'onTimeout', onTimeout, { context, timeout });
  stores?.defer(notice);
  execution.outlive(true);
  // The callback of a nested execution is the inner stages: the user's is theirs, and is cancelled below.
  if (role.nested) abandoners.set(error, gate);
  else execution.abandon(gate);
  execution.settle(false, error, true, true, () => {
    telemetry.emit('OnTimeout', name, context, { context, timeout });
    if (stores === undefined) notice();
  });
}

module.exports = { gateBehind, refused, timedOut };
