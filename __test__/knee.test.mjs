// The algorithm `knee`, alone and in a limiter.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder, knee } from '@ylcnfrht/resilience';
import { hold, simulate } from './support/hold.mjs';
import { generator } from './support/mix.mjs';

const LEARNED = { rtt: 20, inflight: 20, dropped: false, limit: 20, now: 20, startedAt: 0 };

/**
 * Feeds an algorithm the samples of callers who use its limit up; `latency(inflight, call)` is how long a call
 * takes. Returns the limit after each.
 */
function feed(algorithm, calls, { limit = 20, latency, operation }) {
  const limits = [];
  let now = 0;
  for (let call = 0; call < calls; call += 1) {
    const inflight = Math.max(1, Math.floor(limit));
    const rtt = latency(inflight, call);
    now += rtt / inflight;
    const sample = { rtt, inflight, dropped: false, limit, now, startedAt: now - rtt };
    limit = algorithm.onSample({ ...sample, operation: operation?.(call) });
    limits.push(limit);
  }
  return limits;
}

/** 50 ms, and a queue behind ten calls. */
const queueing = (inflight) => 50 * Math.max(1, inflight / 10);

test('alone, it begins at the limit of its first sample and keeps count from there', () => {
  for (const [limit, expected] of [
    [37, 37],
    [12.5, 12.5],
    [0.2, 1],
    [-3, 1],
    [NaN, 1],
  ]) {
    const algorithm = knee();
    assert.equal(algorithm.onSample({ ...LEARNED, limit }), expected);
    assert.equal(algorithm.onSample({ ...LEARNED, now: 21, limit: 900 }), expected);
  }
});

/** The limit that an algorithm keeps, apart from moments when it tries others. */
function settled(algorithm, limit) {
  const limits = feed(algorithm, 20_000, { limit, latency: queueing });
  return limits.slice(10_000).sort((a, b) => a - b)[5000];
}

test('alone, it finds the limit of a dependency from above and from below', () => {
  for (const limit of [3, 200]) {
    const found = settled(knee(), limit);
    assert.ok(found >= 11 && found <= 18, `${found} from ${limit} on`);
  }
});

test('alone, it doubles its limit while latency does not rise', () => {
  const limits = feed(knee(), 4000, { latency: () => 50 });
  const steps = [...new Set(limits)];
  assert.deepEqual(steps.slice(0, 6), [20, 40, 80, 160, 320, 640]);
});

test('a short queue is a lower limit than a long one', () => {
  const [short, balanced, long] = ['short', 'balanced', 'long'].map((queue) => settled(knee({ queue })));
  assert.ok(short > 10 && short < balanced && balanced < long, `${short}, ${balanced}, ${long}`);
  assert.equal(settled(knee()), balanced);
});

test('headroom is how far a limit that does not bind is lifted', () => {
  const lifted = (options) => {
    const algorithm = knee(options);
    let limit = 20;
    for (let now = 10; now < 60_000; now += 5) {
      const sample = { rtt: 40, inflight: 8, dropped: false, limit, now, startedAt: now - 40 };
      limit = algorithm.onSample(sample);
    }
    return limit;
  };
  // 7 others in flight on average; the latency does not vary, but that is not known from the start.
  assert.equal(lifted({ headroom: 0 }), 20);
  const [low, high] = [lifted({ headroom: 4 }), lifted({ headroom: 8 })];
  assert.ok(low >= 28 && low < 28 * 1.2, `${low}`);
  assert.ok(high >= 56 && high < 56 * 1.2, `${high}`);
  assert.equal(lifted({ headroom: 4.5 }), lifted());
});

test('the same samples give the same limits', () => {
  const noisy = () => {
    const next = generator(7);
    return (inflight) => queueing(inflight) * (0.5 + next());
  };
  const [first, second, tuned] = [knee(), knee(), knee({ queue: 'long' })].map((algorithm) =>
    feed(algorithm, 5000, { latency: noisy() }),
  );
  assert.deepEqual(second, first);
  assert.notDeepEqual(tuned, first);
  assert.ok(new Set(first).size > 10, 'the limit has moved');
});

test('alone, it tells kinds of calls apart by their operation', () => {
  // One call in ten is slow, and from the middle on all are.
  const lowestAfterShift = (operationOf) => {
    const algorithm = knee();
    const limits = feed(algorithm, 4000, {
      latency: (inflight, call) => (isSlow(call) ? 10 : 1) * queueing(inflight),
      operation: (call) => operationOf(isSlow(call)),
    });
    return Math.min(...limits.slice(2000, 2300));
  };
  const isSlow = (call) => call >= 2000 || call % 10 === 0;
  const [together, apart] = [() => undefined, (slow) => (slow ? 'report' : 'read')].map(lowestAfterShift);
  assert.ok(together < 10, `${together}: seen as one kind, latency has risen`);
  assert.ok(apart > 10, `${apart}`);
});

