'use strict';

// How an execution enters its segment: what it tells the first gate, and what comes of the core's answer.

const { CallerScope, CallerStores } = require('./caller-stores.js');
const { ResilienceContext } = require('./context.js');
const { PLACE, REASONS, afterCall, executions } = require('./dispatch.js');
const { InternalError, PipelineDisposedError } = require('./errors.js');
const { LENT, SETTLED, WAITING } = require('./execution-state.js');
const { ACTIVE, QUEUED, REASONS_OF_GATE, RETRY_AFTER, channel, enter, exit, hot, report } = require('./native.js');
const { NO_SAMPLES } = require('./segment.js');
const { noteWait } = require('./self-wait.js');
const { setClock } = require('./timer.js');
const { withoutStack } = require('./refusal.js');
const { refused, timedOut } = require('./turned-away.js');

/** @typedef {import('./execution.js').Execution} Execution */
/** @typedef {import('./segment.js').Segment} Segment */

/**
 * @param {Execution} execution
 * @param {Segment} segment
 */
function beginEntry(execution, segment) {
  const answer = execution.rare === undefined ? 0 : takeAnswer(execution.rare);
  if (answer !== 0) follow(execution, segment, answer);
  else if (segment.parameter === undefined) go(execution, segment, NaN);
  else compute(execution, segment, segment.parameter);
}

/**
 * What the core has said already when it was asked for a stream's execution; 0 if it was not asked.
 *
 * @param {NonNullable<Execution['rare']>} rare
 */
function takeAnswer(rare) {
  const { stream } = rare;
  const answer = stream?.takeAnswer?.() ?? 0;
  if (answer !== 0) rare.parameter = stream?.parameter;
  return answer;
}

/**
 * @param {Execution} execution
 * @param {Segment} segment
 * @param {(context: any) => unknown} parameterOf
 */
function compute(execution, segment, parameterOf) {
  const proceed = (/** @type {any} */ parameter) => {
    if (execution.state === SETTLED) return;
    execution.more.parameter = parameter;
    const { timeoutMs } = segment.gates[0];
    if (timeoutMs !== undefined && parameter <= 0) timedOut(execution, 0);
    else go(execution, segment, parameter ?? NaN);
  };
  const fail = (/** @type {unknown} */ error) => {
    if (execution.state !== SETTLED) execution.settle(false, error, false);
  };
  try {
    const value = parameterOf(execution.context);
    if (value instanceof Promise) value.then(proceed).catch(fail);
    else proceed(value);
  } catch (error) {
    fail(error);
  }
}

/**
 * @param {Execution} execution
 * @param {Segment} segment
 * @param {number} parameter NaN for none.
 */
function go(execution, segment, parameter) {
  if (segment.disposed) {
    const { pipelineName } = segment.telemetry;
    execution.settle(false, withoutStack(() => new PipelineDisposedError({ pipelineName })), false);
  } else {
    follow(execution, segment, ask(segment, parameter));
  }
}

/**
 * Asks the core to let an execution in. `afterCall` has to follow.
 *
 * @param {Segment} segment
 * @param {number} parameter NaN for none.
 * @returns {number} A ticket to run, `LENT`, minus a ticket to wait, minus the code of a refusal, or NaN.
 */
function ask(segment, parameter) {
  if (segment.permits > 0) {
    segment.permits -= 1;
    return LENT;
  }
  setClock();
  const answer = enter(segment.key, parameter);
  if (!(answer > 0) || answer > PLACE) return answer;
  segment.permits = answer - 1;
  return LENT;
}

/**
 * @param {Execution} execution
 * @param {Segment} segment
 * @param {number} answer Of `ask`.
 */
function follow(execution, segment, answer) {
  if (!(answer > 0)) {
    stay(execution, segment, answer);
    return;
  }
  execution.ticket = answer;
  if (answer !== LENT) {
    executions[answer & PLACE] = execution;
    if (segment.hasDeadline || !ResilienceContext.isAlone(execution.context)) {
      keepScope(execution, segment.hearsEnds || segment.telemetry.hearsEnds());
    }
  }
  afterCall();
  // Effects of the call may have run user code that aborted this execution.
  if (execution.state === WAITING) execution.run();
}

/**
 * It does not come in, or not yet.
 *
 * @param {Execution} execution
 * @param {Segment} segment
 * @param {number} answer Of `ask`.
 */
function stay(execution, segment, answer) {
  if (answer < -PLACE) {
    segment.contended = true;
    execution.ticket = -answer;
    executions[execution.ticket & PLACE] = execution;
    execution.stores = new CallerStores(execution);
    keepScope(execution, segment.hearsEnds || segment.telemetry.hearsWaits());
    afterCall();
    if (execution.state === WAITING) noteWait(execution, segment);
  } else if (answer < 0) {
    const { gate, reason, active, queued, retryAfterMs } = readRefusal(answer);
    afterCall();
    if (execution.state === WAITING) refused(execution, gate, reason, active, queued, retryAfterMs);
  } else {
    const error = new InternalError(hot.fault());
    afterCall();
    execution.settle(false, error, false);
  }
}

/**
 * Keeps the stores of the caller, if somebody hears how others end the execution.
 *
 * @param {Execution} execution
 * @param {boolean} isHeard
 */
function keepScope(execution, isHeard) {
  if (isHeard || execution.rare?.stream?.isHeard) execution.more.caller = new CallerScope();
}

/** @param {number} answer Of `ask`. */
const isRefusal = (answer) => answer < 0 && answer >= -PLACE;

/**
 * What the core says of a refusal, before the next call.
 *
 * @param {number} answer Of `ask`.
 */
function readRefusal(answer) {
  return {
    gate: Math.floor(-answer / REASONS_OF_GATE),
    reason: REASONS[-answer % REASONS_OF_GATE],
    active: channel[ACTIVE],
    queued: channel[QUEUED],
    retryAfterMs: channel[RETRY_AFTER],
  };
}

/**
 * Gives back what an answer has let in, when no execution comes to take it.
 *
 * @param {Segment} segment
 * @param {number} answer Of `ask`.
 */
function returnAnswer(segment, answer) {
  if (answer === LENT) segment.giveBack();
  else if (Math.abs(answer) > PLACE) report(exit(Math.abs(answer), NO_SAMPLES));
  afterCall();
}

module.exports = { ask, beginEntry, isRefusal, readRefusal, returnAnswer };
