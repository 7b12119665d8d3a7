'use strict';

// A run of adjacent gates, compiled into one native object. What users gave for each gate (callbacks, names)
// stays here; what decides is native.

const { CLOSED, MAX_GATES, binding, channel, giveBack, guard, hot, report, thread } = require('./native.js');
const { immediate, typeError } = require('./options.js');
const { setClock } = require('./timer.js');

/**
 * A gate as its strategy makes it for one pipeline.
 *
 * @typedef {object} Gate
 * @property {string} name
 * @property {object} view What `getStrategy` returns.
 * @property {(builder: InstanceType<typeof binding.ResiliencePipelineBuilder>) => void} addTo
 * @property {((context: any) => unknown) | undefined} [parameter] Computes what an execution tells the native
 *   gate on entry. The gate is then the first of its segment, so that it runs when the execution gets there.
 * @property {Judge} [judge] What the gate learns from outcomes.
 * @property {boolean} [measures] Whether it learns from latency.
 * @property {(refusal: Refusal) => Error} [refuse] Makes the error of an execution that it turned away.
 * @property {boolean} [lends] Whether the core lends its permits when it is alone in its segment.
 * @property {boolean} [isLimiter] Whether its refusals are told as those of a limiter.
 * @property {boolean} [hears] Whether other functions of the user's hear how executions end.
 * @property {((args: any) => unknown) | undefined} [onRejected]
 * @property {((args: any) => unknown) | undefined} [onTimeout]
 * @property {(args: any) => void} [onLimitChanged]
 * @property {{ onSample(sample: any): number } | undefined} [algorithm] One that runs in JavaScript.
 * @property {((context: any) => unknown) | undefined} [operation] Tells the kind of a call.
 * @property {import('./operation-keys.js').OperationKeys | undefined} [operations] Their numbers.
 * @property {number} [exactLimit] The limit with its fraction, as that algorithm last left it.
 * @property {Circuit} [circuit] Hears of its changes of state.
 * @property {() => void} [keyEvicted] Hears that it forgot a key for want of room.
 * @property {(place: GatePlace) => void} [attach] Gives the gate access to its live state.
 * @property {number} [timeoutMs]
 * @property {number} [queueTimeoutMs]
 * @property {number} [abandoned]
 */

/**
 * Where a gate is. Whoever holds it keeps the native gate alive.
 *
 * @typedef {{ segment: number, gate: number, owner: Segment }} GatePlace
 */

/**
 * @typedef {object} Judge
 * @property {string} option The name of the predicate.
 * @property {(args: any) => boolean} meets Whether the outcome is a drop, or a failure to the gate.
 * @property {boolean} judgesSuccess Whether a success can be one.
 * @property {number} otherwise What a failure says that is none.
 */

/**
 * @typedef {object} Refusal
 * @property {string} reason
 * @property {number} active
 * @property {number} queued
 * @property {number | undefined} retryAfter
 * @property {string | undefined} pipelineName
 * @property {string} strategyName
 */

/**
 * @typedef {object} Circuit
 * @property {(by: import('./dispatch.js').Departed | undefined, opening: { epoch: number, breakMs: number,
 *   failureRate: number, failureCount: number, halfOpenAttempts: number }) => void} opened
 * @property {(context: import('./context.js').ResilienceContext) => void} halfOpened
 * @property {(by: import('./dispatch.js').Departed | undefined) => void} closed
 */

/** What a gate learns from an execution, in two bits: zero is a success. */
const DROP = 1;
const NO_SAMPLE = 2;
const UNHANDLED = 3;
/** "No sample" for every gate. */
const NO_SAMPLES = 0xaaa;
/** Where the kind of operation begins, above the bits of the gates. */
const OPERATION = 2 ** (2 * MAX_GATES);
/** Above that: the callback had ended when it returned. */
const AT_ONCE = OPERATION * 2 ** 9;

/** Segments by native key, for effects that name one. @type {Map<number, WeakRef<Segment>>} */
const segments = new Map();

/** @type {FinalizationRegistry<number>} */
const collected = new FinalizationRegistry((key) => {
  segments.delete(key);
  if (channel[CLOSED] === 0) report(hot.remove(key));
});

class Segment {
  disposed = false;
  /**
   * Permits of a fixed limiter that is alone in its segment, lent by the core: while nobody waits they are
   * taken and given back here, without a crossing.
   */
  permits = 0;
  /**
   * The epoch of a circuit breaker that is alone in its segment and closed; below zero if it is not closed, and
   * undefined until the core is asked.
   *
   * @type {number | undefined}
   */
  epoch = undefined;
  /** Whether somebody may wait for a permit: then none is given back here. */
  contended = false;

