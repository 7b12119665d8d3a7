// Counts the calls from JavaScript into the addon. For that the native closures have to be wrapped before
// anything else of the package loads: the one test that reaches inside.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import test from 'node:test';

const require = createRequire(import.meta.url);
const { hot } = require('../lib/native.js');
const calls = [];
// Counted apart: the one timer may fire for a deadline that an earlier test armed and disarmed. Not counted:
// that timer's look at what is due, and the collector decides when pipelines of earlier tests are removed.
let ticks = 0;
for (const [name, closure] of Object.entries(hot)) {
  hot[name] = (...args) => {
    if (name === 'tick') ticks += 1;
    else if (name !== 'remove' && name !== 'due') calls.push(name);
    return closure(...args);
  };
}
const {
  PipelineBuilder,
  ResiliencePipelineBuilder,
  circuitBreakerStrategy,
  concurrencyLimiterStrategy,
  standardPipeline,
} = require('@ylcnfrht/resilience');

const { attempted } = await import('./support/attempts.mjs');
const { hold, rejection, turn } = await import('./support/hold.mjs');

/** The crossings of what `run` does. */
async function crossings(run) {
  calls.length = 0;
  await run();
  return calls.splice(0);
}

const builder = () => new ResiliencePipelineBuilder();
const succeeds = async () => 1;
const fails = async () => {
  throw new Error('boom');
};
/** A rate that no test reaches. */
const MUCH = { permitLimit: 1_000_000, window: 1000 };

for (const [name, pipeline, expected] of [
  ['nothing', builder().build(), []],
  ['a fallback', builder().addFallback({ fallbackValue: 1 }).build(), []],
  ['a fixed limiter, whose permits are lent', builder().addConcurrencyLimiter(1).build(), []],
  [
    'a fixed limiter with a priority',
    builder()
      .addConcurrencyLimiter({ permitLimit: 1, priority: () => 1 })
      .build(),
    [],
  ],
  ['a timeout', builder().addTimeout(1000).build(), ['enter', 'exit']],
  ['a limiter and a timeout', builder().addConcurrencyLimiter(1).addTimeout(1000).build(), ['enter', 'exit']],
  [
    'a fixed limiter, an adaptive limiter and a timeout',
    builder().addConcurrencyLimiter(1).addAdaptiveConcurrencyLimiter().addTimeout(1000).build(),
    ['enter', 'exit'],
  ],
  [
    'two adaptive limiters, one of them of knee',
    builder().addAdaptiveConcurrencyLimiter({ algorithm: 'knee' }).addAdaptiveConcurrencyLimiter().build(),
    ['enter', 'exit'],
  ],
  [
    'an adaptive limiter that is told operations, between others',
    builder()
      .addConcurrencyLimiter(1)
      .addAdaptiveConcurrencyLimiter({ operation: ({ operationKey }) => operationKey })
      .addTimeout(1000)
      .build(),
    ['enter', 'exit'],
  ],
  [
    'two adaptive limiters, one of which is told operations',
    builder()
      .addAdaptiveConcurrencyLimiter()
      .addAdaptiveConcurrencyLimiter({ operation: ({ operationKey }) => operationKey })
      .build(),
    ['enter', 'enter', 'exit', 'exit'],
  ],
  [
    'a limiter and a timeout with a fallback between them',
    builder().addAdaptiveConcurrencyLimiter().addFallback({ fallbackValue: 1 }).addTimeout(1000).build(),
    ['enter', 'enter', 'exit', 'exit'],
  ],
  [
    'a limiter with a priority behind another limiter',
    builder()
      .addConcurrencyLimiter(1)
      .addAdaptiveConcurrencyLimiter({ priority: () => 1 })
      .addTimeout(1000)
      .build(),
    ['enter', 'exit'],
  ],
  [
    'a circuit breaker that watches for slow calls',
    builder().addCircuitBreaker({ slowCallDuration: '1h' }).build(),
    ['enter', 'exit'],
  ],
  ['a rate limiter', builder().addRateLimiter(MUCH).build(), ['enter', 'exit']],
  [
    'a rate limiter with keys',
    builder()
      .addRateLimiter({ ...MUCH, key: () => 'a' })
      .build(),
    ['enter', 'exit'],
  ],
  [
    'a rate limiter, two limiters, a breaker and a timeout',
    builder()
      .addRateLimiter(MUCH)
      .addConcurrencyLimiter(1)
      .addAdaptiveConcurrencyLimiter()
      .addCircuitBreaker()
      .addTimeout(1000)
      .build(),
    ['enter', 'exit'],
  ],
  [
    'a rate limiter with keys behind a limiter',
    builder()
      .addAdaptiveConcurrencyLimiter()
      .addRateLimiter({ ...MUCH, key: ({ operationKey }) => operationKey })
      .build(),
    ['enter', 'enter', 'exit', 'exit'],
  ],
  [
    'the same strategies added by their functions',
    new PipelineBuilder().add(concurrencyLimiterStrategy(1)).add(circuitBreakerStrategy()).build(),
    ['enter', 'exit'],
  ],
  [
    'a limiter and a timeout with a strategy of your own between them',
    builder()
      .addAdaptiveConcurrencyLimiter()
      .add(() => ({ name: 'Own', execute: (next, context) => next(context) }))
      .addTimeout(1000)
      .build(),
    ['enter', 'enter', 'exit', 'exit'],
  ],
]) {
  test(`${name}: ${expected.length} crossings, in success and in failure`, async () => {
    // The first execution of a fixed limiter alone is lent all permits.
    await pipeline.execute(succeeds);
    assert.deepEqual(await crossings(() => pipeline.execute(succeeds)), expected);
    assert.deepEqual(await crossings(() => pipeline.execute(() => 1)), expected);
    assert.deepEqual(await crossings(() => Promise.allSettled([pipeline.execute(fails)])), expected);
    assert.deepEqual(
      await crossings(() => pipeline.settle(fails, { signal: new AbortController().signal })),
      expected,
    );
  });
}

