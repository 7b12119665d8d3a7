// Scenarios for the tests of the simulator.
import fc from 'fast-check';
import { simulate } from '@ylcnfrht/resilience/simulate';

/** Ten workers of 10 ms, twice as many calls as they can serve, for a second. */
export const SMALL = Object.freeze({
  duration: '1s',
  dependency: { workers: 10, service: { distribution: 'constant', mean: 10 } },
  callers: { rate: 2000 },
});

/** Runs for many minutes, unless it is ended. */
export const LONG = Object.freeze({
  duration: '1h',
  dependency: { workers: 100, service: { distribution: 'erlang', shape: 1000, mean: 20 } },
  callers: { rate: 5000 },
});

/** Everything that a scenario can have. */
export const FULL = Object.freeze({
  $schema: './schema.json',
  name: 'full',
  description: 'Everything',
  duration: '2s',
  deadline: 500,
  timeout: '1s',
  oracle: 13,
  limiter: {
    initialLimit: 20,
    minLimit: 2,
    maxLimit: 200,
    queueLimit: 10,
    queueTimeout: '100ms',
    overflow: 'drop-lowest-priority',
    operationKeys: true,
  },
  dependency: {
    workers: 10,
    discipline: 'sharing',
    service: { distribution: 'erlang', shape: 4, mean: '50ms' },
    loss: 0.01,
    stall: { every: '500ms', length: '20ms' },
  },
  eventLoop: {
    cpu: { distribution: 'constant', mean: '1ms' },
    before: 0.25,
    calls: 2,
    connections: 'fresh',
    accept: 'all',
    backlog: 100,
    costs: { turn: 0.01, accept: '0.05ms', parse: 0.02, refuse: 0, answer: 0.1 },
    pause: { every: '1s', length: '50ms' },
    overload: { targetDelay: '50ms', maxDelay: 250 },
  },
  callers: [
    {
      name: 'web',
      client: 'one',
      priority: 1,
      operation: 'read',
      arrivals: 'poisson',
      rate: 100,
      service: { distribution: 'bimodal', mean: 20, slowShare: 0.1, slowFactor: 10 },
      retries: { attempts: 2, delay: '10ms', backoff: 3 },
      cpu: { distribution: 'constant', mean: 2 },
      streams: true,
    },
    { name: 'jobs', client: 'two', arrivals: 'bursts', rate: 50, burst: 5 },
    { name: 'people', operation: 'write', arrivals: 'closed', users: 5, think: '100ms' },
    {
      name: 'clockwork',
      arrivals: 'even',
      rate: 10,
      service: { distribution: 'uniform', mean: 5, jitter: 1 },
    },
    { name: 'noise', rate: 10, service: { distribution: 'lognormal', mean: 5, cv: 2 } },
    { name: 'tail', rate: 10, service: { distribution: 'pareto', mean: 5, shape: 1.5 } },
  ],
  phases: [
    { at: '1.5s', workers: 10, stall: null, rates: { web: 0, jobs: 200 } },
    { at: 500, workers: 0, slowdown: 2, loss: 0.5, stall: { every: 100, length: 10 } },
    { at: 750, workers: 20 },
  ],
  windows: { early: [0, '1s'], late: ['1s', 2000] },
});

/** What an accepted scenario is told apart by: it is read, then its run is ended before it begins. */
const ACCEPTED = Symbol('accepted');

/**
 * Reads a scenario without running it.
 *
 * @returns {Promise<unknown>} what it was refused with; undefined if it was not
 */
export async function refusal(scenario, options = {}) {
  const signal = AbortSignal.abort(ACCEPTED);
  return simulate({ scenario, signal, ...options }).then(
    () => {
      throw new Error('an aborted simulation has ended');
    },
    (error) => (error === ACCEPTED ? undefined : error),
  );
}

/** All places of a value, as lists of keys; the value itself first. */
export function placesOf(value, place = []) {
  if (typeof value !== 'object' || value === null) return [place];
  return [place, ...Object.keys(value).flatMap((key) => placesOf(value[key], [...place, key]))];
}

/** A copy with another value at a place. */
export function replaced(value, [key, ...rest], replacement) {
  if (key === undefined) return replacement;
  const copy = Array.isArray(value) ? [...value] : { ...value };
  copy[key] = replaced(value[key], rest, replacement);
  return copy;
}

/** A place as messages have it. */
export const pathOf = (place) =>
  place.reduce((path, key) => (/^\d+$/.test(key) ? `${path}[${key}]` : `${path}.${key}`), 'scenario');

const share = fc.double({ min: 0, max: 1, noNaN: true });
const between = (min, max) => fc.double({ min, max, noNaN: true });
/** A duration in one of the ways to write it. */
const duration = (min, max) =>
  fc.oneof(
    between(min, max),
    fc.integer({ min, max }).map((ms) => `${ms}ms`),
  );
