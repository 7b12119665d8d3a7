'use strict';

// Calls that wait for themselves: each holds a permit of a limiter, and waits for a call further in that waits for
// one. It is looked for when somebody has to wait inside of a holder, and told if it lasts.

const { ResilienceContext } = require('./context.js');
const { executions } = require('./dispatch.js');
const { WAITING } = require('./execution-state.js');
const { now } = require('./timer.js');
const { setTimeout } = require('./turn.js');

/** @typedef {import('./execution.js').Execution} Execution */
/** @typedef {import('./segment.js').Segment} Segment */

/** A call further in that nobody waits for lets those around it end: that is seen after a while. */
const WHILE_MS = 250;

/**
 * A segment in which an execution waits inside of one that holds its permits.
 *
 * @type {WeakMap<Segment, { since: number, isTold: boolean, isLooking: boolean }>}
 */
const suspects = new WeakMap();

/**
 * What holds permits of a segment around an execution.
 *
 * @param {Execution} execution
 * @param {Segment} segment
 * @param {Set<ResilienceContext>} [holders] Those found already.
 */
function holdersAround({ context }, segment, holders = new Set()) {
  ResilienceContext.visitAround(context, (around, holds) => {
    const owner = 'role' in holds ? /** @type {Execution} */ (holds).role.segment : /** @type {any} */ (holds).segment;
    if (owner !== segment) return;
    if (!('role' in holds) || /** @type {Execution} */ (holds).state !== WAITING) holders.add(around);
  });
  return holders;
}

/**
 * An execution has to wait for a permit.
 *
 * @param {Execution} execution
 * @param {Segment} segment
 */
function noteWait(execution, segment) {
  let suspect = suspects.get(segment);
  if (suspect?.isTold || holdersAround(execution, segment).size === 0) return;
  if (suspect === undefined) {
    suspect = { since: 0, isTold: false, isLooking: false };
    suspects.set(segment, suspect);
  }
  suspect.since = now();
  if (!suspect.isLooking) lookIn(segment, suspect, whileOf(execution, segment));
}

/**
 * Not after it has ended by itself.
 *
 * @param {Execution} execution
 * @param {Segment} segment
 */
function whileOf({ context }, segment) {
  const waits = segment.gates.map(({ queueTimeoutMs = Infinity }) => queueTimeoutMs);
  return Math.min(WHILE_MS, Math.min(context.remaining ?? Infinity, ...waits) / 2);
}

/**
 * @param {Segment} segment
 * @param {{ since: number, isTold: boolean, isLooking: boolean }} suspect
 * @param {number} ms
 */
function lookIn(segment, suspect, ms) {
  suspect.isLooking = true;
  setTimeout(() => {
    suspect.isLooking = false;
    // Others have begun to wait since.
    const missing = ms - (now() - suspect.since);
    if (missing > 1) lookIn(segment, suspect, missing);
    else tellIfStuck(segment, suspect);
  }, ms);
}

/**
 * @param {Segment} segment
 * @param {{ isTold: boolean }} suspect
 */
function tellIfStuck(segment, suspect) {
  /** @type {Set<ResilienceContext>} */
  const holders = new Set();
  for (const execution of executions) {
    const waits = execution?.role.segment === segment && execution.state === WAITING;
    if (waits) holdersAround(execution, segment, holders);
  }
  const limiter = segment.gates.find(({ view }) => {
    const { inflight, queued } = /** @type {{ inflight?: number, queued?: number }} */ (view);
    return inflight !== undefined && queued !== undefined && queued > 0 && holders.size >= inflight;
  });
  if (limiter === undefined || segment.disposed) return;
  suspect.isTold = true;
  const { pipelineName } = segment.telemetry;
  const where = pipelineName === undefined ? 'a pipeline without a name' : `the pipeline '${pipelineName}'`;
  const held = holders.size === 1 ? ['The only permit', 'is'] : [`All ${holders.size} permits`, 'are'];
  process.emitWarning(
    `${held[0]} of '${limiter.name}' in ${where} ${held[1]} held by calls that wait, further in, for one of the same ` +
      'limiter: give the calls further in a pipeline of their own.',
    { code: 'RESILIENCE_SELF_WAIT' },
  );
}

module.exports = { noteWait };
