import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder, aimd, gradient2, vegas } from '@ylcnfrht/resilience';
import { hold, simulate } from './support/hold.mjs';

const sample = (rtt, limit, dropped = false) => ({ rtt, inflight: limit, dropped, limit });
const near = (actual, expected) =>
  assert.ok(
    Math.abs(actual - expected) <= 1e-9 * Math.max(1, Math.abs(expected)),
    `${actual}, not ${expected}`,
  );

/** The rule of gradient2 as it is documented. */
function referenceGradient2({
  tolerance = 1.5,
  shortWindow = 10,
  longWindow = 600,
  smoothing = 0.2,
  queueSize = Math.sqrt,
  backoffRatio = 0.9,
} = {}) {
  let short;
  let baseline = Infinity;
  return ({ rtt, dropped, limit }) => {
    if (dropped) return limit * backoffRatio;
    if (rtt === 0) return limit;
    short = short === undefined ? rtt : short + (rtt - short) * (2 / (shortWindow + 1));
    if (short < baseline) baseline = short;
    else if (short <= tolerance * baseline) baseline += (short - baseline) * (2 / (longWindow + 1));
    const gradient = Math.min(Math.max((tolerance * baseline) / short, 0.5), 1);
    return limit * (1 - smoothing) + (limit * gradient + queueSize(limit)) * smoothing;
  };
}

/** A repeatable series of samples: calm, a slowdown with drops, calm again. */
function* series() {
  let seed = 1;
  const random = () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
  for (let index = 0; index < 3000; index += 1) {
    const slow = index >= 1000 && index < 2000;
    yield {
      rtt: random() < 0.02 ? 0 : (slow ? 100 : 20) * (0.5 + random()),
      dropped: slow && random() < 0.05,
    };
  }
}

for (const options of [
  undefined,
  {},
  { tolerance: 1, shortWindow: 1, longWindow: 1, smoothing: 1, backoffRatio: 0.5 },
  { tolerance: 3, shortWindow: 5.5, longWindow: 50, smoothing: 0.05 },
  { queueSize: (limit) => Math.max(4, limit / 10) },
]) {
  test(`gradient2(${options === undefined ? '' : Object.keys(options)}) follows its documented rule`, () => {
    const algorithm = gradient2(options);
    const reference = referenceGradient2(options);
    let limit = 20;
    for (const { rtt, dropped } of series()) {
      const given = sample(rtt, limit, dropped);
      const next = algorithm.onSample(given);
      near(next, reference(given));
      limit = Math.min(Math.max(next, 1), 1000);
    }
  });
}

test("gradient2: flat latency adds a fifth of the limit's root", () => {
  const algorithm = gradient2();
  near(algorithm.onSample(sample(10, 100)), 102);
  near(algorithm.onSample(sample(10, 100)), 102);
});

test('gradient2: a latency that is no number changes nothing', () => {
  const algorithm = gradient2();
  for (const rtt of [NaN, Infinity]) assert.equal(algorithm.onSample(sample(rtt, 100)), 100);
  near(algorithm.onSample(sample(10, 100)), 102);
});

test('gradient2: the gradient is never below a half', () => {
  const algorithm = gradient2({ shortWindow: 1 });
  algorithm.onSample(sample(10, 100));
  near(algorithm.onSample(sample(20, 100)), 80 + (75 + 10) * 0.2);
  near(algorithm.onSample(sample(1e9, 100)), 80 + (50 + 10) * 0.2);
});

test('gradient2: sustained overload does not become the baseline', () => {
  const algorithm = gradient2({ shortWindow: 1 });
  algorithm.onSample(sample(10, 100));
  for (let index = 0; index < 10_000; index += 1) algorithm.onSample(sample(30, 100));
  near(algorithm.onSample(sample(30, 100)), 80 + (50 + 10) * 0.2);
});

test('gradient2: an rtt of 0 is no signal, a drop cuts by backoffRatio', () => {
  const algorithm = gradient2();
  near(algorithm.onSample(sample(0, 100)), 100);
  near(algorithm.onSample(sample(0, 100, true)), 90);
  near(algorithm.onSample(sample(10, 100)), 102);
});

