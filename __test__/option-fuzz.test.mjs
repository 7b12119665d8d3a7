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
  ResiliencePipelineBuilder,
  aimd,
  gradient2,
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
    () => new AdaptiveLimitProvider(),
    () => ({ onSample: wellBehaved }),
    () => ({ onSample: 1 }),
    () => aimd(),
    () => new AbortController().signal,
  ),
);
const anything = fc.oneof(
  anyNumber,
  anyString,
  anyFunction,
  anyObject,
  fc.constantFrom(undefined, null, true, false, Symbol('x'), Symbol.iterator),
  fc.bigInt(),
);

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
const aFunction = rule(
  (value) => typeof value === 'function',
  lazily(() => wellBehaved),
);
const name = rule((value) => typeof value === 'string' && value !== '', fc.string({ minLength: 1 }));
const choice = (...choices) => rule((value) => choices.includes(value), fc.constantFrom(...choices));
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
        answers((value) => ['gradient2', 'vegas', 'aimd'].includes(value) || hasOnSample(value)),
        fc.oneof(
          fc.constantFrom('gradient2', 'vegas', 'aimd'),
          lazily(
            () => gradient2(),
            () => vegas(),
            () => aimd(),
            () => ({ onSample: wellBehaved }),
          ),
        ),
      ),
      initialLimit: integerFrom(1),
      minLimit: integerFrom(1),
      maxLimit: integerFrom(1),
      ...QUEUE,
      shouldDrop: aFunction,
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
  resilienceMiddleware: {
    rules: { timeout: duration, name },
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
  const odd = values.some((value) => typeof value === 'function' && value !== wellBehaved);
  if (!odd) assert.ok(outcome.ok, inspect(outcome));
  assertIdle(
    ...limiters
      .map((key) => pipeline.getStrategy(key))
      .filter((strategy) => strategy?.inflight !== undefined),
  );
}

for (const [taker, { rules, together = () => true, take }] of Object.entries(TAKERS)) {
  const keys = Object.keys(rules);
  const arbitrary = fc.record(
    Object.fromEntries(keys.map((key) => [key, fc.option(rules[key].value, { nil: undefined })])),
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

test(`a sample of a built-in algorithm is refused or gives a number (seed ${SEED})`, () => {
  const aNumber = rule((value) => typeof value === 'number', anyNumber);
  const rules = { rtt: aNumber, inflight: aNumber, dropped: choice(true, false), limit: aNumber };
  const samples = fc.record(
    Object.fromEntries(Object.entries(rules).map(([key, { value }]) => [key, value])),
  );
  const property = fc.property(fc.oneof({ weight: 5, arbitrary: samples }, anything), (drawn) => {
    const sample = made(drawn);
    if (drawn === sample && typeof sample === 'object' && sample !== null) {
      for (const key of Object.keys(rules)) if (key in sample) sample[key] = made(sample[key]);
    }
    const valid = answers((value) => Object.keys(rules).every((key) => rules[key].accepts(value[key])))(
      sample,
    );
    for (const algorithm of [gradient2(), vegas(), aimd()]) {
      let next;
      try {
        next = algorithm.onSample(sample);
      } catch (error) {
        assert.ok(!valid, inspect(error));
        assertHelpful(error, 'sample', Object.keys(rules));
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
