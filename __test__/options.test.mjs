import assert from 'node:assert/strict';
import test from 'node:test';
import { inspect } from 'node:util';
import {
  AdaptiveLimitProvider,
  ResiliencePipelineBuilder,
  aimd,
  gradient2,
  knee,
  vegas,
} from '@ylcnfrht/resilience';
import { expressErrors, honoErrors, koaErrors, withResilience } from '@ylcnfrht/resilience/http';

const builder = () => new ResiliencePipelineBuilder();
/** What takes options, with a valid set of them. */
const TAKERS = {
  ResiliencePipelineBuilder: [(options) => new ResiliencePipelineBuilder(options), { name: 'p' }],
  addTimeout: [(options) => builder().addTimeout(options), { timeout: 5 }],
  'addTimeout generator': [(options) => builder().addTimeout(options), { timeoutGenerator: () => 5 }],
  addConcurrencyLimiter: [(options) => builder().addConcurrencyLimiter(options), { permitLimit: 1 }],
  addAdaptiveConcurrencyLimiter: [
    (options) => builder().addAdaptiveConcurrencyLimiter(options),
    { minLimit: 1 },
  ],
  addFallback: [(options) => builder().addFallback(options), { fallbackValue: 1 }],
  'addFallback action': [(options) => builder().addFallback(options), { fallbackAction: () => 1 }],
  gradient2: [gradient2, {}],
  vegas: [vegas, {}],
  aimd: [aimd, {}],
  knee: [knee, {}],
  withResilience: [(options) => withResilience(() => {}, options), { timeout: 5 }],
  overload: [(overload) => withResilience(() => {}, { overload }), {}],
  expressErrors: [expressErrors, {}],
  koaErrors: [koaErrors, {}],
  honoErrors: [honoErrors, {}],
};