test('a waiter needs no crossing more than one that runs at once', async () => {
  const pipeline = builder()
    .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 9, queueTimeout: 10_000 })
    .addTimeout(10_000)
    .build();
  const made = await crossings(() =>
    Promise.all(Array.from({ length: 10 }, () => pipeline.execute(succeeds))),
  );
  assert.deepEqual(made.sort(), [...Array(10).fill('enter'), ...Array(10).fill('exit')]);
});

test('a fixed limiter alone: a crossing for all permits, and while somebody waits one for each of them', async () => {
  const pipeline = builder().addConcurrencyLimiter(2, 9).build();
  const held = [];
  assert.deepEqual(await crossings(() => held.push(hold(pipeline), hold(pipeline))), ['enter']);
  assert.deepEqual(await crossings(() => held.push(hold(pipeline), hold(pipeline))), ['enter', 'enter']);
  for (const { finish } of held) finish();
  const made = await crossings(() => Promise.all(held.map(({ promise }) => promise)));
  assert.deepEqual(made, ['giveBack', 'giveBack', 'exit', 'exit']);
  assert.deepEqual(await crossings(() => pipeline.execute(succeeds)), ['enter']);
  assert.deepEqual(await crossings(() => pipeline.execute(succeeds)), []);
});

test('a rejection at the door is one crossing', async () => {
  const pipeline = builder().addConcurrencyLimiter(1).addTimeout(1000).build();
  const held = hold(pipeline);
  assert.deepEqual(await crossings(() => rejection(pipeline.execute(succeeds))), ['enter']);
  held.finish();
  await held.promise;
});

test('an abort before the start is none, one while it waits or runs is the exit', async () => {
  const pipeline = builder().addConcurrencyLimiter(1, 1).addTimeout(1000).build();
  const signal = AbortSignal.abort('left');
  assert.deepEqual(await crossings(() => rejection(pipeline.execute(succeeds, { signal }))), []);
  const controllers = [new AbortController(), new AbortController()];
  const held = controllers.map((controller) => hold(pipeline, { signal: controller.signal }));
  assert.deepEqual(await crossings(() => controllers[1].abort()), ['exit']);
  assert.deepEqual(await crossings(() => controllers[0].abort()), ['exit']);
  await Promise.all(held.map(({ promise }) => rejection(promise)));
});

