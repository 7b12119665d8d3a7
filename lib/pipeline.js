'use strict';

const { attemptsOf, startOnce, withAttempts } = require('./attempts.js');
const { ClosedCircuit } = require('./closed-circuit.js');
const { ResilienceContext } = require('./context.js');
const { currentContext, storage } = require('./current-context.js');
const { afterCall } = require('./dispatch.js');
const { mark } = require('./copies.js');
const { PipelineDisposedError } = require('./errors.js');
const { createContext } = require('./execute-options.js');
const { Execution, PENDING } = require('./execution.js');
const { FirstAttempt } = require('./first-attempt.js');
const { itemStream } = require('./item-stream.js');
const { Lender } = require('./lent.js');
const { lost, recover } = require('./lost.js');
const { option, typeError } = require('./options.js');
const { Failure, OutcomeFailure, OutcomeSuccess } = require('./outcome.js');
const { rejectSoon } = require('./promises.js');
const { withoutStack } = require('./refusal.js');
const { OUTCOME, Role, VALUE } = require('./role.js');
const { Segment } = require('./segment.js');
const { now } = require('./timer.js');

/** @typedef {import('./outcome.js').AnyOutcome} AnyOutcome */
/** @typedef {import('./execution.js').Callback} Callback */

/**
 * What runs its inside more than once, or replaces its outcome.
 *
 * @typedef {object} Combinator
 * @property {string} name
 * @property {object} view What `getStrategy` returns.
 * @property {boolean} [repeats] Whether it may run its inside more than once.
 * @property {(next: (context: ResilienceContext) => Promise<AnyOutcome>, context: ResilienceContext)
 *   => Promise<AnyOutcome>} execute
 * @property {() => boolean} [passesSuccess] Whether a success of its inside is its own and nobody hears of it.
 *   Then, in place of `execute`, `begin` may be called, its inside started and, if that failed, `goOn`.
 * @property {() => void} [begin]
 * @property {(next: (context: ResilienceContext) => Promise<AnyOutcome>, context: ResilienceContext,
 *   first: AnyOutcome | undefined) => Promise<AnyOutcome>} [goOn]
 */

/** @typedef {Segment | Combinator} Stage */
/** @typedef {import('./execution.js').Stream} Stream */
/** @typedef {Lender | ClosedCircuit | FirstAttempt} Shortcut */

/**
 * Prepares an execution whose end `stream` hears of, so that its context is known before it starts. Once the
 * stream has begun, no deadline of the pipeline ends it.
 *
 * @type {(pipeline: ResiliencePipeline, callback: Callback, options: import('../index.js').ExecuteOptions,
 *   stream: Stream) => Execution}
 */
let prepare;

/**
 * Whether a gate of the pipeline learns from latency.
 *
 * @type {(pipeline: ResiliencePipeline) => boolean}
 */
let measures;

/**
 * Whether it was disposed of.
 *
 * @type {(pipeline: ResiliencePipeline) => boolean}
 */
let isDisposed;

/**
 * Calls `listener` when it is disposed of.
 *
 * @type {(pipeline: ResiliencePipeline, listener: () => void) => void}
 */
let onDisposed;

/**
 * Whether a deadline may end an execution of it.
 *
 * @type {(pipeline: ResiliencePipeline) => boolean}
 */
let hasDeadline;

/**
 * The segment that every execution of a pipeline enters first, if no combinator is around it.
 *
 * @type {(pipeline: ResiliencePipeline) => Segment | undefined}
 */
let firstSegment;

/**
 * Who is told of its events.
 *
 * @type {(pipeline: ResiliencePipeline) => import('./telemetry.js').Telemetry}
 */
let telemetryOf;

/**
 * Whether the pipeline may run a callback more than once.
 *
 * @type {(pipeline: ResiliencePipeline) => boolean}
 */
let repeats;

/** Also false for what only looks like one. @type {(value: object) => boolean} */
let isPipeline;