test('vegas: grows below alpha, holds within the band, shrinks above beta', () => {
  const algorithm = vegas();
  near(algorithm.onSample(sample(10, 100)), 100 + 6 / 100);
  near(algorithm.onSample(sample(10 / 0.94, 100)), 100);
  near(algorithm.onSample(sample(10 / 0.88, 100)), 100);
  near(algorithm.onSample(sample(20, 100)), 100 - (50 - 12) / 100);
});

test('vegas: a drop cuts by beta * log10(limit)', () => {
  near(vegas().onSample(sample(10, 100, true)), 100 - 12);
  near(vegas({ alpha: 2, beta: 4 }).onSample(sample(10, 1000, true)), 1000 - 12);
});

test('vegas: the thresholds of a limit below 10 are those of 10', () => {
  near(vegas().onSample(sample(10, 2)), 2 + 3 / 2);
  near(vegas().onSample(sample(10, 1)), 1 + 3);
  near(vegas().onSample(sample(10, 8, true)), 2);
});

test('vegas: the fastest latency seen stays the one without a queue; an rtt of 0 is none', () => {
  const algorithm = vegas();
  algorithm.onSample(sample(10, 100));
  algorithm.onSample(sample(0, 100));
  for (let index = 0; index < 1000; index += 1) algorithm.onSample(sample(20, 100));
  near(algorithm.onSample(sample(20, 100)), 100 - 38 / 100);
  algorithm.onSample(sample(5, 100));
  near(algorithm.onSample(sample(10, 100)), 100 - 38 / 100);
});

test('aimd: one more in a round trip, a tenth less on a drop, whatever the latency', () => {
  const algorithm = aimd();
  near(algorithm.onSample(sample(1, 10)), 10.1);
  near(algorithm.onSample(sample(1e6, 10)), 10.1);
  near(algorithm.onSample(sample(0, 10)), 10.1);
  near(algorithm.onSample(sample(1, 10, true)), 9);
  near(aimd({ increase: 5, backoffRatio: 0.5 }).onSample(sample(1, 10)), 10.5);
  near(aimd({ increase: 5, backoffRatio: 0.5 }).onSample(sample(1, 10, true)), 5);
});

for (const [name, make] of [
  ['gradient2', gradient2],
  ['vegas', vegas],
  ['aimd', aimd],
]) {
  test(`${name}: a limiter does the same with its name, its object and a wrapper of it`, async (t) => {
    simulate(t);
    const inner = make();
    const changes = [];
    for (const algorithm of [name, make(), { onSample: (given) => inner.onSample(given) }]) {
      const seen = [];
      const pipeline = new ResiliencePipelineBuilder()
        .addAdaptiveConcurrencyLimiter({
          algorithm,
          initialLimit: 8,
          maxLimit: 30,
          onLimitChanged: ({ oldLimit, newLimit }) => seen.push([oldLimit, newLimit]),
        })
        .addTimeout(100)
        .build();
      const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
      for (let round = 0; round < 60; round += 1) {
        const held = Array.from({ length: limiter.limit }, () => hold(pipeline));
        const slow = round >= 20 && round < 40;
        t.mock.timers.tick(slow ? 100 : 20 + (round % 3));
        for (const { finish } of held) finish();
        await Promise.allSettled(held.map(({ promise }) => promise));
      }
      assert.ok(seen.some(([oldLimit, newLimit]) => newLimit < oldLimit));
      assert.ok(seen.some(([oldLimit, newLimit]) => newLimit > oldLimit));
      changes.push(seen);
    }
    assert.deepEqual(changes[1], changes[0]);
    assert.deepEqual(changes[2], changes[0]);
  });
}

for (const [name, algorithm] of [
  ['vegas()', vegas()],
  ['gradient2() with a queueSize', gradient2({ queueSize: () => 4 })],
]) {
  test(`${name}: an object that has learned, given to two limiters, begins anew in each`, async (t) => {
    simulate(t);
    algorithm.onSample(sample(1, 20));
    const builder = new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter({ algorithm });
    for (const rtt of [10, 50]) {
      const pipeline = builder.build();
      const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
      const held = Array.from({ length: 20 }, () => hold(pipeline));
      t.mock.timers.tick(rtt);
      held[0].finish();
      await held[0].promise;
      assert.equal(limiter.limit, 20, 'the first sample is the fastest: growth, by less than one');
      for (const { finish } of held) finish();
      await Promise.all(held.map(({ promise }) => promise));
      assert.ok(limiter.limit > 20);
    }
  });
}