test('deadlines that pass cost a tick together and an exit each', async () => {
  const pipeline = builder().addConcurrencyLimiter(5).addTimeout(5).build();
  const held = Array.from({ length: 5 }, () => hold(pipeline));
  const before = ticks;
  const made = await crossings(() => Promise.all(held.map(({ promise }) => rejection(promise))));
  assert.deepEqual(made, Array(5).fill('exit'));
  assert.ok(ticks > before);
  for (const { finish } of held) finish();
  assert.deepEqual(await crossings(turn), []);
});

test('an algorithm in JavaScript is one crossing more for each sample', async () => {
  const pipeline = builder()
    .addAdaptiveConcurrencyLimiter({ algorithm: { onSample: ({ limit }) => limit } })
    .build();
  assert.deepEqual(await crossings(() => pipeline.execute(succeeds)), ['enter', 'exit', 'applyLimit']);
  assert.deepEqual(await crossings(() => pipeline.settle(fails)), ['enter', 'exit']);
});

test('reading the live counts is a crossing for each number and none for the name', async () => {
  const pipeline = builder().addConcurrencyLimiter(1).build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  assert.deepEqual(await crossings(() => [limiter.name, limiter.permitLimit]), []);
  assert.deepEqual(await crossings(() => [limiter.inflight, limiter.queued]), ['inflight', 'queued']);
});

test('a retry costs nothing at first, and for each attempt what its inside costs', async () => {
  const alone = builder().addRetry({ maxRetryAttempts: 2, delay: 0 }).build();
  assert.deepEqual(await crossings(() => alone.execute(succeeds)), []);
  assert.deepEqual(await crossings(() => alone.settle(fails)), []);
  const pipeline = builder().addRetry({ maxRetryAttempts: 2, delay: 0 }).addTimeout(1000).build();
  assert.deepEqual(await crossings(() => pipeline.execute(succeeds)), ['enter', 'exit']);
  assert.deepEqual(await crossings(() => pipeline.settle(fails)), Array(3).fill(['enter', 'exit']).flat());
});

test('the pause of a retry is one crossing', async () => {
  const pipeline = builder().addRetry({ maxRetryAttempts: 2, delay: 1 }).build();
  assert.deepEqual(await crossings(() => pipeline.settle(fails)), ['sleep', 'sleep']);
});

test('a pause that an abort ends is two', async () => {
  const pipeline = builder().addRetry({ delay: '1h' }).build();
  const controller = new AbortController();
  const made = await crossings(async () => {
    const promise = rejection(pipeline.execute(fails, { signal: controller.signal }));
    await turn();
    controller.abort();
    await promise;
  });
  assert.deepEqual(made, ['sleep', 'wake']);
});

test('hedging costs its pause, and for each attempt what its inside costs', async () => {
  const pipeline = builder().addHedging({ delay: '1h' }).addTimeout('1h').build();
  assert.deepEqual(await crossings(() => pipeline.execute(succeeds)), ['enter', 'sleep', 'exit', 'wake']);
  const endless = builder().addHedging({ delay: Infinity }).addTimeout('1h').build();
  assert.deepEqual(await crossings(() => endless.execute(succeeds)), ['enter', 'exit']);
  const atOnce = builder().addHedging({ delay: 0 }).addTimeout('1h').build();
  const callback = attempted();
  const made = await crossings(async () => {
    const promise = atOnce.execute(callback);
    callback.attempts[1].finish();
    await promise;
  });
  assert.deepEqual(made, ['enter', 'enter', 'exit', 'exit']);
});

