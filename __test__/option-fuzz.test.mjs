// Arbitrary values in every place that takes options. A call either throws a TypeError or RangeError that
// names the option and what is accepted, or gives what works; and which of the two is told by the rules
// written down here once more.
import assert from 'node:assert/strict';
import test from 'node:test';
import { inspect } from 'node:util';
import vm from 'node:vm';
import fc from 'fast-check';
import {
  AdaptiveLimitProvider,
  CircuitBreakerManualControl,
  CircuitBreakerStateProvider,
  PipelineBuilder,
  ResiliencePipelineBuilder,
  aimd,
  gradient2,
  knee,
  retryBudget,
  standardPipeline,
  vegas,
} from '@ylcnfrht/resilience';
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';
import { assertIdle } from './support/idle.mjs';

const SEED = 20_260_401;
const RUNS = 700;

/** What a user's own getter or trap throws. So do a revoked proxy, and a getter on the wrong object. */
const MINE = new Error('mine');
/** Answers well wherever a function is taken: a priority, a timeout, a limit, a verdict. */
const wellBehaved = () => 60_000;
/** Where a function decides whether to run again: never. */
const declines = () => false;
const throwing = () => {
  throw MINE;
};
function revoked(target) {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

/** Makes a value that fast-check must not touch, since it may bite. */
class Lazy {
  constructor(make) {
    this.make = make;
  }

  [fc.toStringMethod]() {
    return String(this.make);
  }
}
const lazily = (...makers) => fc.constantFrom(...makers.map((make) => new Lazy(make)));
const made = (value) => (value instanceof Lazy ? value.make() : value);

const anyNumber = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.constantFrom(
    NaN,
    0,
    -0,
    Infinity,
    -Infinity,
    5e-324,
    2 ** 31 - 1,
    2 ** 31,
    2 ** 32,
    2 ** 53,
    1e308,
    -1,
    0.5,
    1,
  ),
);
const anyString = fc.oneof(
  fc.string(),
  fc.constantFrom(
    '',
    '5s',
    '1.5ms',
    '0s',
    '-1s',
    '5 s',
    '5S',
    '1e3ms',
    's',
    'Infinity',
    '12',
    `${'9'.repeat(400)}d`,
  ),
  fc.constantFrom(
    'gradient2',
    'vegas',
    'aimd',
    'knee',
    '__proto__',
    'constructor',
    'ambient',
    'explicit',
    'drop-oldest',
  ),
  fc.constant('x'.repeat(1e6)),
);
const anyFunction = lazily(
  () => wellBehaved,
  () => throwing,
  () => async () => 60_000,
  () => function* generator() {},
  () => class {},
  () => new Proxy(wellBehaved, {}),
  () => revoked(wellBehaved),
);
const anyObject = fc.oneof(
  fc.object({ maxDepth: 1 }),
  lazily(
    () => ({}),
    () => Object.create(null),
    () => [],
    () => [['key', 1]],
    () => new Map([['key', 1]]),
    () => new Set([1]),
    () => new Date(0),
    () => new Date(NaN),
    () => /x/,
    () => Promise.resolve(1),
    () => new Error('x'),
    () => new (class Own {})(),
    () => new Number(5),
    () => new String('5s'),
    () => new Uint8Array(3),
    () => vm.runInNewContext('({ timeout: 5 })'),
    () => vm.runInNewContext('[]'),
    () => new Proxy({}, {}),
    () => new Proxy({}, { get: throwing, has: throwing, ownKeys: throwing, getPrototypeOf: throwing }),
    () => revoked({}),
    () => revoked([]),
    () => ({ [Symbol.toPrimitive]: throwing, toString: throwing, toJSON: throwing }),
    () => Object.create(AdaptiveLimitProvider.prototype),
    () => Object.create(CircuitBreakerManualControl.prototype),
    () => new Proxy(new CircuitBreakerStateProvider(), {}),
    () => new CircuitBreakerManualControl(),
    () => new CircuitBreakerStateProvider(),
    () => Object.create(retryBudget()),
    () => new AdaptiveLimitProvider(),
    () => ({ onSample: wellBehaved }),
    () => ({ onSample: 1 }),
    () => aimd(),
    () => new AbortController().signal,
  ),
);
const anyOther = fc.oneof(
  anyNumber,
  anyString,
  anyObject,
  fc.constantFrom(undefined, null, true, false, Symbol('x'), Symbol.iterator),
  fc.bigInt(),
);
const anything = fc.oneof({ weight: 5, arbitrary: anyOther }, anyFunction);