/** Those that also take something else than an object. */
const TAKES_OTHERS = /^(add(T|C)|overload)/;
/** A value as errors show it. */
function shown(value) {
  const text = inspect(value, { depth: 0, breakLength: Infinity });
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** What would count as an object without any options. */
const NO_BAGS = [[], new Map(), new Date(0), /x/, new Error('x'), Promise.resolve(), new AbortController()];

const OBJECTS = [{}, [], new Date(0)];
const NO_STRING = [null, 1, true, ...OBJECTS, Symbol('s'), () => {}];
const NO_FUNCTION = [null, 1, 'f', true, ...OBJECTS];
const NO_NUMBER = [null, '10', '', true, 10n, ...OBJECTS, Symbol('n'), () => 1];
const NO_DURATION = [null, true, 10n, ...OBJECTS, () => 1];
const NO_POSITIVE_DURATION = [
  NaN,
  Infinity,
  -Infinity,
  0,
  -0,
  -1,
  '',
  '10',
  '0ms',
  '-5ms',
  '5 s',
  '5 parsecs',
];
const NO_CHOICE = ['', 'other', 'toString', '__proto__'];

/** By taker and option: wrong types, then values out of range. */
const INVALID = {
  ResiliencePipelineBuilder: {
    name: [NO_STRING, ['']],
    context: [NO_STRING, ['Ambient', ...NO_CHOICE]],
    telemetry: [NO_FUNCTION, []],
  },
  addTimeout: {
    timeout: [NO_DURATION, NO_POSITIVE_DURATION],
    onTimeout: [NO_FUNCTION, []],
    name: [NO_STRING, ['']],
  },
  'addTimeout generator': { timeoutGenerator: [NO_FUNCTION, []] },
  addConcurrencyLimiter: {
    permitLimit: [
      [undefined, ...NO_NUMBER],
      [NaN, Infinity, -Infinity, 1.5, 0, -0, -1, 2 ** 31, 2 ** 32, 2 ** 53],
    ],
    queueLimit: [NO_NUMBER, [NaN, Infinity, -Infinity, 1.5, -1, 2 ** 31, 2 ** 32]],
    queueTimeout: [NO_DURATION, NO_POSITIVE_DURATION],
    priority: [NO_FUNCTION, []],
    overflow: [NO_STRING, ['drop-newest', ...NO_CHOICE]],
    onRejected: [NO_FUNCTION, []],
    name: [NO_STRING, ['']],
  },
  addAdaptiveConcurrencyLimiter: {
    algorithm: [
      [null, 1, 'knot', 'Gradient2', '__proto__', 'toString', ...OBJECTS, { onSample: 1 }, gradient2],
      [],
    ],
    initialLimit: [NO_NUMBER, [NaN, Infinity, -Infinity, 1.5, 0, -1, 1001, 2 ** 32]],
    minLimit: [NO_NUMBER, [NaN, Infinity, -Infinity, 1.5, 0, -1, 2 ** 31, 2 ** 32]],
    maxLimit: [NO_NUMBER, [NaN, Infinity, -Infinity, 1.5, 0, -1, 2 ** 31, 2 ** 32]],
    queueLimit: [NO_NUMBER, [NaN, Infinity, -Infinity, 1.5, -1, 2 ** 31, 2 ** 32]],
    queueTimeout: [NO_DURATION, NO_POSITIVE_DURATION],
    shouldDrop: [NO_FUNCTION, []],
    operation: [NO_FUNCTION, []],
    limitProvider: [
      [
        null,
        1,
        'p',
        ...OBJECTS,
        { limit: 1, inflight: 0, queued: 0 },
        AdaptiveLimitProvider,
        Object.create(AdaptiveLimitProvider.prototype),
        new Proxy(new AdaptiveLimitProvider(), {}),
      ],
      [],
    ],
    onLimitChanged: [NO_FUNCTION, []],
    onRejected: [NO_FUNCTION, []],
    name: [NO_STRING, ['']],
  },
  addFallback: {
    shouldHandle: [NO_FUNCTION, []],
    onFallback: [NO_FUNCTION, []],
    name: [NO_STRING, ['']],
  },
  'addFallback action': { fallbackAction: [NO_FUNCTION, []] },
  gradient2: {
    tolerance: [NO_NUMBER, [NaN, Infinity, -Infinity, 0.99, 0, -1]],
    shortWindow: [NO_NUMBER, [NaN, Infinity, -Infinity, 0.99, 0, -1]],
    longWindow: [NO_NUMBER, [NaN, Infinity, -Infinity, 0.99, 0, -1]],
    smoothing: [NO_NUMBER, [NaN, Infinity, -Infinity, 0, -0, 1.01, -1]],
    queueSize: [NO_FUNCTION, []],
    backoffRatio: [NO_NUMBER, [NaN, Infinity, -Infinity, 0, 1, 1.5, -0.5]],
  },
  vegas: {
    alpha: [NO_NUMBER, [NaN, Infinity, -Infinity, 0, -1]],
    beta: [NO_NUMBER, [NaN, Infinity, -Infinity, 0, 3, -1]],
  },
  aimd: {
    increase: [NO_NUMBER, [NaN, Infinity, -Infinity, 0, -1]],
    backoffRatio: [NO_NUMBER, [NaN, Infinity, -Infinity, 0, 1, 1.5, -0.5]],
  },
  knee: {
    headroom: [NO_NUMBER, [NaN, Infinity, -Infinity, -0.1, -1]],
    queue: [NO_STRING, ['none', ...NO_CHOICE]],
  },
};

for (const [taker, options] of Object.entries(INVALID)) {
  const [take, valid] = TAKERS[taker];
  for (const [option, [wrongTypes, outOfRange]] of Object.entries(options)) {
    test(`${taker} refuses an invalid ${option}, naming it, the value and what is accepted`, () => {
      for (const [values, type] of [
        [wrongTypes, TypeError],
        [outOfRange, RangeError],
      ]) {
        for (const value of values) {
          const shown = inspect(value, { depth: 0, breakLength: Infinity });
          assert.throws(
            () => take({ ...valid, [option]: value }),
            (error) => {
              assert.equal(error.constructor, type, `${shown}: ${error}`);
              assert.match(error.message, new RegExp(`^${option} must be \\S.*, not `));
              assert.ok(error.message.endsWith(`, not ${shown}`), error.message);
              return true;
            },
          );
        }
      }
    });

    if (option in valid && option !== 'name' && option !== 'minLimit') continue;
    test(`${taker} takes ${option}: undefined for its default`, () => {
      take({ ...valid, [option]: undefined });
    });
  }
}

for (const [taker, [take, valid]] of Object.entries(TAKERS)) {
  const name = taker.split(' ')[0];
  test(`${taker} refuses an option that it does not have, and lists those that it has`, () => {
    assert.throws(
      () => take({ ...valid, permitlimit: 1 }),
      (error) => {
        assert.equal(error.constructor, TypeError);
        assert.match(
          error.message,
          new RegExp(`^${name} has no option 'permitlimit'; (did you mean '\\w+'\\? )?it takes \\w+(, \\w+)*$`),
        );
        return true;
      },
    );
  });

  test(`${taker} takes only an object for its options`, () => {
    const primitives = TAKES_OTHERS.test(taker) ? [] : [1, 'x', true, Symbol('x'), () => {}];
    for (const options of [null, ...primitives, ...NO_BAGS]) {
      assert.throws(() => take(options), {
        name: 'TypeError',
        message: `the options of ${name} must be an object, not ${shown(options)}`,
      });
    }
  });

  test(`${taker} takes getters on a prototype, a proxy, and an object without prototype`, () => {
    class Options {}
    for (const [key, value] of Object.entries(valid)) {
      Object.defineProperty(Options.prototype, key, { get: () => value });
    }
    take(new Options());
    take(new Proxy({ ...valid }, {}));
    take(Object.assign(Object.create(null), valid));
    take({ ...valid, [Symbol('mine')]: 1 });
  });

  test(`${taker} reads each option once, and passes on what a getter throws`, () => {
    const reads = [];
    const counting = new Proxy(
      { ...valid },
      {
        get: (target, key) => {
          reads.push(key);
          return target[key];
        },
      },
    );
    take(counting);
    assert.deepEqual(reads.length, new Set(reads).size, String(reads));
    const mine = new Error('mine');
    const throwing = {
      ...valid,
      get name() {
        throw mine;
      },
    };
    if (reads.includes('name'))
      assert.throws(
        () => take(throwing),
        (error) => error === mine,
      );
  });
}

test('the integers at the ends of their range are accepted', () => {
  const max = 2 ** 31 - 1;
  const live = (options) =>
    builder().addAdaptiveConcurrencyLimiter(options).build().getStrategy('AdaptiveConcurrencyLimiter').limit;
  builder().addConcurrencyLimiter(1, 0).build();
  builder().addConcurrencyLimiter({ permitLimit: max, queueLimit: max }).build();
  assert.equal(live({ initialLimit: max, minLimit: 1, maxLimit: max, queueLimit: max }), max);
  assert.equal(live({ initialLimit: max, minLimit: max, maxLimit: max }), max);
  gradient2({ tolerance: 1, shortWindow: 1, longWindow: 1, smoothing: 1, backoffRatio: 0.999 });
  vegas({ alpha: Number.MIN_VALUE, beta: 1e300 });
  knee({ headroom: -0, queue: 'long' });
  knee({ headroom: Number.MAX_VALUE });
});