class ResiliencePipeline {
  static {
    prepare = (pipeline, callback, options, stream) => {
      const context = pipeline.#begin(callback, options);
      return pipeline.#makeExecution(context, callback, options, pipeline.#told, stream);
    };
    isDisposed = (pipeline) => pipeline.#disposed;
    onDisposed = (pipeline, listener) => void pipeline.#disposalListeners.push(listener);
    hasDeadline = (pipeline) => pipeline.#stages.some((stage) => stage instanceof Segment && stage.hasDeadline);
    measures = (pipeline) => pipeline.#stages.some((stage) => stage instanceof Segment && stage.measures);
    firstSegment = (pipeline) => (pipeline.#stages[0] instanceof Segment ? pipeline.#stages[0] : undefined);
    isPipeline = (value) => #stages in value;
    telemetryOf = (pipeline) => pipeline.#telemetry;
    repeats = (pipeline) => pipeline.#stages.some((stage) => !(stage instanceof Segment) && stage.repeats);
  }

  /** Outermost first. @type {readonly Stage[]} */
  #stages;
  /** By stage, and one for the inside of the last. */
  #roles;
  /** Around all stages, by the form of the promise. */
  #outer;
  /** Around all stages, with a stream. */
  #told;
  /** Whether there is one segment at the most, and nothing else. */
  #isSimple;
  /** Runs executions that need no more. @type {Shortcut | undefined} */
  #shortcut;
  #views;
  #ambient;
  #telemetry;
  #delays;
  #disposed = false;
  /** @type {(() => void)[]} */
  #disposalListeners = [];

  /**
   * @param {readonly Stage[]} stages
   * @param {Map<string, object>} views
   * @param {boolean} ambient
   * @param {import('./strategy.js').Scope} scope
   */
  constructor(stages, views, ambient, { telemetry, delays }) {
    this.#stages = stages;
    this.#roles = [...stages, undefined].map((stage, index) => {
      const nested = index + 1 < stages.length;
      const segment = stage instanceof Segment ? stage : undefined;
      return new Role({ segment, ambient: ambient && !nested, nested, telemetry, form: OUTCOME });
    });
    const { combinators, segment, isOrdered } = shapeOf(stages);
    this.#isSimple = isOrdered && combinators.length === 0;
    const whole = this.#isSimple
      ? { segment, ambient, nested: false, telemetry }
      : { segment: undefined, ambient: false, nested: true, telemetry };
    this.#outer = [new Role({ ...whole, form: VALUE }), new Role({ ...whole, form: OUTCOME })];
    this.#told = new Role({ ...whole, form: OUTCOME, isTold: true });
    if (this.#isSimple) {
      this.#shortcut = shortcutOf(segment, ambient);
    } else if (isOrdered) {
      const role = new Role({ segment, ambient: false, nested: false, telemetry, form: VALUE });
      const inside = shortcutOf(segment, false);
      this.#shortcut = new FirstAttempt(combinators, role, inside, ambient, (index, context, callback, outcome) =>
        this.#combine(combinators[index], index, context, callback, undefined, outcome),
      );
    }
    this.#views = views;
    this.#ambient = ambient;
    this.#telemetry = telemetry;
    this.#delays = delays;
  }

  get name() {
    return this.#telemetry.pipelineName;
  }

  /**
   * @param {Callback} callback
   * @param {import('../index.js').ExecuteOptions} [options]
   */
  execute(callback, options) {
    return this.#start(callback, options, VALUE);
  }

  /**
   * @param {Callback} callback
   * @param {import('../index.js').ExecuteOptions} [options]
   */
  settle(callback, options) {
    return this.#start(callback, options, OUTCOME);
  }

  /**
   * @param {unknown} callback
   * @param {unknown} [options]
   */
  executeStream(callback, options) {
    return itemStream((attempt, own, stream) => prepare(this, attempt, own, stream), callback, options);
  }

  /** @param {string} name */
  getStrategy(name) {
    if (typeof name !== 'string') throw typeError('the name of a strategy', 'a string', name);
    return this.#views.get(name);
  }

  dispose() {
    if (this.#disposed) return;
    this.#disposed = true;
    for (const stage of this.#stages) {
      if (stage instanceof Segment) stage.dispose();
    }
    this.#delays.dispose();
    afterCall();
    for (const listener of this.#disposalListeners) listener();
  }

  [Symbol.dispose]() {
    this.dispose();
  }

  /**
   * @param {Callback} callback
   * @param {import('../index.js').ExecuteOptions | undefined} options
   * @param {0 | 1} form
   */
  #start(callback, options, form) {
    try {
      const context = this.#begin(callback, options);
      if (this.#shortcut?.isOpen && this.#isPlain(context, options)) {
        return this.#shortcut.run(context, callback, form);
      }
      return this.#makeExecution(context, callback, options, this.#outer[form]).start();
    } catch (error) {
      return form === OUTCOME ? Promise.resolve(new OutcomeFailure(error)) : rejectSoon(error);
    }
  }

  /**
   * @param {Callback} callback
   * @param {import('../index.js').ExecuteOptions | undefined} options
   */
  #begin(callback, options) {
    if (typeof callback !== 'function') {
      throw typeError('the callback of an execution', 'a function', callback);
    }
    if (lost.length > 0) recover();
    if (this.#disposed) throw withoutStack(() => new PipelineDisposedError({ pipelineName: this.name }));
    return createContext(options, this.#ambient);
  }

  /**
   * @param {ResilienceContext} context
   * @param {Callback} callback
   * @param {import('../index.js').ExecuteOptions | undefined} options
   * @param {Role} role
   * @param {Stream} [stream]
   */
  #makeExecution(context, callback, options, role, stream) {
    const isSingle = options !== undefined && option(options, 'repeatable', options.repeatable) === false;
    const started = isSingle && !this.#isSimple ? startOnce(callback) : callback;
    const inside = role.nested ? () => this.#run(0, context, started, stream) : started;
    const execution = new Execution(role, context, inside);
    if (stream !== undefined) execution.more.stream = stream;
    if (this.#telemetry.hearsExecutions()) this.#tell(execution);
    return execution;
  }

  /**
   * Whether nothing but the stages can end an execution, and nobody hears of it.
   *
   * @param {ResilienceContext} context
   * @param {import('../index.js').ExecuteOptions | undefined} options
   */
  #isPlain(context, options) {
    return (
      ResilienceContext.isAlone(context) &&
      (options === undefined || option(options, 'repeatable', options.repeatable) === undefined) &&
      !this.#telemetry.hearsExecutions()
    );
  }

  /** @param {Execution} execution */
  #tell(execution) {
    const { context } = execution;
    const telemetry = this.#telemetry;
    const started = now();
    telemetry.emit('PipelineExecuting', undefined, context, { context });
    execution.more.onSettled = (ok) => {
      const duration = now() - started;
      telemetry.emit('PipelineExecuted', undefined, context, { context, duration, ok });
    };
  }

  /**
   * Runs the stages from `index` on.
   *
   * @param {number} index
   * @param {ResilienceContext} context
   * @param {Callback} callback
   * @param {Stream | undefined} stream
   * @returns {Promise<AnyOutcome>}
   */
  #run(index, context, callback, stream) {
    const stage = this.#stages[index];
    if (stage !== undefined && !(stage instanceof Segment)) {
      return this.#combine(stage, index, context, callback, stream);
    }
    const role = this.#roles[index];
    const inside = role.nested
      ? (/** @type {ResilienceContext} */ own) => this.#run(index + 1, own, callback, stream)
      : callback;
    const own = new ResilienceContext(context, undefined, context.operationKey);
    const execution = new Execution(role, own, inside);
    if (stream !== undefined) execution.more.stream = stream;
    return execution.start();
  }

  /**
   * @param {Combinator} combinator
   * @param {number} index
   * @param {ResilienceContext} context
   * @param {Callback} callback
   * @param {Stream | undefined} stream
   * @param {AnyOutcome} [first] How its inside ended, if that was run already.
   * @returns {Promise<AnyOutcome>}
   */
  async #combine(combinator, index, context, callback, stream, first) {
    const next = (/** @type {ResilienceContext} */ own) => {
      // Without one, nothing could cancel what it starts.
      if (!(own instanceof ResilienceContext)) throw typeError('the argument of next', 'a context', own);
      return this.#run(index + 1, own, callback, stream);
    };
    withAttempts(next, attemptsOf(callback));
    const combine = () =>
      first === undefined || combinator.goOn === undefined
        ? combinator.execute(next, context)
        : combinator.goOn(next, context, first);
    try {
      /** @type {any} */
      const outcome = await (this.#ambient ? storage.run(context, combine) : combine());
      if (outcome instanceof OutcomeSuccess) return outcome;
      if (outcome instanceof Failure) return /** @type {any} */ (outcome);
      // A look-alike, whose getters may throw: here, and nowhere further out.
      if (outcome?.ok === true) return new OutcomeSuccess(outcome.result);
      if (outcome?.ok === false) return new OutcomeFailure(outcome.error);
      throw typeError(`the result of ${combinator.name}`, 'an Outcome', outcome);
    } catch (error) {
      return new OutcomeFailure(error);
    }
  }
}