const DURATION = /^\d+(\.\d+)?(ms|s|m|h|d)$/;
const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
const rule = (accepts, valid) => ({ accepts, value: fc.oneof({ weight: 3, arbitrary: valid }, anything) });
const integerFrom = (min) =>
  rule(
    (value) => Number.isInteger(value) && value >= min && value < 2 ** 31,
    fc.integer({ min, max: 2 ** 31 - 1 }),
  );
const numberThat = (accepts) =>
  rule(
    (value) => isNumber(value) && accepts(value),
    fc.double({ min: 0, max: 10, noNaN: true }).filter(accepts),
  );
const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const msOf = (value) => (typeof value === 'number' ? value : parseFloat(value) * UNITS[value.replace(/^[\d.]+/, '')]);
const duration = rule(
  (value) =>
    (isNumber(value) && value > 0) ||
    (typeof value === 'string' &&
      DURATION.test(value) &&
      parseFloat(value) > 0 &&
      isFinite(parseFloat(value))),
  fc.oneof(
    fc.double({ min: 0, minExcluded: true, noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom('250ms', '1.5s', '5m', '1h', '2d'),
  ),
);
const orZero = rule(
  (value) =>
    (isNumber(value) && value >= 0) ||
    (typeof value === 'string' && DURATION.test(value) && isFinite(parseFloat(value))),
  fc.oneof(
    fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom('0s', '250ms', '1.5s', '2d'),
  ),
);
const ratio = numberThat((value) => value > 0 && value <= 1);
const aFunction = rule(
  (value) => typeof value === 'function',
  lazily(() => wellBehaved),
);
/** One that says no, or throws: what said yes would have things run again for as long as the options say. */
const verdict = {
  accepts: (value) => typeof value === 'function',
  value: fc.oneof(
    { weight: 3, arbitrary: lazily(() => declines) },
    lazily(
      () => throwing,
      () => async () => false,
      () => revoked(declines),
    ),
    anyOther,
  ),
};
const name = rule((value) => typeof value === 'string' && value !== '', fc.string({ minLength: 1 }));
const choice = (...choices) => rule((value) => choices.includes(value), fc.constantFrom(...choices));
/** What only the package itself can make. */
function genuine(make) {
  const all = new WeakSet();
  const remember = () => {
    const value = make();
    all.add(value);
    return value;
  };
  return rule((value) => typeof value === 'object' && value !== null && all.has(value), lazily(remember));
}
const isBare = (value) => Object.getPrototypeOf(value) === AdaptiveLimitProvider.prototype;
const hasOnSample = (value) =>
  typeof value === 'object' && value !== null && typeof value.onSample === 'function';
/** An answer of the user's own object, or what it throws. */
const answers = (ask) => (value) => {
  try {
    return ask(value);
  } catch {
    return false;
  }
};

const between = (min = 1, value, max = Math.max(1000, min)) =>
  value === undefined || (value >= min && value <= max);
const GROWS = (ratio) => ratio > 0 && ratio < 1;
const QUEUE = { queueLimit: integerFrom(0), queueTimeout: duration };
const build = (add) => (options) =>
  add(new ResiliencePipelineBuilder({ telemetry: () => {} }), options).build();

const controlPrototype = CircuitBreakerManualControl.prototype;
const providerPrototype = CircuitBreakerStateProvider.prototype;
/** Its getter works: it is none that was made by `Object.create`. */
const isReal = ({ state }) => state === 'closed';
/** Options of a part, right or plainly wrong. */
const part = (...right) => ({
  accepts: (value) => right.includes(value),
  value: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...right) },
    lazily(
      () => [],
      () => new Map(),
      () => Promise.resolve({}),
      () => Symbol('x'),
      () => true,
      () => null,
      () => -1,
      () => NaN,
      () => '',
      () => ({ what: 1 }),
      () => ({ name: '' }),
      () => revoked({}),
    ),
  ),
});

