'use strict';

const { notUsable, skillsOf } = require('../copies.js');
const { afterCall } = require('../dispatch.js');
const { BrokenCircuitError, IsolatedCircuitError } = require('../errors.js');
const { check, hot } = require('../native.js');
const {
  callback,
  immediate,
  integer,
  name: readName,
  number,
  oneOf,
  positiveDuration,
  readOptions,
  show,
  typeError,
} = require('../options.js');
const { Segment, UNHANDLED } = require('../segment.js');
const { Strategy, recallable } = require('../strategy.js');
const { setClock } = require('../timer.js');

const OPTIONS = /** @type {const} */ ([
  'failureRatio',
  'minimumThroughput',
  'samplingDuration',
  'breakDuration',
  'breakDurationGenerator',
  'halfOpenProbes',
  'slowCallDuration',
  'slowCallRatio',
  'consecutiveFailures',
  'shouldHandle',
  'onOpened',
  'onClosed',
  'onHalfOpened',
  'manualControl',
  'stateProvider',
  'name',
]);
/** In the order of the native codes. */
const STATES = /** @type {const} */ (['closed', 'open', 'half-open', 'isolated']);
const RATIO = /** @type {const} */ ([
  'above 0 and at most 1',
  (/** @type {number} */ value) => value > 0 && value <= 1,
]);

/**
 * Refuses executions for a while after too many have failed.
 *
 * @param {unknown} [options] `CircuitBreakerOptions`.
 */
function circuitBreakerStrategy(options = {}) {
  const settings = readSettings(readOptions('addCircuitBreaker', options, OPTIONS));
  return new Strategy({ gate: () => makeGate(settings) });
}

/** @param {Partial<Record<(typeof OPTIONS)[number], any>>} read */
function readSettings(read) {
  const {
    failureRatio = 0.1,
    minimumThroughput = 100,
    samplingDuration = 30_000,
    breakDuration = 5000,
    halfOpenProbes = 1,
    slowCallDuration,
    slowCallRatio = 1,
    consecutiveFailures,
    manualControl,
    stateProvider,
  } = read;
  if (read.slowCallRatio !== undefined && slowCallDuration === undefined) {
    const given = show({ slowCallRatio });
    throw new TypeError(`addCircuitBreaker takes slowCallRatio only together with slowCallDuration, not ${given}`);
  }
  const controlSkills = skillsFor('manualControl', 'CircuitBreakerManualControl', manualControl);
  const providerSkills = skillsFor('stateProvider', 'CircuitBreakerStateProvider', stateProvider);
  return {
    failureRatio: number('failureRatio', failureRatio, ...RATIO),
    minimumThroughput: integer('minimumThroughput', minimumThroughput, 1),
    samplingMs: positiveDuration('samplingDuration', samplingDuration),
    breakMs: positiveDuration('breakDuration', breakDuration),
    halfOpenProbes: integer('halfOpenProbes', halfOpenProbes, 1),
    slowCallMs:
      slowCallDuration === undefined ? Infinity : positiveDuration('slowCallDuration', slowCallDuration),
    slowCallRatio: number('slowCallRatio', slowCallRatio, ...RATIO),
    consecutiveFailures:
      consecutiveFailures === undefined ? 0 : integer('consecutiveFailures', consecutiveFailures, 1),
    breakDurationGenerator: callback('breakDurationGenerator', read.breakDurationGenerator),
    shouldHandle: callback('shouldHandle', read.shouldHandle),
    onOpened: callback('onOpened', read.onOpened),
    onClosed: callback('onClosed', read.onClosed),
    onHalfOpened: callback('onHalfOpened', read.onHalfOpened),
    /** @type {((owner: object, handle: import('../circuit-control.js').Handle) => void) | undefined} */
    controlBy: controlSkills && ((owner, handle) => controlSkills.controlBy(manualControl, owner, handle)),
    /** @type {((read: () => string) => boolean) | undefined} */
    provideTo: providerSkills && ((read) => providerSkills.provideTo(stateProvider, read)),
    name: readName('name', read.name, 'CircuitBreaker'),
  };
}

