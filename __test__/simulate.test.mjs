// What simulate() tells, and that the same seed tells the same.
import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { aimd, gradient2, knee, vegas } from '@ylcnfrht/resilience';
import { readScenario, simulate } from '@ylcnfrht/resilience/simulate';
import { FULL, SMALL, refusal, scenario } from './support/scenarios.mjs';

const SERIES = ['time', 'limit', 'inflight', 'capacity', 'latency', 'drops', 'rejected'];
const FIGURES = [
  ...['callers', 'cuts', 'fairness', 'falseRejects', 'goodput', 'inflight', 'limit', 'lost', 'meanLatency'],
  ...['offered', 'p50', 'p99', 'recovery', 'rejected', 'rejectedP99', 'throughput', 'timedOut'],
];
const near = (actual, expected, tolerance) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} is not within ${tolerance} of ${expected}`);

/** Ten workers that take 10 ms exactly, called once a millisecond: all are busy, none waits. */
const EXACT = {
  name: 'exact',
  duration: '10s',
  dependency: { workers: 10, service: { distribution: 'constant', mean: 10 } },
  callers: { arrivals: 'even', rate: 1000 },
  windows: { second: ['1s', '2s'] },
};

test('a fixed limit at the capacity, with even arrivals, serves every call in its service time', async () => {
  const report = await simulate({ scenario: EXACT, algorithms: 'fixed:11', points: 10 });
  const [{ figures, windows, runs, algorithm }] = report.algorithms;
  assert.deepEqual([report.scenario, report.duration, report.deadline], ['exact', 10_000, undefined]);
  assert.equal(algorithm, 'fixed:11');
  near(figures.offered, 1000, 0.2);
  near(windows.second.throughput, 1000, 1);
  for (const { p50, p99, meanLatency, rejected, falseRejects, timedOut, lost, limit, cuts } of [
    figures,
    windows.second,
  ]) {
    near(p50, 10, 1e-6);
    near(p99, 10, 1e-6);
    near(meanLatency, 10, 1e-6);
    assert.deepEqual([rejected, falseRejects, timedOut, lost, limit, cuts], [0, 0, 0, 0, 11, 0]);
  }
  assert.ok(Number.isNaN(figures.fairness), 'of one client');
  const [{ seed, series }] = runs;
  assert.equal(seed, 1);
  assert.deepEqual(series.time, [0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000]);
  assert.deepEqual(series.limit, Array(10).fill(11));
  assert.deepEqual(series.capacity, Array(10).fill(10));
  assert.deepEqual(series.drops, Array(10).fill(0));
});

test('a fixed limit of half the capacity turns half away, while workers stand idle', async () => {
  const { algorithms } = await simulate({ scenario: EXACT, algorithms: 'fixed:5' });
  const { throughput, goodput, rejected, falseRejects } = algorithms[0].windows.second;
  near(throughput, 500, 1);
  near(goodput, 0.5, 0.01);
  near(rejected, 0.5, 0.01);
  assert.equal(falseRejects, rejected);
});

test('the limit of gradient2 in the documented slowdown', async () => {
  const { algorithms } = await simulate({ scenario: 'slowdown', algorithms: 'gradient2' });
  const [{ windows }] = algorithms;
  assert.deepEqual(Object.keys(windows), ['before', 'slowed', 'after']);
  for (const [name, capacity, low, high] of [
    ['before', 750, 48, 62],
    ['slowed', 250, 16, 23],
    ['after', 750, 48, 64],
  ]) {
    const { throughput, limit } = windows[name];
    assert.ok(throughput >= 0.98 * capacity, `${name}: ${throughput} a second`);
    assert.ok(limit >= low && limit <= high, `${name}: limit ${limit}`);
  }
});

test('the oracle is the limit that the scenario names', async () => {
  const { algorithms } = await simulate({
    scenario: 'steady',
    algorithms: ['oracle', 'fixed:13', 'fixed:14'],
  });
  const { oracle } = readScenario('steady');
  assert.equal(oracle, 13);
  const [byOracle, by13, by14] = algorithms;
  assert.deepEqual(byOracle.figures, by13.figures);
  assert.notDeepEqual(byOracle.figures, by14.figures);
});

test('every part of the report is there', async () => {
  const report = await simulate({ scenario: FULL, algorithms: ['knee', 'aimd'], seeds: [3, 9], points: 25 });
  assert.deepEqual(Object.keys(report), ['scenario', 'duration', 'deadline', 'algorithms']);
  assert.deepEqual([report.scenario, report.duration, report.deadline], ['full', 2000, 500]);
  assert.deepEqual(
    report.algorithms.map(({ algorithm }) => algorithm),
    ['knee', 'aimd'],
  );
  for (const { figures, windows, runs } of report.algorithms) {
    assert.deepEqual(
      runs.map(({ seed }) => seed),
      [3, 9],
    );
    assert.deepEqual(Object.keys(windows), ['early', 'late']);
    for (const run of [{ figures, windows }, ...runs]) {
      for (const one of [run.figures, ...Object.values(run.windows)]) {
        assert.deepEqual(Object.keys(one).sort(), FIGURES);
        assert.deepEqual(Object.keys(one.callers), ['web', 'jobs', 'people', 'clockwork', 'noise', 'tail']);
        assert.deepEqual(Object.keys(one.callers.web), ['offered', 'goodput', 'rejected', 'p99']);
        assert.ok(one.fairness > 0 && one.fairness <= 1, `fairness ${one.fairness}`);
      }
    }
    for (const { series } of runs) {
      assert.deepEqual(Object.keys(series), SERIES);
      for (const name of SERIES) assert.equal(series[name].length, 25, name);
    }
    const sum = runs.map((run) => run.figures.throughput).reduce((one, other) => one + other);
    near(figures.throughput, sum / 2, 1e-9);
    near(
      windows.late.callers.web.offered,
      (runs[0].windows.late.callers.web.offered + runs[1].windows.late.callers.web.offered) / 2,
      1e-9,
    );
  }
});

test('a mean leaves out what has nothing to tell', async () => {
  const rare = { ...SMALL, callers: { rate: 1 } };
  const { algorithms } = await simulate({ scenario: rare, seeds: 20 });
  const [{ figures, runs }] = algorithms;
  const known = runs.map((run) => run.figures.p99).filter((p99) => !Number.isNaN(p99));
  assert.ok(known.length > 0 && known.length < 20, `${known.length} of 20 seeds had calls`);
  near(figures.p99, known.reduce((one, other) => one + other) / known.length, 1e-9);
  const none = await simulate({ scenario: { ...SMALL, callers: { rate: 0 } } });
  assert.ok(Number.isNaN(none.algorithms[0].figures.p99));
});

test('the same seed gives the same result, another one another', async () => {
  const options = {
    scenario: FULL,
    algorithms: ['knee', 'gradient2', 'vegas', 'aimd', 'fixed:7'],
    seeds: [5, 6, 5],
  };
  const [one, other] = await Promise.all([simulate(options), simulate(options)]);
  assert.deepEqual(one, other);
  for (const { runs, algorithm } of one.algorithms) {
    assert.deepEqual(runs[0], runs[2]);
    assert.notDeepEqual(runs[0].figures, runs[1].figures, algorithm);
  }
});

test('a number of seeds counts from 1', async () => {
  const { algorithms } = await simulate({ scenario: SMALL, seeds: 3 });
  assert.deepEqual(
    algorithms[0].runs.map(({ seed }) => seed),
    [1, 2, 3],
  );
  const alone = await simulate({ scenario: SMALL, seeds: [2] });
  assert.deepEqual(alone.algorithms[0].runs[0], algorithms[0].runs[1]);
});

test('built-in algorithms as objects, whatever they have learned', async () => {
  const learned = vegas();
  for (let index = 0; index < 50; index += 1) {
    learned.onSample({ rtt: 1 + index, inflight: 20, dropped: false, limit: 20 });
  }
  const { algorithms } = await simulate({
    scenario: SMALL,
    algorithms: [learned, vegas(), vegas({ alpha: 1 }), 'vegas', knee(), gradient2(), aimd()],
  });
  assert.deepEqual(
    algorithms.map(({ algorithm }) => algorithm),
    ['vegas', 'vegas #2', 'vegas #3', 'vegas #4', 'knee', 'gradient2', 'aimd'],
  );
  assert.deepEqual(algorithms[0].runs, algorithms[3].runs);
  assert.deepEqual(algorithms[1].runs, algorithms[3].runs);
  assert.notDeepEqual(algorithms[2].runs, algorithms[3].runs);
});

test('options that are not given are the defaults', async () => {
  const [least, all] = await Promise.all([
    simulate({ scenario: SMALL }),
    simulate({
      scenario: {
        ...SMALL,
        name: undefined,
        deadline: undefined,
        limiter: { initialLimit: 20, minLimit: 1, maxLimit: 1000, queueLimit: 0, overflow: 'reject-new' },
        dependency: { ...SMALL.dependency, discipline: 'fifo', loss: 0, stall: undefined },
        callers: [{ name: 'calls', client: 'client', priority: 0, arrivals: 'poisson', rate: 2000 }],
        phases: [],
        windows: {},
      },
      algorithms: ['knee'],
      seeds: [1],
      points: 300,
      signal: undefined,
      onProgress: undefined,
    }),
  ]);
  assert.deepEqual(least, all);
  assert.equal(least.scenario, 'scenario');
});

for (const [name, options, kind, message] of [
  ['no options', undefined, TypeError, /^the options of simulate must be an object, not undefined$/],
  [
    'an unknown option',
    { scenario: SMALL, seed: 1 },
    TypeError,
    /^simulate has no option 'seed'; did you mean 'seeds'\? it takes scenario, /,
  ],
  [
    'an unknown algorithm',
    { algorithms: 'kne' },
    RangeError,
    /^algorithms 'kne' is unknown; did you mean 'knee'\? /,
  ],
  [
    'one among several',
    { algorithms: ['knee', 'bbr'] },
    RangeError,
    /^algorithms\[1\] 'bbr' is unknown; it is one of 'knee', /,
  ],
  ['no algorithm', { algorithms: [] }, RangeError, /^algorithms must be 1 to 100, not 0$/],
  [
    'no oracle',
    { algorithms: 'oracle' },
    RangeError,
    /^algorithms cannot be 'oracle': the scenario has no field 'oracle'/,
  ],
  [
    'a limit of 0',
    { algorithms: 'fixed:0' },
    RangeError,
    /^the limit of algorithms 'fixed:0' must be an integer from 1 /,
  ],
  ['no limit', { algorithms: 'fixed:' }, RangeError, /^algorithms 'fixed:' is unknown/],
  ['a function', { algorithms: () => {} }, TypeError, /^algorithms must be one of 'knee', /],
  [
    'an algorithm in JavaScript',
    { algorithms: { onSample: () => 5 } },
    TypeError,
    /^algorithms must be a built-in algorithm: one in JavaScript cannot run off its thread$/,
  ],
  [
    'a gradient2 with JavaScript in it',
    { algorithms: [gradient2({ queueSize: () => 4 })] },
    TypeError,
    /^algorithms\[0\] must run natively: give gradient2 no queueSize of its own$/,
  ],
  ['no seed', { seeds: 0 }, RangeError, /^seeds must be an integer from 1 to 1000, not 0$/],
  [
    'an empty list of seeds',
    { seeds: [] },
    RangeError,
    /^seeds must be a list of 1 to 1000 integers, not \[\]$/,
  ],
  [
    'a seed below 0',
    { seeds: [1, -1] },
    RangeError,
    /^seeds\[1\] must be an integer from 0 to 2\^31-1, not -1$/,
  ],
  ['too few points', { points: 9 }, RangeError, /^points must be an integer from 10 to 10000, not 9$/],
  ['a signal that is none', { signal: {} }, TypeError, /^signal must be an AbortSignal, not {}$/],
  ['a callback that is none', { onProgress: 5 }, TypeError, /^onProgress must be a function, not 5$/],
]) {
  test(`${name}: refused, as a rejection`, async () => {
    const given = options && { scenario: SMALL, ...options };
    await assert.rejects(simulate(given), (error) => {
      assert.ok(error instanceof kind, String(error));
      assert.match(error.message, message);
      return true;
    });
  });
}

test('any good scenario runs, and its figures hold together', async () => {
  /** Sums are rounded. */
  const HAIR = 1e-9;
  const within = (value, low, high) => Number.isNaN(value) || (value >= low - HAIR && value <= high + HAIR);
  await fc.assert(
    fc.asyncProperty(scenario, fc.integer({ min: 0, max: 2 ** 31 - 1 }), async (good, seed) => {
      const report = await simulate({
        scenario: good,
        algorithms: [
          ...['knee', 'gradient2', 'vegas', 'aimd', 'fixed:10'],
          ...(good.eventLoop === undefined ? [] : ['overload']),
        ],
        seeds: [seed],
        points: 20,
      });
      const { minLimit = 1, maxLimit = 1000 } = good.limiter ?? {};
      const clients = new Set([good.callers].flat().map(({ client = 'client' }) => client)).size;
      for (const { algorithm, figures, runs, windows } of report.algorithms) {
        assert.deepEqual(Object.keys(windows).sort(), Object.keys(good.windows ?? {}).sort());
        for (const one of [figures, ...Object.values(windows)]) {
          const told = `${algorithm}: ${JSON.stringify(one)}`;
          for (const name of ['rejected', 'falseRejects', 'timedOut', 'lost', 'fairness']) {
            assert.ok(within(one[name], 0, 1), told);
          }
          assert.ok(within(one.rejected + one.timedOut + one.lost, 0, 1), told);
          assert.ok(within(one.falseRejects, 0, one.rejected), told);
          assert.ok(within(one.p50, 0, one.p99), told);
          // Timeouts begin behind the limiter's queue, and are kept to the millisecond, but by a busy event loop.
          const waits = (good.limiter?.queueLimit ?? 0) > 0 || good.eventLoop !== undefined;
          const longest = waits ? Infinity : parseFloat(good.timeout ?? Infinity) + 1;
          assert.ok(within(one.p99, 0, longest), told);
          for (const name of ['inflight', 'offered', 'throughput', 'goodput', 'cuts']) {
            assert.ok(within(one[name], 0, Infinity), told);
          }
        }
        const own = { 'fixed:10': [10, 10], overload: [0, Infinity] };
        const [low, high] = own[algorithm] ?? [minLimit, maxLimit];
        for (const limit of runs[0].series.limit) {
          assert.ok(within(limit, low * clients, high * clients), `${algorithm}: limit ${limit}`);
        }
      }
    }),
    { seed: 20_260_403, numRuns: 100 },
  );
});

/** A handler of 5 ms CPU over kept connections. */
const LOOP = {
  duration: '12s',
  deadline: '1s',
  eventLoop: { cpu: { distribution: 'constant', mean: 5 } },
  callers: { rate: 390 },
  windows: { loaded: ['4s', '11s'] },
};

test('an event loop with twice as many calls as it can do: overload answers, all else too late', async () => {
  const report = await simulate({ scenario: LOOP, algorithms: ['overload', 'none', 'knee', 'fixed:10'] });
  const [{ windows, algorithm }, ...others] = report.algorithms;
  const { goodput, p99, rejected, rejectedP99 } = windows.loaded;
  assert.equal(algorithm, 'overload');
  assert.ok(goodput > 0.95 && p99 < 120 && rejectedP99 < 10, `${goodput}, ${p99} ms, ${rejectedP99} ms`);
  near(rejected, 0.5, 0.03);
  for (const { algorithm: name, windows: own } of others) {
    assert.ok(own.loaded.goodput < 0.01 && own.loaded.rejected === 0, `${name}: ${own.loaded.goodput}`);
  }
  assert.equal(others[0].figures.limit, 0, 'none');
  const [byDefault] = (await simulate({ scenario: LOOP })).algorithms;
  assert.equal(byDefault.algorithm, 'overload');
  assert.deepEqual(byDefault.figures, report.algorithms[0].figures);
});

test('overload where there is no event loop is refused', async () => {
  const error = await refusal(SMALL, { algorithms: ['knee', 'overload'] });
  assert.ok(error instanceof RangeError);
  assert.match(error.message, /^algorithms\[1\] cannot be 'overload': the scenario has no field 'eventLoop'/);
});

test('none is a limit that nobody meets', async () => {
  const { algorithms } = await simulate({ scenario: SMALL, algorithms: ['none', 'fixed:100000'] });
  const [none, high] = algorithms.map(({ figures: { limit: _, ...figures } }) => figures);
  assert.deepEqual(none, high);
});

test('a refused scenario runs nothing', async () => {
  let progress = 0;
  const error = await refusal({ ...SMALL, duration: 0 }, { onProgress: () => (progress += 1) });
  assert.match(error.message, /^scenario\.duration must be /);
  assert.equal(progress, 0);
});