/** What takes options: its rules for each, for all together, and what to do with them. */
const TAKERS = {
  ResiliencePipelineBuilder: {
    rules: { name, context: choice('ambient', 'explicit'), telemetry: aFunction },
    take: (options) => new ResiliencePipelineBuilder(options).addConcurrencyLimiter(1).build(),
  },
  addTimeout: {
    rules: { timeout: duration, timeoutGenerator: aFunction, onTimeout: aFunction, name },
    together: ({ timeout, timeoutGenerator }) => (timeout === undefined) !== (timeoutGenerator === undefined),
    take: build((builder, options) => builder.addTimeout(options)),
  },
  addConcurrencyLimiter: {
    rules: {
      permitLimit: integerFrom(1),
      ...QUEUE,
      priority: aFunction,
      overflow: choice('reject-new', 'drop-oldest', 'drop-lowest-priority'),
      onRejected: aFunction,
      name,
    },
    together: ({ permitLimit }) => permitLimit !== undefined,
    take: build((builder, options) => builder.addConcurrencyLimiter(options)),
  },
  addAdaptiveConcurrencyLimiter: {
    rules: {
      algorithm: rule(
        answers((value) => ['gradient2', 'vegas', 'aimd', 'knee'].includes(value) || hasOnSample(value)),
        fc.oneof(
          fc.constantFrom('gradient2', 'vegas', 'aimd', 'knee'),
          lazily(
            () => gradient2(),
            () => vegas(),
            () => aimd(),
            () => knee(),
            () => ({ onSample: wellBehaved }),
          ),
        ),
      ),
      initialLimit: integerFrom(1),
      minLimit: integerFrom(1),
      maxLimit: integerFrom(1),
      ...QUEUE,
      priority: aFunction,
      overflow: choice('reject-new', 'drop-oldest', 'drop-lowest-priority'),
      shouldDrop: aFunction,
      operation: aFunction,
      limitProvider: rule(
        answers((value) => isBare(value) && value.limit === 0),
        lazily(() => new AdaptiveLimitProvider()),
      ),
      onLimitChanged: aFunction,
      onRejected: aFunction,
      name,
    },
    together: ({ minLimit, initialLimit, maxLimit }) =>
      between(minLimit, maxLimit, Infinity) && between(minLimit, initialLimit, maxLimit),
    take: build((builder, options) => builder.addAdaptiveConcurrencyLimiter(options)),
  },
  addFallback: {
    rules: {
      fallbackValue: rule(() => true, anything),
      fallbackAction: aFunction,
      shouldHandle: aFunction,
      onFallback: aFunction,
      name,
    },
    together: (options) =>
      options.fallbackAction === undefined ? 'fallbackValue' in options : options.fallbackValue === undefined,
    take: build((builder, options) => builder.addFallback(options)),
  },
  PipelineBuilder: {
    rules: { name, context: choice('ambient', 'explicit'), telemetry: aFunction },
    take: (options) => new PipelineBuilder(options).build(),
  },
  addRateLimiter: {
    rules: {
      permitLimit: integerFrom(1),
      window: duration,
      algorithm: choice('fixed-window', 'sliding-window', 'token-bucket'),
      burst: integerFrom(1),
      key: aFunction,
      maxKeys: rule(
        (value) => Number.isInteger(value) && value >= 1 && value < 2 ** 26,
        fc.integer({ min: 1, max: 2 ** 26 - 1 }),
      ),
      queueLimit: integerFrom(0),
      onRejected: aFunction,
      name,
    },
    together: ({ permitLimit, window, burst, algorithm }) =>
      permitLimit !== undefined &&
      window !== undefined &&
      (burst === undefined || algorithm === 'token-bucket'),
    take: build((builder, options) => builder.addRateLimiter(options)),
  },
  addCircuitBreaker: {
    rules: {
      failureRatio: ratio,
      minimumThroughput: integerFrom(1),
      samplingDuration: duration,
      breakDuration: duration,
      breakDurationGenerator: aFunction,
      halfOpenProbes: integerFrom(1),
      slowCallDuration: duration,
      slowCallRatio: ratio,
      consecutiveFailures: integerFrom(1),
      shouldHandle: aFunction,
      onOpened: aFunction,
      onClosed: aFunction,
      onHalfOpened: aFunction,
      manualControl: rule(
        answers((value) => Object.getPrototypeOf(value) === controlPrototype && value.isIsolated === false),
        lazily(() => new CircuitBreakerManualControl()),
      ),
      stateProvider: rule(
        answers((value) => Object.getPrototypeOf(value) === providerPrototype && isReal(value)),
        lazily(() => new CircuitBreakerStateProvider()),
      ),
      name,
    },
    together: ({ slowCallDuration, slowCallRatio }) =>
      slowCallRatio === undefined || slowCallDuration !== undefined,
    take: build((builder, options) => builder.addCircuitBreaker(options)),
  },
  addRetry: {
    rules: {
      maxRetryAttempts: rule(
        (value) => value === Infinity || (Number.isInteger(value) && value >= 0),
        fc.oneof(fc.nat(), fc.constant(Infinity)),
      ),
      delay: orZero,
      backoffType: choice('constant', 'linear', 'exponential'),
      maxDelay: orZero,
      useJitter: choice(true, false),
      delayGenerator: aFunction,
      shouldHandle: verdict,
      onRetry: aFunction,
      budget: genuine(() => retryBudget()),
      respectRetryAfter: choice(true, false),
      name,
    },
    take: build((builder, options) => builder.addRetry(options)),
  },
  addHedging: {
    rules: {
      maxHedgedAttempts: rule(
        (value) => Number.isInteger(value) && value >= 1 && value <= 10,
        fc.integer({ min: 1, max: 10 }),
      ),
      delay: rule(
        (value) => value === Infinity || orZero.accepts(value),
        fc.oneof(orZero.value, fc.constant(Infinity)),
      ),
      actionGenerator: aFunction,
      shouldHandle: verdict,
      onHedging: aFunction,
      name,
    },
    take: build((builder, options) => builder.addHedging(options)),
  },
  retryBudget: {
    rules: { ratio: numberThat((value) => value >= 0), minPerSecond: numberThat((value) => value >= 0) },
    take: build((builder, options) => builder.addRetry({ budget: retryBudget(options) })),
  },
  standardPipeline: {
    rules: {
      name,
      context: choice('ambient', 'explicit'),
      telemetry: aFunction,
      concurrencyLimiter: part(5, { queueLimit: 3 }, { permitLimit: 2, name: 'all' }),
      totalTimeout: part('1m', 20_000, { timeout: '2m' }, { timeoutGenerator: wellBehaved }),
      retry: part({ maxRetryAttempts: 0 }, { delay: 0, name: 'again' }),
      circuitBreaker: part({ failureRatio: 1 }, { samplingDuration: '1m' }),
      attemptTimeout: part('5s', { timeout: 15_000 }, { name: 'one' }),
    },
    names: ['addConcurrencyLimiter', 'addTimeout', 'addRetry', 'addCircuitBreaker', 'permitLimit', 'timeout'],
    take: (options) => standardPipeline(options),
  },
  gradient2: {
    rules: {
      tolerance: numberThat((value) => value >= 1),
      shortWindow: numberThat((value) => value >= 1),
      longWindow: numberThat((value) => value >= 1),
      smoothing: numberThat((value) => value > 0 && value <= 1),
      queueSize: aFunction,
      backoffRatio: numberThat(GROWS),
    },
    take: build((builder, options) =>
      builder.addAdaptiveConcurrencyLimiter({ algorithm: gradient2(options) }),
    ),
  },
  vegas: {
    rules: { alpha: numberThat((value) => value > 0), beta: numberThat((value) => value > 0) },
    together: ({ alpha = 3, beta = 6 }) => beta > alpha,
    take: build((builder, options) => builder.addAdaptiveConcurrencyLimiter({ algorithm: vegas(options) })),
  },
  aimd: {
    rules: { increase: numberThat((value) => value > 0), backoffRatio: numberThat(GROWS) },
    take: build((builder, options) => builder.addAdaptiveConcurrencyLimiter({ algorithm: aimd(options) })),
  },
  knee: {
    rules: { headroom: numberThat((value) => value >= 0), queue: choice('short', 'balanced', 'long') },
    take: build((builder, options) => builder.addAdaptiveConcurrencyLimiter({ algorithm: knee(options) })),
  },
  resilienceMiddleware: {
    rules: { timeout: duration, stallTimeout: duration, name },
    together: ({ timeout }) => timeout !== undefined,
    take: (options) => resilienceMiddleware(options).pipeline,
  },
  timeout: {
    rules: { timeout: duration, body: choice(true, false) },
    together: ({ timeout }) => timeout !== undefined,
    take: (timeout) => resilienceMiddleware({ timeout }).pipeline,
  },
  concurrency: {
    rules: { permitLimit: integerFrom(1), ...QUEUE },
    together: ({ permitLimit }) => permitLimit !== undefined,
    take: (concurrency) => resilienceMiddleware({ concurrency }).pipeline,
  },
  overload: {
    rules: { targetDelay: duration, maxDelay: duration, priority: aFunction },
    together: ({ targetDelay, maxDelay }) =>
      targetDelay === undefined || maxDelay === undefined || msOf(maxDelay) >= msOf(targetDelay),
    take: (overload) => resilienceMiddleware({ overload }).pipeline,
  },
};

