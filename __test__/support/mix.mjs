// Executions of every kind, chosen at random and run for real: what npm test does with thousands and npm run
// soak with a million. A seed repeats the choices, not the interleaving, which is up to the machine's timers.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { assertIdle } from './idle.mjs';
import { randomPipeline } from './random-pipeline.mjs';

const ABORTS = ['before', 'queued', 'inside', 'running'];
const ERRORS = ['thrown', 'rejected', 'priority'];
const REJECTIONS = ['TIMEOUT', 'full', 'queue-timeout', 'dropped'];
/** Every way in which an execution of a mix ends, if none of its pipelines is disposed. */
export const ENDS = ['value', ...ERRORS, ...ABORTS, ...REJECTIONS];
/** And the ways in which one ends because its pipeline is. */
export const DISPOSED_ENDS = ['disposed', 'PIPELINE_DISPOSED'];
/** And those for which its pipelines, which are random, have to have the strategies. */
export const RANDOM_ENDS = ['key', 'RATE_LIMITED', 'CIRCUIT_OPEN', 'CIRCUIT_ISOLATED'];

/** Pipelines of every mix that are random, besides those of `makePipelines`. */
const RANDOM_PIPELINES = 4;

/** Uniform numbers in [0, 1), the same for each seed. */
export function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Pipelines of every shape. The last has three segments. */
export function makePipelines(queueLimit) {
  const priority = ({ properties }) => {
    const value = properties.get('priority');
    if (value === 'throws') throw new Error('priority');
    return value;
  };
  return [
    new ResiliencePipelineBuilder().addConcurrencyLimiter(3, queueLimit).build(),
    new ResiliencePipelineBuilder()
      .addTimeout(4)
      .addConcurrencyLimiter({ permitLimit: 2, queueLimit, overflow: 'drop-lowest-priority', priority })
      .addTimeout(2)
      .build(),
    new ResiliencePipelineBuilder({ context: 'explicit' })
      .addConcurrencyLimiter({ permitLimit: 4, queueLimit: 5, overflow: 'drop-oldest', queueTimeout: 1 })
      .addAdaptiveConcurrencyLimiter({ initialLimit: 4, queueLimit, queueTimeout: 3 })
      .build(),
    new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({ algorithm: 'aimd', initialLimit: 5, queueLimit })
      .addFallback({ fallbackValue: 'value', shouldHandle: ({ outcome }) => outcome.error?.timeout === 1 })
      .addTimeout({ timeoutGenerator: ({ context }) => context.properties.get('timeout') })
      .addConcurrencyLimiter({ permitLimit: 2, queueLimit, name: 'inner' })
      .build(),
  ];
}

const LIMITERS = ['ConcurrencyLimiter', 'AdaptiveConcurrencyLimiter', 'inner'];

/** What an execution came to, in a word. */
function nameOf(error) {
  if (error instanceof TypeError) return 'TypeError';
  if (error.code === 'RATE_LIMITED' && error.reason === 'full') return error.code;
  return error.reason ?? error.code ?? error.message ?? error;
}

export class Mix {
  started = 0;
  settled = 0;
  /** How many executions ended in each way. @type {Map<string, number>} */
  ends = new Map();
  #random;
  #pipelines;
  /** How often each may call a callback for one execution. */
  #mostCalls;
  #limiters;
  #rateLimiters;
  #controls;
  /** Of what the pipelines are, should one of them be wrong. */
  #shapes;
  #disposals;
  #running = 0;
  /** What was wrong inside of callbacks, where an assertion would only be one more failure. */
  #wrong = [];
  /** Never aborted, and the caller's signal of many executions. */
  #shared = new AbortController().signal;

  /**
   * @param {() => number} random
   * @param {number} queueLimit
   * @param {number} [disposals] How often an execution disposes of a pipeline, between 0 and 1.
   */
  constructor(random, queueLimit, disposals = 0) {
    this.#random = random;
    this.#disposals = disposals;
    const made = makePipelines(queueLimit);
    const drawn = Array.from({ length: RANDOM_PIPELINES }, () => randomPipeline(random, queueLimit));
    this.#pipelines = [...made, ...drawn.map(({ pipeline }) => pipeline)];
    this.#mostCalls = [...made.map(() => 1), ...drawn.map(({ mostCalls }) => mostCalls)];
    const strategies = [
      ...made.flatMap((pipeline) => LIMITERS.map((name) => pipeline.getStrategy(name))),
      ...drawn.flatMap((each) => each.strategies),
    ];
    this.#limiters = strategies.filter((strategy) => strategy?.inflight !== undefined);
    this.#rateLimiters = strategies.filter((strategy) => strategy?.evictions !== undefined);
    this.#controls = drawn.map(({ manualControl }) => manualControl);
    this.#shapes = drawn.map(({ kinds }) => kinds.join(' > '));
  }