test('a sample with something else in it is a TypeError that names it', () => {
  for (const [wrong, message] of [
    [{ rtt: '20' }, "rtt must be a number, not '20'"],
    [{ inflight: undefined }, 'inflight must be a number, not undefined'],
    [{ dropped: 0 }, 'dropped must be a boolean, not 0'],
    [{ limit: null }, 'limit must be a number, not null'],
    [{ now: undefined }, 'now must be a number, not undefined'],
    [{ now: 20n }, 'now must be a number, not 20n'],
    [{ startedAt: undefined }, 'startedAt must be a number, not undefined'],
    [{ startedAt: new Date(0) }, 'startedAt must be a number, not 1970-01-01T00:00:00.000Z'],
    [{ operation: 5 }, 'operation must be a string or undefined, not 5'],
    [{ operation: null }, 'operation must be a string or undefined, not null'],
  ]) {
    assert.throws(() => knee().onSample({ ...LEARNED, ...wrong }), { name: 'TypeError', message });
  }
  for (const sample of [undefined, null, 5, 'sample']) {
    assert.throws(() => knee().onSample(sample), {
      name: 'TypeError',
      message: /^the sample must be an object, /,
    });
  }
});

test('a time or a latency that is no finite number changes nothing', () => {
  const algorithm = knee();
  for (const field of ['rtt', 'now', 'startedAt']) {
    for (const value of [NaN, Infinity, -Infinity]) {
      assert.equal(algorithm.onSample({ ...LEARNED, [field]: value }), 20);
    }
  }
  assert.deepEqual(feed(algorithm, 3000, { latency: queueing }), feed(knee(), 3000, { latency: queueing }));
});

test('what it is tuned by is checked', () => {
  for (const [options, name, message] of [
    [{ headroom: -1 }, 'RangeError', 'headroom must be a number of at least 0, not -1'],
    [{ headroom: '4' }, 'TypeError', "headroom must be a number of at least 0, not '4'"],
    [{ queue: 'none' }, 'RangeError', "queue must be one of 'short', 'balanced', 'long', not 'none'"],
    [{ queue: 4 }, 'TypeError', "queue must be one of 'short', 'balanced', 'long', not 4"],
    [{ alpha: 1 }, 'TypeError', "knee has no option 'alpha'; it takes headroom, queue"],
    [null, 'TypeError', 'the options of knee must be an object, not null'],
  ]) {
    assert.throws(() => knee(options), { name, message });
  }
});

/** A limiter with what it heard of its own limit, and rounds of calls that find it reached. */
function limiting(t, options) {
  const limits = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ onLimitChanged: ({ newLimit }) => limits.push(newLimit), ...options })
    .build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  const round = async (latency) => {
    const held = Array.from({ length: limiter.limit }, () => hold(pipeline));
    t.mock.timers.tick(latency(held.length));
    for (const { finish } of held) finish();
    await Promise.all(held.map(({ promise }) => promise));
  };
  return { limiter, limits, round };
}

for (const [name, make] of [
  ["'knee'", () => 'knee'],
  ['knee()', knee],
]) {
  test(`${name} in a limiter: a limit that binds grows while latency does not`, async (t) => {
    simulate(t);
    const { limiter, limits, round } = limiting(t, { algorithm: make(), maxLimit: 150 });
    for (let count = 0; count < 40 && limiter.limit < 150; count += 1) await round(() => 20);
    assert.deepEqual(limits, [40, 80, 150]);
  });

  test(`${name} in a limiter: latency that shows a queue cuts the limit`, async (t) => {
    simulate(t);
    const { limiter, round } = limiting(t, { algorithm: make(), maxLimit: 60 });
    for (let count = 0; count < 40 && limiter.limit < 60; count += 1) await round(() => 20);
    assert.equal(limiter.limit, 60);
    for (let count = 0; count < 40; count += 1) await round((inflight) => 20 * Math.max(1, inflight / 10));
    assert.ok(limiter.limit < 30, `${limiter.limit}`);
  });
}

test('a limiter that is not used up is lifted ahead of time, within its bounds', async (t) => {
  simulate(t);
  const idle = async (options) => {
    const pipeline = new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter(options).build();
    const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
    for (let count = 0; count < 300; count += 1) {
      const held = Array.from({ length: 15 }, () => hold(pipeline));
      t.mock.timers.tick(60);
      for (const { finish } of held) finish();
      await Promise.all(held.map(({ promise }) => promise));
    }
    return limiter.limit;
  };
  assert.equal(await idle({ algorithm: 'knee', maxLimit: 30 }), 30);
  assert.equal(await idle({ algorithm: knee({ headroom: 0 }) }), 20);
  assert.ok((await idle({ algorithm: 'knee' })) > 30);
});

test('a minLimit holds in an outage', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ algorithm: 'knee', minLimit: 3, initialLimit: 20 })
    .build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  const gone = Object.assign(new Error('gone'), { code: 'ECONNREFUSED' });
  for (let count = 0; count < 50; count += 1) {
    const held = Array.from({ length: limiter.limit }, () => hold(pipeline));
    t.mock.timers.tick(5);
    for (const { fail } of held) fail(gone);
    await Promise.allSettled(held.map(({ promise }) => promise));
  }
  assert.equal(limiter.limit, 3);
});

test('an object that has learned serves several limiters, and begins anew in each', async (t) => {
  simulate(t);
  const algorithm = knee({ queue: 'short' });
  feed(algorithm, 5000, { limit: 5, latency: queueing });
  const options = { algorithm, maxLimit: 200 };
  const [grows, falls] = [limiting(t, options), limiting(t, options)];
  assert.deepEqual([grows.limiter.limit, falls.limiter.limit], [20, 20]);
  for (let count = 0; count < 60; count += 1) {
    await grows.round(() => 20);
    await falls.round((inflight) => 20 * Math.max(1, inflight / 4));
  }
  assert.equal(Math.max(...grows.limits), 200);
  assert.ok(falls.limiter.limit < 20, `${falls.limiter.limit}`);
});
