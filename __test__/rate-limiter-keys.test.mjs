import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { boom } from './support/circuit.mjs';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

/** A limiter whose executions state their key as a property. */
function keyed(options, builder = new ResiliencePipelineBuilder()) {
  const pipeline = builder
    .addRateLimiter({
      permitLimit: 1,
      window: '1h',
      key: ({ properties }) => properties.get('key'),
      ...options,
    })
    .build();
  const limiter = pipeline.getStrategy('RateLimiter');
  const settle = (key) => pipeline.settle(() => 'ran', { properties: [['key', key]] });
  return { pipeline, limiter, settle, runs: async (key) => (await settle(key)).ok };
}

/** The warnings of the process from now on. */
function watchWarnings(t) {
  const warnings = [];
  const note = (warning) => {
    // That of the runner's mock timers is none of ours.
    if (warning.name !== 'ExperimentalWarning') warnings.push(warning);
  };
  process.on('warning', note);
  t.after(() => process.off('warning', note));
  return warnings;
}

test('each key has permits of its own, and undefined is a key like any other', async () => {
  const { runs, limiter } = keyed();
  for (const key of ['a', 'b', '', 'undefined', undefined, 7, 8, -1, 0.5, NaN, Infinity]) {
    assert.deepEqual([await runs(key), await runs(key)], [true, false], String(key));
  }
  assert.equal(limiter.keys, 11);
});

test('a number is the key that its text is', async () => {
  const { runs } = keyed();
  for (const [number, text] of [
    [1, '1'],
    [1.5, '1.5'],
    [-0, '0'],
    [1e21, '1e+21'],
  ]) {
    assert.deepEqual([await runs(number), await runs(text)], [true, false]);
  }
});

test('permits left are told for each key, and asking for one does not make it known', async () => {
  const { runs, limiter } = keyed({ permitLimit: 3 });
  await runs('a');
  await runs('a');
  await runs(undefined);
  assert.deepEqual(
    [
      limiter.availableFor('a'),
      limiter.availableFor('b'),
      limiter.availableFor(undefined),
      limiter.available,
    ],
    [1, 3, 2, 2],
  );
  assert.equal(limiter.keys, 2);
  for (const wrong of [null, {}, Symbol('s'), 1n, true, []]) {
    assert.throws(() => limiter.availableFor(wrong), {
      name: 'TypeError',
      message: /^the key must be a string/,
    });
  }
});

test('a key of another type is a TypeError of that execution alone', async () => {
  const { settle, runs, limiter } = keyed({ permitLimit: 100 });
  for (const wrong of [null, true, false, 1n, Symbol('s'), {}, [], () => 'a', new String('a'), new Date(0)]) {
    const { error } = await settle(wrong);
    assert.equal(error.name, 'TypeError');
    assert.match(error.message, /^the result of key must be a string, a number or undefined, not /);
  }
  assert.equal(await runs('a'), true);
  assert.equal(limiter.availableFor('a'), 99);
  assertIdle();
});

test('a promise for a key is a TypeError of that execution, and its rejection is handled', async () => {
  for (const answer of [async () => 'a', () => Promise.reject(boom), () => ({ then() {} })]) {
    const pipeline = new ResiliencePipelineBuilder()
      .addRateLimiter({ permitLimit: 1, window: 1, key: answer })
      .build();
    const error = await rejection(pipeline.execute(() => assert.fail('must not run')));
    assert.deepEqual(
      [error.name, error.message],
      ['TypeError', 'the result of key must be a string, a number or undefined, not a promise'],
    );
  }
  await turn();
  assertIdle();
});

test('a key that throws rejects that execution with what it threw, and takes no permit', async () => {
  let throws = true;
  const pipeline = new ResiliencePipelineBuilder()
    .addRateLimiter({
      permitLimit: 1,
      window: '1h',
      key: () => {
        if (throws) throw boom;
        return 'a';
      },
    })
    .build();
  for (let call = 0; call < 3; call += 1) assert.equal(await rejection(pipeline.execute(() => 1)), boom);
  throws = false;
  assert.equal(await pipeline.execute(() => 1), 1);
  assertIdle();
});

