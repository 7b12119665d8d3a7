// A circuit breaker outside and inside of the other strategies.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { advance, attempted, scripted } from './support/attempts.mjs';
import { FRAGILE, boom, fails, succeeds, watch } from './support/circuit.mjs';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const builder = () => new ResiliencePipelineBuilder();
const stateOf = (pipeline) => pipeline.getStrategy('CircuitBreaker').state;

test('outside of a retry it counts whole calls', async () => {
  const pipeline = builder()
    .addCircuitBreaker({ consecutiveFailures: 2 })
    .addRetry({ maxRetryAttempts: 2, delay: 0 })
    .build();
  const heals = scripted(boom, boom, 'fine');
  assert.equal(await pipeline.execute(heals), 'fine');
  assert.equal(heals.calls, 3);
  assert.equal(stateOf(pipeline), 'closed', 'the attempts that failed are none of its calls');
  const never = scripted(boom);
  for (let call = 0; call < 2; call += 1) assert.equal(await rejection(pipeline.execute(never)), boom);
  assert.deepEqual([never.calls, stateOf(pipeline)], [6, 'open']);
  assert.equal((await rejection(pipeline.execute(never))).code, 'CIRCUIT_OPEN');
  assert.equal(never.calls, 6);
});

test('inside of a retry it counts each attempt, and refuses those after it opened', async () => {
  const pipeline = builder()
    .addRetry({ maxRetryAttempts: 4, delay: 0, respectRetryAfter: false })
    .addCircuitBreaker({ consecutiveFailures: 2 })
    .build();
  const callback = scripted(boom);
  assert.equal((await rejection(pipeline.execute(callback))).code, 'CIRCUIT_OPEN');
  assert.deepEqual([callback.calls, stateOf(pipeline)], [2, 'open']);
});

test("inside of a retry, the retry waits for as long as the breaker's error says and probes", async (t) => {
  simulate(t);
  const { callbacks, names } = watch();
  const pipeline = builder()
    .addRetry({ maxRetryAttempts: 2, delay: 10 })
    .addCircuitBreaker({ ...FRAGILE, ...callbacks })
    .build();
  const callback = scripted(boom, 'fine');
  const promise = pipeline.execute(callback);
  await advance(t, 10);
  assert.deepEqual([callback.calls, names()], [1, ['opened']], 'the second attempt was refused');
  await advance(t, 989);
  assert.equal(callback.calls, 1);
  await advance(t, 1);
  assert.equal(await promise, 'fine');
  assert.deepEqual([callback.calls, names()], [2, ['opened', 'half-opened', 'closed']]);
  assertIdle();
});

test('a retry that handles no open circuit gives its error at once', async () => {
  const pipeline = builder()
    .addRetry({ shouldHandle: ({ outcome }) => outcome.error === boom, delay: 0 })
    .addCircuitBreaker(FRAGILE)
    .build();
  assert.equal((await rejection(pipeline.execute(fails))).code, 'CIRCUIT_OPEN');
});

test('outside of a limiter it refuses before a permit is taken, and full queues are failures', async () => {
  const pipeline = builder().addCircuitBreaker({ consecutiveFailures: 2 }).addConcurrencyLimiter(1).build();
  const held = hold(pipeline);
  for (let call = 0; call < 2; call += 1) {
    assert.equal((await rejection(pipeline.execute(succeeds))).code, 'BULKHEAD_FULL');
  }
  assert.equal((await rejection(pipeline.execute(succeeds))).code, 'CIRCUIT_OPEN');
  held.finish();
  await held.promise;
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('inside of a limiter it hears of no refusal, and its own gives the permit back at once', async () => {
  const pipeline = builder()
    .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 2 })
    .addCircuitBreaker({ consecutiveFailures: 1 })
    .build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  const running = hold(pipeline);
  const waiters = [hold(pipeline), hold(pipeline)];
  assert.equal((await rejection(pipeline.execute(succeeds))).code, 'BULKHEAD_FULL');
  assert.equal(stateOf(pipeline), 'closed');
  running.fail(boom);
  assert.equal(await rejection(running.promise), boom);
  for (const waiter of waiters) {
    assert.equal((await rejection(waiter.promise)).code, 'CIRCUIT_OPEN', 'asked when its turn comes');
    assert.equal(waiter.running, false);
  }
  assertIdle(limiter);
});

test('a waiter of an outer limiter becomes the probe when it is let in', async (t) => {
  simulate(t);
  const { callbacks, names } = watch();
  const pipeline = builder()
    .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 2 })
    .addCircuitBreaker({ ...FRAGILE, ...callbacks })
    .build();
  await pipeline.settle(fails);
  const breaker = pipeline.getStrategy('CircuitBreaker');
  t.mock.timers.tick(1000);
  const probe = hold(pipeline);
  const waiter = hold(pipeline);
  assert.deepEqual(names(), ['opened', 'half-opened']);
  probe.finish();
  await probe.promise;
  waiter.fail(boom);
  assert.equal(await rejection(waiter.promise), boom);
  assert.deepEqual([breaker.state, names().length], ['open', 4]);
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('outside of an adaptive limiter an open circuit is no sample; inside it is a drop', async () => {
  const aimd = { algorithm: 'aimd', initialLimit: 100 };
  const outside = builder().addCircuitBreaker(FRAGILE).addAdaptiveConcurrencyLimiter(aimd).build();
  const inside = builder().addAdaptiveConcurrencyLimiter(aimd).addCircuitBreaker(FRAGILE).build();
  for (const [pipeline, limit] of [
    [outside, 100],
    [inside, 90],
  ]) {
    const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
    await pipeline.settle(fails);
    assert.equal((await rejection(pipeline.execute(succeeds))).code, 'CIRCUIT_OPEN');
    assert.equal(limiter.limit, limit);
    assertIdle(limiter);
  }
});