/** The same options in another form of object. */
const FORMS = {
  plain: (options) => options,
  frozen: (options) => Object.freeze(options),
  'without prototype': (options) => Object.assign(Object.create(null), options),
  'behind a proxy': (options) => new Proxy(options, {}),
  'on a prototype': (options) => Object.create(options),
  'from another realm': (options) => Object.assign(vm.runInNewContext('({})'), options),
};

const isOwn = (error) =>
  error === MINE || /proxy that has been revoked|unwrap .*`AdaptiveLimitProvider`/.test(error.message);

/** An error that a user can act on: it names one of `options` or their taker, and what is accepted. */
function assertHelpful(error, taker, options) {
  if (isOwn(error)) return;
  assert.ok(error.constructor === TypeError || error.constructor === RangeError, inspect(error));
  const { message } = error;
  assert.ok(
    [taker, ...options].some((option) => message.includes(option)),
    message,
  );
  assert.match(message, / must be .*, not |takes? (either|\w+)|needs .* or /s);
  assert.ok(message.length < 500, `${message.length} characters`);
}

/** One execution ends, and with functions that answer well it succeeds; nothing is left. */
async function assertWorks(pipeline, values, limiters) {
  const outcome = await pipeline.settle(() => 'fine');
  const good = [wellBehaved, declines];
  const odd = values.some((value) => typeof value === 'function' && !good.includes(value));
  if (!odd) assert.ok(outcome.ok, inspect(outcome));
  assertIdle(
    ...limiters
      .map((key) => pipeline.getStrategy(key))
      .filter((strategy) => strategy?.inflight !== undefined),
  );
}