test('the gate of the event loop: two crossings, three for a request that waits, one if it is refused', async (t) => {
  const { withResilience } = require('@ylcnfrht/resilience/http');
  const { COST_MS, burn, nothingOpen, rawConnections } = await import('./support/overload.mjs');
  const { listen } = await import('./support/http-server.mjs');
  const listener = withResilience(
    (_req, res) => {
      burn();
      res.end('fine');
    },
    { overload: { targetDelay: 0.001, maxDelay: COST_MS * 0.9 } },
  );
  const server = await listen(t, listener, listener);
  const clients = await rawConnections(t, server.address().port, 8);
  const made = await crossings(async () => {
    for (const some of [clients.slice(0, 1), clients]) {
      const lengths = some.map(({ received }) => received.split('HTTP/1.1 ').length);
      for (const client of some) client.get('/');
      await Promise.all(some.map((client, i) => client.receive('HTTP/1.1 ', lengths[i])));
      await nothingOpen();
    }
  });
  const served = clients.flatMap(({ received }) => received.match(/HTTP\/1.1 200/g) ?? []).length;
  const count = (name) => made.filter((each) => each === name).length;
  assert.ok(served > 1 && served < 9, `${served} were served`);
  assert.deepEqual([count('loopOffer'), count('loopEnd')], [9, served]);
  assert.ok(count('loopNext') < 2 * served);
  assert.deepEqual(made.filter((name) => !name.startsWith('loop')), []);
});

test('the standard pipeline: four crossings', async () => {
  const pipeline = standardPipeline();
  assert.deepEqual(await crossings(() => pipeline.execute(succeeds)), ['enter', 'enter', 'exit', 'exit']);
});

test('a waiter of a rate limiter needs no crossing more than one that runs at once', async () => {
  const pipeline = builder().addRateLimiter({ permitLimit: 2, window: 5, queueLimit: 9 }).build();
  const made = await crossings(() =>
    Promise.all(Array.from({ length: 6 }, () => pipeline.execute(succeeds))),
  );
  assert.deepEqual(made.sort(), [...Array(6).fill('enter'), ...Array(6).fill('exit')]);
});

test('a circuit breaker alone: one crossing while it is closed, and one to know that it is', async () => {
  const pipeline = builder().addCircuitBreaker({ consecutiveFailures: 2, breakDuration: '1h' }).build();
  assert.deepEqual(await crossings(() => pipeline.execute(succeeds)), ['closedEpoch', 'leave']);
  assert.deepEqual(await crossings(() => pipeline.execute(() => 1)), ['leave']);
  assert.deepEqual(await crossings(() => pipeline.settle(fails)), ['leave']);
  const { signal } = new AbortController();
  assert.deepEqual(await crossings(() => pipeline.execute(succeeds, { signal })), ['enter', 'exit']);
});

test('a refusal by an open circuit or a rate limiter is one crossing', async () => {
  const broken = builder().addCircuitBreaker({ consecutiveFailures: 1, breakDuration: '1h' }).build();
  await broken.settle(fails);
  assert.deepEqual(await crossings(() => rejection(broken.execute(succeeds))), ['closedEpoch', 'enter']);
  assert.deepEqual(await crossings(() => rejection(broken.execute(succeeds))), ['enter']);
  const spent = builder().addRateLimiter({ permitLimit: 1, window: '1h' }).build();
  await spent.execute(succeeds);
  assert.deepEqual(await crossings(() => rejection(spent.execute(succeeds))), ['enter']);
});

test('an opening costs nothing more, and one crossing with breakDurationGenerator', async () => {
  for (const [breakDurationGenerator, more] of [
    [undefined, []],
    [() => 1000, ['setBreak']],
  ]) {
    const pipeline = builder()
      .addCircuitBreaker({ consecutiveFailures: 1, breakDurationGenerator })
      .addTimeout('1h')
      .build();
    assert.deepEqual(await crossings(() => pipeline.settle(fails)), ['enter', 'exit', ...more]);
  }
});

test('reading a circuit or a rate limiter is a crossing for each value that lives', async () => {
  const pipeline = builder().addRateLimiter(MUCH).addCircuitBreaker().build();
  const limiter = pipeline.getStrategy('RateLimiter');
  const breaker = pipeline.getStrategy('CircuitBreaker');
  assert.deepEqual(await crossings(() => [limiter.name, limiter.permitLimit, breaker.name]), []);
  assert.deepEqual(
    await crossings(() => [limiter.available, limiter.queued, limiter.keys, limiter.evictions]),
    ['available', 'queued', 'keys', 'evictions'],
  );
  assert.deepEqual(await crossings(() => breaker.state), ['circuit']);
  assert.deepEqual(await crossings(() => breaker.exportState()), ['circuit', 'breakRemaining']);
});