const service = fc.oneof(
  fc.record({ distribution: fc.constant('constant'), mean: duration(1, 200) }),
  fc.record({ distribution: fc.constant('uniform'), mean: duration(1, 200), jitter: share }),
  fc.record({
    distribution: fc.constant('erlang'),
    mean: duration(1, 200),
    shape: fc.integer({ min: 1, max: 20 }),
  }),
  fc.record({ distribution: fc.constant('lognormal'), mean: duration(1, 200), cv: between(0.01, 5) }),
  fc.record({
    distribution: fc.constant('bimodal'),
    mean: duration(1, 200),
    slowShare: share,
    slowFactor: between(1.01, 50),
  }),
  fc.record({ distribution: fc.constant('pareto'), mean: duration(1, 200), shape: between(1.01, 5) }),
);
const stall = fc.record({ every: duration(50, 500), length: duration(1, 49) });
const caller = fc
  .tuple(
    fc.record(
      {
        client: fc.constantFrom('one', 'two', '__proto__'),
        priority: fc.integer({ min: -5, max: 5 }),
        operation: fc.constantFrom('read', 'write'),
        service,
        retries: fc.record(
          { attempts: fc.integer({ min: 1, max: 3 }), delay: duration(0, 50), backoff: between(1, 3) },
          { requiredKeys: ['attempts', 'delay'] },
        ),
        cpu: service,
        streams: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
    fc.oneof(
      fc.record({ rate: between(0, 500) }),
      fc.record({ arrivals: fc.constantFrom('poisson', 'even'), rate: between(0, 500) }),
      fc.record({
        arrivals: fc.constant('bursts'),
        rate: between(0, 500),
        burst: fc.integer({ min: 1, max: 100 }),
      }),
      fc.record({
        arrivals: fc.constant('closed'),
        users: fc.integer({ min: 1, max: 20 }),
        think: duration(5, 100),
      }),
    ),
  )
  .map((parts) => Object.assign({}, ...parts));
const phase = fc.record(
  {
    at: duration(0, 1000),
    workers: fc.integer({ min: 0, max: 50 }),
    slowdown: between(0.1, 10),
    loss: share,
    stall: fc.oneof(stall, fc.constant(null)),
  },
  { requiredKeys: ['at'] },
);
const limiter = fc.record(
  {
    initialLimit: fc.integer({ min: 10, max: 100 }),
    minLimit: fc.integer({ min: 1, max: 10 }),
    maxLimit: fc.integer({ min: 100, max: 5000 }),
    queueLimit: fc.integer({ min: 0, max: 50 }),
    queueTimeout: duration(1, 1000),
    overflow: fc.constantFrom('reject-new', 'drop-oldest', 'drop-lowest-priority'),
    operationKeys: fc.boolean(),
  },
  { requiredKeys: [] },
);

const eventLoop = fc.record(
  {
    cpu: service,
    before: share,
    calls: fc.integer({ min: 1, max: 3 }),
    connections: fc.constantFrom('kept', 'fresh'),
    accept: fc.constantFrom('one', 'all'),
    backlog: fc.integer({ min: 1, max: 600 }),
    costs: fc.record(
      {
        turn: between(0.001, 0.1),
        accept: between(0, 1),
        parse: between(0, 1),
        refuse: between(0, 1),
        answer: between(0, 1),
      },
      { requiredKeys: [] },
    ),
    pause: stall,
    overload: fc.record({ targetDelay: duration(1, 100), maxDelay: duration(100, 1000) }, { requiredKeys: [] }),
  },
  { requiredKeys: ['cpu'] },
);
/** What only calls of a dependency have. */
const dependent = ['service', 'streams', 'workers', 'slowdown', 'loss', 'stall', 'before', 'calls'];
const independent = (value) =>
  Object.fromEntries(Object.entries(value).filter(([name]) => !dependent.includes(name)));

/** Good scenarios of a second: with a dependency, with an event loop, or with both. */
export const scenario = fc
  .record(
    {
      duration: fc.constantFrom(1000, '1s', '1000ms'),
      deadline: duration(1, 1000),
      timeout: duration(1, 1000),
      oracle: fc.integer({ min: 1, max: 100 }),
      limiter,
      dependency: fc.record(
        {
          workers: fc.integer({ min: 1, max: 50 }),
          discipline: fc.constantFrom('fifo', 'sharing'),
          service,
          loss: share,
          stall,
        },
        { requiredKeys: ['workers', 'service'] },
      ),
      eventLoop,
      callers: fc.oneof(caller, fc.array(caller, { minLength: 1, maxLength: 4 })),
      phases: fc.array(phase, { maxLength: 4 }),
      windows: fc.dictionary(fc.string({ maxLength: 5 }), fc.tuple(duration(0, 500), duration(501, 1000)), {
        maxKeys: 3,
      }),
    },
    { requiredKeys: ['duration', 'callers'] },
  )
  .filter(({ dependency, eventLoop }) => dependency !== undefined || eventLoop !== undefined)
  .map((one) => {
    const callers = [one.callers].flat();
    const several = Array.isArray(one.callers);
    if (one.eventLoop !== undefined && one.dependency !== undefined) return one;
    if (one.eventLoop === undefined) {
      const plain = callers.map(({ cpu: _, streams: __, ...caller }) => caller);
      return { ...one, callers: several ? plain : plain[0] };
    }
    const changed = callers.map(independent);
    return {
      ...one,
      eventLoop: independent(one.eventLoop),
      callers: several ? changed : changed[0],
      ...(one.phases && { phases: one.phases.map(independent) }),
    };
  })
  // Names are unique.
  .map((one) =>
    Array.isArray(one.callers)
      ? { ...one, callers: one.callers.map((own, index) => ({ ...own, name: `caller ${index}` })) }
      : one,
  );