test('key is asked once for each execution, with its context', async () => {
  const seen = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter(1)
    .addRateLimiter({ permitLimit: 1, window: '1h', key: (context) => void seen.push(context.operationKey) })
    .build();
  await pipeline.execute(() => 1, { operationKey: 'first' });
  await rejection(pipeline.execute(() => 1, { operationKey: 'second' }));
  assert.deepEqual(seen, ['first', 'second']);
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('an execution that an outer limiter refuses is not asked for its key', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter(1)
    .addRateLimiter({ permitLimit: 9, window: '1h', key: () => 'a' })
    .build();
  const held = hold(pipeline);
  assert.equal((await rejection(pipeline.execute(() => 1))).code, 'BULKHEAD_FULL');
  assert.equal(pipeline.getStrategy('RateLimiter').availableFor('a'), 8);
  held.finish();
  await held.promise;
});

test('limits of different keys in one pipeline: for all, for a tenant, for a user', async () => {
  const property = (name) => (context) => context.properties.get(name);
  const pipeline = new ResiliencePipelineBuilder()
    .addRateLimiter({ name: 'all', permitLimit: 5, window: '1h' })
    .addRateLimiter({ name: 'tenant', permitLimit: 3, window: '1h', key: property('tenant') })
    .addRateLimiter({ name: 'user', permitLimit: 2, window: '1h', key: property('user') })
    .build();
  const refusedBy = async (tenant, user) => {
    const properties = [
      ['tenant', tenant],
      ['user', user],
    ];
    return (await pipeline.settle(() => 1, { properties })).error?.strategyName;
  };
  assert.deepEqual(
    [await refusedBy('a', 1), await refusedBy('a', 1), await refusedBy('a', 1), await refusedBy('a', 2)],
    [undefined, undefined, 'user', 'tenant'],
  );
  assert.deepEqual([await refusedBy('b', 3), await refusedBy('b', 3)], [undefined, 'all']);
});

test('a full table forgets the key that was used least recently, and warns once', async (t) => {
  const warnings = watchWarnings(t);
  const { runs, limiter } = keyed({ maxKeys: 3, name: 'RateLimiter' });
  for (const key of ['a', 'b', 'c']) assert.equal(await runs(key), true);
  assert.equal(await runs('a'), false, 'which is a use');
  assert.deepEqual([limiter.keys, limiter.evictions], [3, 0]);
  assert.equal(await runs('d'), true);
  assert.deepEqual([limiter.keys, limiter.evictions], [3, 1]);
  assert.deepEqual([await runs('a'), await runs('c'), await runs('d')], [false, false, false]);
  assert.equal(await runs('b'), true, 'its count was forgotten');
  assert.equal(limiter.evictions, 2);
  await turn();
  assert.deepEqual(warnings.map(String), [
    'Error: RateLimiter keeps 3 keys (maxKeys) and has begun to forget those that were used least recently',
  ]);
});

test('keys whose permits are all back make room without a word', async (t) => {
  simulate(t);
  const warnings = watchWarnings(t);
  const { runs, limiter } = keyed({ maxKeys: 2, window: 1000 });
  for (let key = 0; key < 10; key += 1) {
    assert.equal(await runs(key), true);
    t.mock.timers.tick(500);
  }
  assert.ok(limiter.keys <= 2);
  assert.equal(limiter.evictions, 0);
  await turn();
  assert.deepEqual(warnings, []);
});

for (const algorithm of ['fixed-window', 'sliding-window', 'token-bucket']) {
  test(`200 000 keys, 1000 of them kept: the table stays small, and warns once (${algorithm})`, async (t) => {
    const warnings = watchWarnings(t);
    const { limiter, pipeline } = keyed({ maxKeys: 1000, algorithm, permitLimit: 2 });
    globalThis.gc();
    const before = process.memoryUsage();
    let most = 0;
    for (let key = 0; key < 200_000; key += 1) {
      // One at a time, so that a failure is known, without the wait of a turn for each.
      const settled = pipeline.settle(() => 'ran', { properties: [['key', key]] });
      if (key % 1000 === 0) {
        assert.equal((await settled).ok, true);
        most = Math.max(most, limiter.keys);
      }
    }
    await turn();
    globalThis.gc();
    assert.equal(most, 1000);
    assert.deepEqual([limiter.keys, limiter.evictions], [1000, 199_000]);
    assert.equal(warnings.length, 1);
    const grown = process.memoryUsage().heapUsed - before.heapUsed;
    assert.ok(grown < 2 ** 21, `the heap grew by ${grown} bytes`);
  });
}

test('a key with waiters is not forgotten; if all have some, a new key is refused', async (t) => {
  simulate(t);
  const { pipeline, limiter, settle, runs } = keyed({ maxKeys: 2, queueLimit: 1, window: 1000 });
  const waiting = [];
  for (const key of ['a', 'b']) {
    assert.equal(await runs(key), true);
    waiting.push(hold(pipeline, { properties: [['key', key]] }));
  }
  assert.deepEqual([limiter.queued, limiter.keys], [2, 2]);
  const { error } = await settle('c');
  assert.deepEqual([error.code, error.reason, error.retryAfter], ['RATE_LIMITED', 'full', 1000]);
  assert.equal(limiter.evictions, 0);
  t.mock.timers.tick(1000);
  await turn();
  assert.deepEqual(
    waiting.map(({ running }) => running),
    [true, true],
  );
  for (const { finish } of waiting) finish();
  await Promise.all(waiting.map(({ promise }) => promise));
  t.mock.timers.tick(1000);
  assert.equal(await runs('c'), true);
  assertIdle();
});

test('the first key that is forgotten is a process warning, also where nobody listens', async () => {
  const { runs } = keyed({ maxKeys: 1 });
  const warning = once(process, 'warning');
  await runs('a');
  await runs('b');
  assert.match(String((await warning)[0]), /^Error: RateLimiter keeps 1 keys/);
});

test('distinct keys never share a permit: a million random ones', async () => {
  const total = 1_000_000;
  const bytes = randomBytes(16 * total);
  let key;
  const pipeline = new ResiliencePipelineBuilder({ context: 'explicit' })
    .addRateLimiter({ permitLimit: 1, window: '1d', maxKeys: total, key: () => key })
    .build();
  let ran = 0;
  const count = () => {
    ran += 1;
  };
  for (let index = 0; index < total; index += 1) {
    key = bytes.latin1Slice(16 * index, 16 * index + 16);
    pipeline.settle(count);
    // Lets go of what has settled.
    if (index % 10_000 === 0) await null;
  }
  const { keys, evictions } = pipeline.getStrategy('RateLimiter');
  assert.deepEqual([ran, keys, evictions], [total, total, 0]);
});

test('a key that is used up outlives others, and nobody who has permits is refused for waiters', async (t) => {
  simulate(t);
  const flood = keyed({ maxKeys: 160, permitLimit: 2, window: 1000 });
  for (const expected of [true, true, false]) assert.equal(await flood.runs('attacker'), expected);
  for (let other = 0; other < 2000; other += 1) assert.equal(await flood.runs(`net-${other}`), true);
  assert.equal(flood.limiter.availableFor('attacker'), 0);
  assert.equal(await flood.runs('attacker'), false);
  assert.equal(flood.limiter.keys, 160);

  const waits = keyed({ maxKeys: 32, queueLimit: 1, window: 1000 });
  const waiting = [];
  for (let key = 0; key < 32; key += 1) {
    assert.equal(await waits.runs(`w-${key}`), true);
    waiting.push(hold(waits.pipeline, { properties: [['key', `w-${key}`]] }));
  }
  assert.equal(waits.limiter.queued, 30);
  for (const fresh of ['n-1', 'n-2', 'n-3']) {
    assert.equal(waits.limiter.availableFor(fresh), 1);
    assert.equal(await waits.runs(fresh), true);
  }
  const all = keyed({ maxKeys: 1, queueLimit: 1, window: 1000 });
  await all.runs('a');
  waiting.push(hold(all.pipeline, { properties: [['key', 'a']] }));
  assert.deepEqual([all.limiter.availableFor('new'), await all.runs('new')], [0, false]);
  for (const { finish } of waiting) finish();
  for (const { pipeline } of [waits, all]) pipeline.dispose();
});