for (const [taker, { rules, together = () => true, names: others = [], take }] of Object.entries(TAKERS)) {
  const keys = [...Object.keys(rules), ...others];
  const arbitrary = fc.record(
    Object.fromEntries(
      Object.entries(rules).map(([key, { value }]) => [key, fc.option(value, { nil: undefined })]),
    ),
    { requiredKeys: [] },
  );
  const forms = fc.constantFrom(...Object.keys(FORMS));
  test(`${taker}: arbitrary options are refused or work (seed ${SEED})`, async () => {
    let accepted = 0;
    const property = fc.asyncProperty(arbitrary, forms, async (drawn, form) => {
      const options = Object.fromEntries(Object.entries(drawn).map(([key, value]) => [key, made(value)]));
      const given = Object.entries(options).filter(([, value]) => value !== undefined);
      const valid = given.every(([key, value]) => rules[key].accepts(value)) && together(options);
      let pipeline;
      try {
        pipeline = take(FORMS[form]({ ...options }));
      } catch (error) {
        assert.ok(!valid, `refused: ${inspect(error)}`);
        assertHelpful(error, taker, keys);
        return;
      }
      assert.ok(valid, 'accepted');
      accepted += 1;
      const values = [...Object.values(options)];
      const names = [options.name, 'ConcurrencyLimiter', 'AdaptiveConcurrencyLimiter'];
      await assertWorks(
        pipeline,
        values,
        names.filter((key) => key !== undefined),
      );
    });
    await fc.assert(property, { seed: SEED, numRuns: RUNS });
    assert.ok(accepted >= 20, `only ${accepted} of ${RUNS} accepted`);
  });

  test(`${taker}: anything in the place of its options is refused or works (seed ${SEED})`, async () => {
    const property = fc.asyncProperty(anything, async (drawn) => {
      const options = made(drawn);
      let pipeline;
      try {
        pipeline = take(options);
      } catch (error) {
        assertHelpful(error, taker, [...keys, 'options']);
        return;
      }
      await assertWorks(pipeline, [options], ['ConcurrencyLimiter', 'AdaptiveConcurrencyLimiter']);
    });
    await fc.assert(property, { seed: SEED, numRuns: RUNS / 2 });
  });
}

