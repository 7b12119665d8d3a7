'use strict';

// A run of adjacent gates, compiled into one native object. What users gave for each gate (callbacks, names)
// stays here; what decides is native.

const { defaultShouldDrop } = require('./should-drop.js');
const { MAX_GATES, binding, guard, hot, report, thread } = require('./native.js');

/**
 * A gate as its strategy makes it for one pipeline.
 *
 * @typedef {object} Gate
 * @property {string} name
 * @property {object} view What `getStrategy` returns.
 * @property {(builder: InstanceType<typeof binding.ResiliencePipelineBuilder>) => void} addTo
 * @property {((context: any) => unknown) | undefined} [parameter] Computes what an execution tells the native
 *   gate on entry. The gate is then the first of its segment, so that it runs when the execution gets there.
 * @property {((args: any) => boolean) | undefined} [shouldDrop]
 * @property {((args: any) => unknown) | undefined} [onRejected]
 * @property {((args: any) => unknown) | undefined} [onTimeout]
 * @property {(args: any) => void} [onLimitChanged]
 * @property {{ onSample(sample: any): number } | undefined} [algorithm] One that runs in JavaScript.
 * @property {number} [exactLimit] The limit with its fraction, as that algorithm last left it.
 * @property {(read: Reader) => void} [attach] Gives the gate access to its live state.
 * @property {number} [timeoutMs]
 * @property {number} [abandoned]
 */

/** @typedef {{ segment: number, gate: number }} Reader */

/** Two bits a gate, all of them "no sample". */
const NO_SAMPLES = 0xaaaaaaaa;
const DROP = 1;
const NO_SAMPLE = 2;

/** Segments by native key, for effects that name one. @type {Map<number, WeakRef<Segment>>} */
const segments = new Map();

/** @type {FinalizationRegistry<number>} */
const collected = new FinalizationRegistry((key) => {
  segments.delete(key);
  report(hot.remove(key));
});

class Segment {
  disposed = false;

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
    this.hearsTimeouts = gates.some((gate) => gate.onTimeout !== undefined);
    /** Indexes of the gates that learn from outcomes. */
    this.learners = gates.flatMap((gate, index) => (gate.shouldDrop === undefined ? [] : [index]));
    /** Whether a success can be a drop: the default never finds it one. */
    this.judgesSuccess = gates.some((gate) => (gate.shouldDrop ?? defaultShouldDrop) !== defaultShouldDrop);
    segments.set(this.key, new WeakRef(this));
    collected.register(this, this.key);
    gates.forEach((gate, index) => gate.attach?.({ segment: this.key, gate: index }));
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
      const { name, shouldDrop } = this.gates[index];
      let verdict = outcome.ok ? 0 : NO_SAMPLE;
      try {
        if (/** @type {Function} */ (shouldDrop)({ outcome, context })) verdict = DROP;
      } catch (error) {
        verdict = NO_SAMPLE;
        this.telemetry.reportError(name, 'shouldDrop', error, context);
      }
      bits |= verdict << (2 * index);
    }
    return bits;
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
    if (run === undefined || gate.parameter !== undefined || run.length === MAX_GATES) runs.push([gate]);
    else run.push(gate);
  }
  return runs;
}

module.exports = { NO_SAMPLES, Segment, cut };