  /**
   * @param {Gate[]} gates
   * @param {import('./telemetry.js').Telemetry} telemetry
   */
  constructor(gates, telemetry) {
    this.key = guard(() => {
      const builder = new binding.ResiliencePipelineBuilder();
      for (const gate of gates) gate.addTo(builder);
      return builder.build(thread);
    });
    this.gates = gates;
    this.telemetry = telemetry;
    this.parameter = gates[0].parameter;
    /** Whether the core lends its permits. */
    this.lends = gates.length === 1 && gates[0].lends === true && this.parameter === undefined;
    this.isCircuitAlone = gates.length === 1 && gates[0].circuit !== undefined && !gates[0].measures;
    this.hasDeadline = gates.some((gate) => gate.timeoutMs !== undefined);
    /** Whether functions of the user's hear of executions that something else than their callback has ended. */
    this.hearsEnds = gates.some(({ hears, onRejected, onTimeout }) => hears || onRejected || onTimeout);
    /** Indexes of the gates that learn from outcomes. */
    this.learners = gates.flatMap((gate, index) => (gate.judge === undefined ? [] : [index]));
    this.judgesSuccess = gates.some(({ judge }) => judge?.judgesSuccess);
    this.measures = gates.some(({ measures }) => measures);
    this.teller = gates.find(({ operation }) => operation !== undefined);
    segments.set(this.key, new WeakRef(this));
    collected.register(this, this.key);
    gates.forEach((gate, index) => gate.attach?.({ segment: this.key, gate: index, owner: this }));
  }

  /**
   * What each gate learns from an outcome, two bits a gate.
   *
   * @param {import('./outcome.js').AnyOutcome} outcome
   * @param {import('./context.js').ResilienceContext} context
   */
  outcomes(outcome, context) {
    let bits = 0;
    for (const index of this.learners) {
      const { name, judge } = this.gates[index];
      const { option, meets, otherwise } = /** @type {Judge} */ (judge);
      let verdict = outcome.ok ? 0 : otherwise;
      try {
        if (meets({ outcome, context })) verdict = DROP;
      } catch (error) {
        verdict = NO_SAMPLE;
        this.telemetry.reportError(name, option, error, context);
      }
      bits |= verdict << (2 * index);
    }
    return bits;
  }

  /**
   * What the gates learn, with the kind of operation on top if there is a sample to have it. If the user's
   * function fails, there is no kind.
   *
   * @param {number} outcomes
   * @param {import('./context.js').ResilienceContext} context
   */
  withOperation(outcomes, context) {
    const teller = /** @type {Required<Gate>} */ (this.teller);
    // UNHANDLED has this bit, too.
    if (((outcomes >> (2 * this.gates.indexOf(teller))) & NO_SAMPLE) !== 0) return outcomes;
    const { name, operation, operations } = teller;
    try {
      const key = immediate('operation', 'a string or undefined', operation(context));
      if (key !== undefined && typeof key !== 'string') {
        throw typeError('the result of operation', 'a string or undefined', key);
      }
      return outcomes + (operations.numberOf(key) + 1) * OPERATION;
    } catch (error) {
      this.telemetry.reportError(name, 'operation', error, context);
      return outcomes;
    }
  }

  /**
   * Takes a lent permit back.
   *
   * @returns {boolean} Whether that was a call into the core.
   */
  giveBack() {
    if (!this.contended) {
      this.permits += 1;
      return false;
    }
    setClock();
    const waits = giveBack(this.key);
    // No call but after a failure: the permit is back, and a full stack must not make it seem lost.
    if (waits === waits) this.contended = waits === 1;
    else report(waits);
    return true;
  }

  dispose() {
    this.disposed = true;
    report(hot.dispose(this.key));
  }

  /** @param {number} key */
  static find(key) {
    return segments.get(key)?.deref();
  }
}

/**
 * Whether a gate cannot join a run: it is told something on entry, or one of two that learn from latency wants to
 * know the kind of operation, of which there is one at the exit.
 *
 * @param {Gate} gate
 * @param {Gate[]} run
 */
const mustBegin = (gate, run) =>
  gate.parameter !== undefined ||
  (gate.measures && run.some((other) => other.measures && (other.operation ?? gate.operation) !== undefined));

/**
 * Cuts a run of gates where a segment has to end.
 *
 * @param {Gate[]} gates
 * @returns {Gate[][]}
 */
function cut(gates) {
  /** @type {Gate[][]} */
  const runs = [];
  for (const gate of gates) {
    const run = runs.at(-1);
    if (run === undefined || run.length === MAX_GATES || mustBegin(gate, run)) runs.push([gate]);
    else run.push(gate);
  }
  return runs;
}

module.exports = { AT_ONCE, NO_SAMPLE, NO_SAMPLES, Segment, UNHANDLED, cut };