/**
 * The combinators of a pipeline and the segment after so many stages; it is ordered if that is all there is.
 *
 * @param {readonly Stage[]} stages
 */
function shapeOf(stages) {
  const combinators = stages.flatMap((stage) => (stage instanceof Segment ? [] : [stage]));
  const next = stages[combinators.length];
  const segment = next instanceof Segment ? next : undefined;
  return { combinators, segment, isOrdered: stages.length === combinators.length + Number(segment !== undefined) };
}

/**
 * @param {Segment | undefined} segment The only one.
 * @param {boolean} ambient
 */
function shortcutOf(segment, ambient) {
  if (segment?.lends) return new Lender(segment, ambient);
  return segment?.isCircuitAlone ? new ClosedCircuit(segment, ambient) : undefined;
}

/** What adapters do with a pipeline, by means of the copy of the package that it is of. */
const SKILLS = Object.freeze({
  is: (/** @type {any} */ value) => typeof value === 'object' && value !== null && isPipeline(value),
  PENDING,
  ResilienceContext,
  currentContext,
  hasDeadline: /** @type {typeof hasDeadline} */ (hasDeadline),
  isDisposed: /** @type {typeof isDisposed} */ (isDisposed),
  onDisposed: /** @type {typeof onDisposed} */ (onDisposed),
  measures: /** @type {typeof measures} */ (measures),
  prepare: /** @type {typeof prepare} */ (prepare),
  repeats: /** @type {typeof repeats} */ (repeats),
  storage,
  telemetryOf: /** @type {typeof telemetryOf} */ (telemetryOf),
});
mark('ResiliencePipeline', SKILLS);

/** @typedef {typeof SKILLS} Skills */

module.exports = { ResiliencePipeline, firstSegment: /** @type {typeof firstSegment} */ (firstSegment) };