/**
 * What can be done with a control or a provider, of whichever copy of the package.
 *
 * @param {string} option
 * @param {string} kind
 * @param {unknown} value
 */
function skillsFor(option, kind, value) {
  if (value === undefined) return undefined;
  const skills = skillsOf(value, kind);
  if (skills === undefined) throw notUsable(option, `a ${kind}`, value, kind);
  return skills;
}

/**
 * @param {ReturnType<typeof readSettings>} settings
 * @returns {import('../segment.js').Gate}
 */
function makeGate(settings) {
  const { name, shouldHandle, controlBy, provideTo } = settings;
  const { onOpened, onClosed, onHalfOpened, breakDurationGenerator } = settings;
  const circuit = new LiveCircuit(settings);
  return {
    name,
    judge: {
      option: 'shouldHandle',
      meets:
        shouldHandle === undefined
          ? ({ outcome }) => !outcome.ok
          : (args) => immediate('shouldHandle', 'a boolean', shouldHandle(args)),
      judgesSuccess: shouldHandle !== undefined,
      otherwise: UNHANDLED,
    },
    hears: [shouldHandle, onOpened, onClosed, onHalfOpened, breakDurationGenerator].some((of) => of !== undefined),
    measures: settings.slowCallMs !== Infinity,
    refuse: ({ reason, retryAfter, pipelineName, strategyName }) =>
      reason === 'isolated'
        ? new IsolatedCircuitError({ pipelineName, strategyName })
        : new BrokenCircuitError({ retryAfter, pipelineName, strategyName }),
    circuit,
    addTo: (builder) =>
      builder.addCircuitBreaker(
        settings.failureRatio,
        settings.minimumThroughput,
        settings.samplingMs,
        settings.breakMs,
        settings.halfOpenProbes,
        settings.slowCallMs,
        settings.slowCallRatio,
        settings.consecutiveFailures,
      ),
    attach: (place) => {
      circuit.place = place;
      if (provideTo !== undefined && !provideTo(() => circuit.state)) {
        throw new TypeError('stateProvider is attached to another circuit breaker already');
      }
      const { segment, gate, owner } = place;
      controlBy?.(owner, handleOf(segment, gate, owner.telemetry, settings));
    },
    view: {
      name,
      get state() {
        return circuit.state;
      },
      exportState: () => circuit.export(),
      /** @param {unknown} saved */
      restoreState: (saved) => circuit.restore(saved),
    },
  };
}

/** What JavaScript has of a native breaker. */
class LiveCircuit {
  /** @type {import('../segment.js').GatePlace | undefined} */
  place;
  #settings;

  /** @param {ReturnType<typeof readSettings>} settings */
  constructor(settings) {
    this.#settings = settings;
  }