test('outside of a timeout it opens on timeouts', async (t) => {
  simulate(t);
  const pipeline = builder().addCircuitBreaker(FRAGILE).addTimeout(100).build();
  const held = hold(pipeline);
  t.mock.timers.tick(100);
  assert.equal((await rejection(held.promise)).code, 'TIMEOUT');
  assert.equal(stateOf(pipeline), 'open');
});

test('inside of a timeout it does too: the call had begun and did not end', async (t) => {
  simulate(t);
  const pipeline = builder().addTimeout(100).addCircuitBreaker(FRAGILE).build();
  const held = hold(pipeline);
  t.mock.timers.tick(100);
  assert.equal((await rejection(held.promise)).code, 'TIMEOUT');
  assert.equal(stateOf(pipeline), 'open');
});

test('a timeout between a queue and the breaker counts only for those who got to it', async (t) => {
  simulate(t);
  const pipeline = builder().addTimeout(100).addConcurrencyLimiter(1, 5).addCircuitBreaker(FRAGILE).build();
  const controller = new AbortController();
  const running = hold(pipeline, { signal: controller.signal });
  t.mock.timers.tick(50);
  const queued = hold(pipeline);
  t.mock.timers.tick(49);
  controller.abort('gone');
  await rejection(running.promise);
  assert.equal(stateOf(pipeline), 'closed');
  t.mock.timers.tick(51);
  assert.equal((await rejection(queued.promise)).code, 'TIMEOUT');
  assert.equal(stateOf(pipeline), 'open');
});

test('outside of a fallback it sees what the fallback made of a failure', async () => {
  const pipeline = builder().addCircuitBreaker(FRAGILE).addFallback({ fallbackValue: 'substitute' }).build();
  for (let call = 0; call < 3; call += 1) assert.equal(await pipeline.execute(fails), 'substitute');
  assert.equal(stateOf(pipeline), 'closed');
});

test('inside of a fallback its own refusals are replaced too', async () => {
  const seen = [];
  const pipeline = builder()
    .addFallback({ fallbackAction: ({ outcome }) => seen.push(outcome.error.code ?? outcome.error.message) })
    .addCircuitBreaker(FRAGILE)
    .build();
  for (let call = 1; call <= 3; call += 1) assert.equal(await pipeline.execute(fails), call);
  assert.deepEqual(seen, ['boom', 'CIRCUIT_OPEN', 'CIRCUIT_OPEN']);
});

test('outside of hedging a call is one, inside each attempt is, and a loser counts as nothing', async (t) => {
  simulate(t);
  for (const outside of [true, false]) {
    const options = { consecutiveFailures: 1, shouldHandle: ({ outcome }) => !outcome.ok };
    const hedging = { delay: 100, maxHedgedAttempts: 1 };
    const pipeline = outside
      ? builder().addCircuitBreaker(options).addHedging(hedging).build()
      : builder().addHedging(hedging).addCircuitBreaker(options).build();
    const callback = attempted();
    const promise = pipeline.execute(callback);
    await advance(t, 100);
    const [loser, winner] = callback.attempts;
    winner.finish('winner');
    assert.equal(await promise, 'winner');
    assert.equal(loser.context.signal.aborted, true);
    loser.fail(boom);
    await turn();
    assert.equal(stateOf(pipeline), 'closed', 'the loser was not asked to end well');
    await pipeline.settle(scripted(boom, 'fine'));
    assert.equal(stateOf(pipeline), outside ? 'closed' : 'open');
    assertIdle();
  }
});

test('two breakers in one pipeline: the inner one opens, and its refusals open the outer one', async () => {
  const pipeline = builder()
    .addCircuitBreaker({ name: 'outer', consecutiveFailures: 3 })
    .addCircuitBreaker({ name: 'inner', consecutiveFailures: 2 })
    .build();
  const refusals = [];
  for (let call = 0; call < 4; call += 1)
    refusals.push((await rejection(pipeline.execute(fails))).strategyName);
  assert.deepEqual(refusals, [undefined, undefined, 'inner', 'outer']);
});

test('of a rate limiter inside, a refusal is a failure like any other, and outside it is none', async () => {
  const options = { permitLimit: 1, window: '1m' };
  const outer = builder().addCircuitBreaker(FRAGILE).addRateLimiter(options).build();
  const inner = builder().addRateLimiter(options).addCircuitBreaker(FRAGILE).build();
  for (const pipeline of [outer, inner]) {
    await pipeline.execute(succeeds);
    assert.equal((await rejection(pipeline.execute(succeeds))).code, 'RATE_LIMITED');
  }
  assert.deepEqual([stateOf(outer), stateOf(inner)], ['open', 'closed']);
});