test(`add: anything is refused or makes a strategy (seed ${SEED})`, async () => {
  const outcome = { ok: true, result: 'fine' };
  const factories = lazily(
    () => () => ({ name: 'Own', execute: (next, context) => next(context) }),
    () => () => ({ name: 'Own', execute: () => outcome }),
    () => () => ({ name: '', execute: () => outcome }),
    () => () => ({ execute: () => outcome }),
    () => () => revoked({}),
    () => () => new Proxy({ name: 'Own', execute: async () => outcome }, {}),
  );
  let accepted = 0;
  const property = fc.asyncProperty(fc.oneof(anything, factories), async (drawn) => {
    let pipeline;
    try {
      pipeline = new PipelineBuilder().add(made(drawn)).build();
    } catch (error) {
      // That of a class is the engine's own.
      if (!/^Class constructor/.test(error.message)) assertHelpful(error, 'strategy', []);
      return;
    }
    accepted += 1;
    await assertWorks(pipeline, [], []);
  });
  await fc.assert(property, { seed: SEED, numRuns: RUNS });
  assert.ok(accepted >= 20, `only ${accepted} accepted`);
});

test(`restoreState: anything is refused or restored (seed ${SEED})`, async () => {
  const rules = {
    state: choice('closed', 'open', 'half-open', 'isolated'),
    breakRemaining: numberThat((value) => value >= 0),
    exportedAt: numberThat((value) => value >= 0),
  };
  const states = fc.record(Object.fromEntries(Object.entries(rules).map(([key, { value }]) => [key, value])));
  let accepted = 0;
  const property = fc.property(fc.oneof({ weight: 5, arbitrary: states }, anything), (drawn) => {
    const saved = made(drawn);
    const breaker = new ResiliencePipelineBuilder().addCircuitBreaker().build().getStrategy('CircuitBreaker');
    if (drawn === saved && typeof saved === 'object' && saved !== null) {
      for (const key of Object.keys(rules)) if (key in saved) saved[key] = made(saved[key]);
    }
    const fits = (value) => Object.keys(rules).every((key) => rules[key].accepts(value[key]));
    const valid = answers(fits)(saved);
    try {
      breaker.restoreState(saved);
    } catch (error) {
      assert.ok(!valid, inspect(error));
      assertHelpful(error, 'restoreState', Object.keys(rules));
      assert.equal(breaker.state, 'closed');
      return;
    }
    assert.ok(valid, 'accepted');
    accepted += 1;
    // The epoch is long ago: of most breaks nothing is left.
    const states = saved.state === 'open' ? ['open', 'half-open'] : [saved.state];
    assert.ok(states.includes(breaker.state), breaker.state);
  });
  fc.assert(property, { seed: SEED, numRuns: RUNS });
  assert.ok(accepted >= 20, `only ${accepted} accepted`);
});