  get #telemetry() {
    return /** @type {import('../segment.js').GatePlace} */ (this.place).owner.telemetry;
  }

  get state() {
    return STATES[this.#ask('circuit')];
  }

  /**
   * @param {import('../dispatch.js').Departed | undefined} by
   * @param {Parameters<import('../segment.js').Circuit['opened']>[1]} opening
   */
  opened(by, { epoch, breakMs, failureRate, failureCount, halfOpenAttempts }) {
    const { name, breakDurationGenerator: generate, onOpened } = this.#settings;
    const telemetry = this.#telemetry;
    const { outcome, context } = by ?? {};
    let breakDuration = breakMs;
    if (generate !== undefined) {
      try {
        const generated = generate({ failureRate, failureCount, halfOpenAttempts, context });
        const option = 'the result of breakDurationGenerator';
        breakDuration = positiveDuration(option, immediate('breakDurationGenerator', 'a duration', generated));
        this.#tell('setBreak', epoch, breakDuration);
      } catch (error) {
        telemetry.reportError(name, 'breakDurationGenerator', error, context);
      }
    }
    const args = { outcome, context, breakDuration, isManual: false };
    telemetry.emit('OnCircuitOpened', name, context, args);
    telemetry.notify(name, 'onOpened', onOpened, args);
  }

  /** @param {import('../context.js').ResilienceContext} context */
  halfOpened(context) {
    const { name, onHalfOpened } = this.#settings;
    this.#telemetry.emit('OnCircuitHalfOpened', name, context, { context });
    this.#telemetry.notify(name, 'onHalfOpened', onHalfOpened, { context });
  }

  /** @param {import('../dispatch.js').Departed | undefined} by */
  closed(by) {
    const { name, onClosed } = this.#settings;
    const { outcome, context } = by ?? {};
    const args = { outcome, context, isManual: false };
    this.#telemetry.emit('OnCircuitClosed', name, context, args);
    this.#telemetry.notify(name, 'onClosed', onClosed, args);
  }

  export() {
    const { state } = this;
    return { state, breakRemaining: this.#ask('breakRemaining'), exportedAt: Date.now() };
  }

  /** @param {unknown} saved */
  restore(saved) {
    const { state, breakRemaining, exportedAt } = readOptions('restoreState', saved, [
      'state',
      'breakRemaining',
      'exportedAt',
    ]);
    const code = STATES.indexOf(oneOf('state', state, STATES));
    number('breakRemaining', breakRemaining, 'of at least 0', (value) => value >= 0);
    number('exportedAt', exportedAt, 'of at least 0', (value) => value >= 0);
    // Clamped: a wall clock that was set back must not lengthen the break.
    const gone = Math.min(Math.max(Date.now() - exportedAt, 0), breakRemaining);
    this.#tell('restore', code, breakRemaining - gone);
  }

  /** @param {'circuit' | 'breakRemaining'} what */
  #ask(what) {
    const { segment, gate } = /** @type {import('../segment.js').GatePlace} */ (this.place);
    setClock();
    return check(hot[what](segment, gate));
  }

  /**
   * @param {'setBreak' | 'restore'} what
   * @param {number} first
   * @param {number} second
   */
  #tell(what, first, second) {
    const { segment, gate, owner } = /** @type {import('../segment.js').GatePlace} */ (this.place);
    setClock();
    owner.epoch = undefined;
    check(hot[what](segment, gate, first, second));
    afterCall();
  }
}

/**
 * What a control has of a breaker. Made in a scope that does not see `place`, through which closures would hold
 * the pipeline: a control of many must not keep them all alive.
 *
 * @param {number} segment
 * @param {number} gate
 * @param {import('../telemetry.js').Telemetry} telemetry
 * @param {ReturnType<typeof readSettings>} settings
 */
function handleOf(segment, gate, telemetry, settings) {
  return {
    isolate: () => moveByHand('isolate', segment, gate, telemetry, settings),
    close: () => moveByHand('close', segment, gate, telemetry, settings),
  };
}

/**
 * @param {'isolate' | 'close'} how
 * @param {number} segment
 * @param {number} gate
 * @param {import('../telemetry.js').Telemetry} telemetry
 * @param {ReturnType<typeof readSettings>} settings
 */
function moveByHand(how, segment, gate, telemetry, { name, onOpened, onClosed }) {
  setClock();
  const owner = Segment.find(segment);
  if (owner !== undefined) owner.epoch = undefined;
  const moved = check(hot[how](segment, gate));
  afterCall();
  if (moved === 0) return;
  const args = { outcome: undefined, context: undefined, isManual: true };
  if (how === 'isolate') {
    const opened = { ...args, breakDuration: Infinity };
    telemetry.emit('OnCircuitOpened', name, undefined, opened);
    telemetry.notify(name, 'onOpened', onOpened, opened);
  } else {
    telemetry.emit('OnCircuitClosed', name, undefined, args);
    telemetry.notify(name, 'onClosed', onClosed, args);
  }
}

module.exports = { circuitBreakerStrategy: recallable('circuitBreakerStrategy', circuitBreakerStrategy) };