  /** Runs `total` executions, `atOnce` of them at a time, and waits until nothing of them is left. */
  async run(total, atOnce) {
    let left = total;
    const lane = async () => {
      while (left > 0) {
        left -= 1;
        await this.#execute();
      }
    };
    await Promise.all(Array.from({ length: Math.min(total, atOnce) }, lane));
    assert.equal(this.settled, this.started);
    // Callbacks that were given up on may be at work still, in a pipeline further in.
    while (this.#running > 0) await new Promise(setImmediate);
    // And a turn for a rejection that nobody has handled to come out.
    await new Promise(setImmediate);
    assert.deepEqual(this.#wrong, [], this.#shapes.join('\n'));
    assertIdle(...this.#limiters);
    for (const { name, queued } of this.#rateLimiters) assert.equal(queued, 0, name);
    assert.equal(getEventListeners(this.#shared, 'abort').length, 0, 'listeners of the shared signal');
  }

  #pick(values) {
    return values[Math.floor(this.#random() * values.length)];
  }

  /** One execution of a random kind, which has to settle once and leave nothing on its signal. */
  async #execute() {
    const index = Math.floor(this.#random() * this.#pipelines.length);
    const when = this.#pick(['never', 'never', ...ABORTS, 'after']);
    const controller = new AbortController();
    const signal = when === 'never' ? this.#pick([undefined, this.#shared]) : controller.signal;
    if (when === 'before') controller.abort('before');
    let settled = 0;
    const settle = (end) => {
      settled += 1;
      this.settled += 1;
      this.ends.set(end, (this.ends.get(end) ?? 0) + 1);
      assert.equal(getEventListeners(controller.signal, 'abort').length, 0, `listeners after ${end}`);
      if (when === 'after') controller.abort('after');
    };
    const options = { signal, properties: this.#properties() };
    const callback = this.#callback(index, when, controller);
    this.started += 1;
    this.#maybeDispose();
    const promise =
      this.#random() < 0.5
        ? this.#pipelines[index].execute(callback, options).then(
            () => settle('value'),
            (error) => settle(nameOf(error)),
          )
        : this.#pipelines[index]
            .settle(callback, options)
            .then((outcome) => settle(outcome.ok ? 'value' : nameOf(outcome.error)));
    if (when === 'queued') controller.abort('queued');
    await promise;
    assert.equal(settled, 1);
  }

  #maybeDispose() {
    if (this.#random() < this.#disposals) this.#pick(this.#pipelines).dispose();
  }

  /** Isolates the circuits of a pipeline until the next turn. */
  #maybeIsolate() {
    if (this.#random() >= 0.005) return;
    const control = this.#pick(this.#controls);
    control.isolate();
    setImmediate(() => control.close());
  }

  #properties() {
    return [
      ['key', this.#pick(['a', 'b', 7, undefined, undefined, 'throws'])],
      ['priority', this.#pick([0, 0, 1, 5, NaN, 'throws', -Infinity])],
      ['timeout', this.#pick([0, 1, 3, 1000])],
    ];
  }

  /** A callback that counts its calls. */
  #callback(index, when, controller) {
    const kind = this.#pick(['value', 'value', 'throw', 'reject', 'turn', 'slow', 'nested']);
    let calls = 0;
    return (context) => {
      calls += 1;
      if (calls > this.#mostCalls[index]) this.#wrong.push(`${calls} calls of pipeline ${index}`);
      this.#maybeDispose();
      this.#maybeIsolate();
      if (when === 'inside') controller.abort('inside');
      if (when === 'running') queueMicrotask(() => controller.abort('running'));
      if (kind === 'throw') throw new Error('thrown');
      if (kind === 'reject') return Promise.reject(new Error('rejected'));
      if (kind === 'turn') return this.#track(new Promise(setImmediate));
      if (kind === 'slow') return this.#track(this.#slow());
      return kind === 'nested' ? this.#track(this.#nest(index + 1, context)) : 'value';
    };
  }

  #slow() {
    return new Promise((resolve) => void setTimeout(resolve, 1 + this.#random() * 4));
  }

  /** Only ever further in: two executions that wait for each other's permits would wait for good. */
  #nest(index, { properties }) {
    const pipeline = this.#pipelines[index];
    if (pipeline === undefined) return Promise.resolve('value');
    const deeper = this.#random() < 0.5;
    const work = (context) => (deeper ? this.#nest(index + 1, context) : new Promise(setImmediate));
    return pipeline.execute((context) => this.#track(work(context)), { properties });
  }

  /** Counts the callback as at work until `work` is over, whether or not anyone still waits for it. */
  #track(work) {
    this.#running += 1;
    const over = () => {
      this.#running -= 1;
    };
    work.then(over, over);
    return work;
  }
}