test(`a sample of a built-in algorithm is refused or gives a number (seed ${SEED})`, () => {
  const aNumber = rule((value) => typeof value === 'number', anyNumber);
  const rules = { rtt: aNumber, inflight: aNumber, dropped: choice(true, false), limit: aNumber };
  const kind = rule(
    (value) => value === undefined || typeof value === 'string',
    fc.constantFrom('get', undefined),
  );
  const timed = { ...rules, now: aNumber, startedAt: aNumber, operation: kind };
  const samples = fc.record(
    Object.fromEntries(Object.entries(timed).map(([key, { value }]) => [key, value])),
  );
  const property = fc.property(fc.oneof({ weight: 5, arbitrary: samples }, anything), (drawn) => {
    const sample = made(drawn);
    if (drawn === sample && typeof sample === 'object' && sample !== null) {
      for (const key of Object.keys(timed)) if (key in sample) sample[key] = made(sample[key]);
    }
    for (const [algorithm, needs] of [
      [gradient2(), rules],
      [vegas(), rules],
      [aimd(), rules],
      [knee(), timed],
    ]) {
      const fits = (value) => Object.keys(needs).every((key) => needs[key].accepts(value[key]));
      const valid = answers(fits)(sample);
      let next;
      try {
        next = algorithm.onSample(sample);
      } catch (error) {
        assert.ok(!valid, inspect(error));
        assertHelpful(error, 'sample', Object.keys(needs));
        continue;
      }
      assert.ok(valid, 'accepted');
      assert.equal(typeof next, 'number');
    }
  });
  fc.assert(property, { seed: SEED, numRuns: RUNS });
});

for (const method of ['execute', 'settle']) {
  test(`${method}: arbitrary callbacks and options are refused or work (seed ${SEED})`, async () => {
    const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).addTimeout('1h').build();
    const controller = new AbortController();
    const signal = rule(
      (value) => value instanceof AbortSignal,
      lazily(() => controller.signal),
    ).value;
    const properties = fc.oneof(
      anything,
      fc.constant([['key', 1]]),
      lazily(() => new Map()),
    );
    const options = fc.oneof(
      fc.record({ signal, properties, operationKey: fc.oneof(fc.string(), anything) }, { requiredKeys: [] }),
      anything,
    );
    const callback = fc.oneof({ weight: 3, arbitrary: lazily(() => wellBehaved) }, anything);
    const property = fc.asyncProperty(callback, options, async (drawnRun, drawnOptions) => {
      const run = made(drawnRun);
      const given = made(drawnOptions);
      if (drawnOptions === given && typeof given === 'object' && given !== null) {
        for (const [key, value] of Object.entries(given)) given[key] = made(value);
      }
      let ran = false;
      const spied = typeof run === 'function' ? () => ((ran = true), 'fine') : run;
      const promise = pipeline[method](spied, given);
      const [{ status, value, reason }] = await Promise.allSettled([promise]);
      if (method === 'settle') assert.equal(status, 'fulfilled');
      const error = method === 'settle' ? value.error : reason;
      if (ran) assert.equal(method === 'settle' ? value.result : value, 'fine');
      else assertHelpful(error, 'callback', ['options', 'signal', 'properties', 'operationKey']);
      assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
    });
    await fc.assert(property, { seed: SEED, numRuns: RUNS });
  });
}
