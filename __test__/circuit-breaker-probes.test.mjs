import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { FRAGILE, boom, fails, openCircuit, succeeds, watch } from './support/circuit.mjs';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

/** A circuit that is half-open, a second after it opened. */
async function halfOpen(t, options) {
  simulate(t);
  const opened = await openCircuit(options);
  t.mock.timers.tick(1000);
  assert.equal(opened.breaker.state, 'half-open');
  return opened;
}

/** Asserts that the next execution is let in, and one beside it is not. */
async function assertProbes(pipeline) {
  const probe = hold(pipeline);
  assert.equal(probe.running, true);
  assert.equal((await rejection(pipeline.execute(succeeds))).code, 'CIRCUIT_OPEN');
  probe.finish();
  await probe.promise;
}

for (const halfOpenProbes of [1, 2, 7]) {
  test(`CASE 12: of 100 calls at once ${halfOpenProbes} probe, the others get retryAfter`, async (t) => {
    const { pipeline, breaker, names } = await halfOpen(t, { halfOpenProbes });
    const calls = Array.from({ length: 100 }, () => hold(pipeline));
    const probes = calls.filter(({ running }) => running);
    assert.deepEqual(probes, calls.slice(0, halfOpenProbes));
    for (const { promise } of calls.slice(halfOpenProbes)) {
      const { code, retryAfter } = await rejection(promise);
      assert.deepEqual([code, retryAfter], ['CIRCUIT_OPEN', 1000]);
    }
    for (const [index, { finish, promise }] of probes.entries()) {
      assert.equal(breaker.state, 'half-open', `${index} of them have succeeded`);
      finish(index);
      assert.equal(await promise, index);
    }
    assert.equal(breaker.state, 'closed');
    assert.deepEqual(names(), ['opened', 'half-opened', 'closed']);
    assertIdle();
  });
}

test('places of probes are not given anew after a success', async (t) => {
  const { pipeline, breaker } = await halfOpen(t, { halfOpenProbes: 2 });
  const first = hold(pipeline);
  await pipeline.execute(succeeds);
  assert.equal((await rejection(pipeline.execute(succeeds))).code, 'CIRCUIT_OPEN');
  first.finish();
  await first.promise;
  assert.equal(breaker.state, 'closed');
});

test('the first probe that fails opens it; the others, whatever they do, do not', async (t) => {
  const { pipeline, breaker, names } = await halfOpen(t, { halfOpenProbes: 3 });
  const probes = [hold(pipeline), hold(pipeline), hold(pipeline)];
  t.mock.timers.tick(300);
  probes[1].fail(boom);
  await rejection(probes[1].promise);
  assert.equal((await rejection(pipeline.execute(succeeds))).retryAfter, 1000, 'a whole break again');
  probes[0].finish();
  probes[2].fail(boom);
  await Promise.allSettled(probes.map(({ promise }) => promise));
  assert.equal(breaker.state, 'open');
  assert.deepEqual(names(), ['opened', 'half-opened', 'opened']);
});

test('CASE 14: a failed probe opens it again, though calls are below minimumThroughput', async (t) => {
  simulate(t);
  const options = { consecutiveFailures: undefined, failureRatio: 0.5, minimumThroughput: 10 };
  const { pipeline, breaker, names } = await openCircuit(options);
  for (let call = 0; call < 9; call += 1) await pipeline.settle(fails);
  assert.equal(breaker.state, 'open');
  for (let round = 0; round < 3; round += 1) {
    t.mock.timers.tick(1000);
    assert.equal(await rejection(pipeline.execute(fails)), boom);
    assert.equal(breaker.state, 'open');
  }
  assert.deepEqual(names().filter((name) => name === 'opened').length, 4);
});

test('CASE 11: after a probe whose error is not handled the next call may probe', async (t) => {
  const { pipeline, breaker, names } = await halfOpen(t, {
    shouldHandle: ({ outcome }) => outcome.error === boom,
  });
  await rejection(pipeline.execute(() => Promise.reject(new TypeError('not handled'))));
  assert.equal(breaker.state, 'half-open');
  await assertProbes(pipeline);
  assert.deepEqual([breaker.state, names()], ['closed', ['opened', 'half-opened', 'closed']]);
});

test('CASE 11: after a probe that its caller aborted the next call may probe', async (t) => {
  const { pipeline, breaker } = await halfOpen(t);
  for (let round = 0; round < 3; round += 1) {
    const controller = new AbortController();
    const probe = hold(pipeline, { signal: controller.signal });
    assert.equal(probe.running, true);
    controller.abort('gone');
    assert.equal(breaker.state, 'half-open');
    assert.equal(await rejection(probe.promise), 'gone');
  }
  await assertProbes(pipeline);
  assert.equal(breaker.state, 'closed');
});

test('CASE 11: a probe aborted in its own callback, before that ends, gives its place back', async (t) => {
  const { pipeline } = await halfOpen(t);
  const controller = new AbortController();
  const aborted = pipeline.execute(() => controller.abort('inside'), { signal: controller.signal });
  assert.equal(await rejection(aborted), 'inside');
  await assertProbes(pipeline);
});

test('an execution that was aborted before it started takes no place', async (t) => {
  const { pipeline, names } = await halfOpen(t);
  await rejection(pipeline.execute(succeeds, { signal: AbortSignal.abort('early') }));
  assert.deepEqual(names(), ['opened']);
  await assertProbes(pipeline);
});

/** By where the timeout is: a builder with a breaker whose probe it ends. */
const TIMEOUTS = {
  'outside, in one segment': (builder, options) => builder.addTimeout(100).addCircuitBreaker(options),
  'inside, in one segment': (builder, options) => builder.addCircuitBreaker(options).addTimeout(100),
  'outside, behind a fallback': (builder, options) =>
    builder
      .addTimeout(100)
      .addFallback({ fallbackValue: 1, shouldHandle: () => false })
      .addCircuitBreaker(options),
  'inside, behind a fallback': (builder, options) =>
    builder
      .addCircuitBreaker(options)
      .addFallback({ fallbackValue: 1, shouldHandle: () => false })
      .addTimeout(100),
};

for (const [place, add] of Object.entries(TIMEOUTS)) {
  test(`a probe that a timeout ends has failed; the timeout is ${place}`, async (t) => {
    simulate(t);
    const { callbacks, names } = watch();
    const pipeline = add(new ResiliencePipelineBuilder(), { ...FRAGILE, ...callbacks }).build();
    const breaker = pipeline.getStrategy('CircuitBreaker');
    const late = hold(pipeline);
    await turn();
    t.mock.timers.tick(100);
    assert.equal((await rejection(late.promise)).code, 'TIMEOUT');
    assert.equal(breaker.state, 'open', 'as any call that a timeout ends');
    t.mock.timers.tick(1000);
    const probe = hold(pipeline);
    await turn();
    assert.equal(probe.running, true);
    t.mock.timers.tick(100);
    assert.equal((await rejection(probe.promise)).code, 'TIMEOUT');
    assert.equal(breaker.state, 'open');
    t.mock.timers.tick(1000);
    await pipeline.execute(succeeds);
    assert.deepEqual(names(), ['opened', 'half-opened', 'opened', 'half-opened', 'closed']);
    assertIdle();
  });

  test(`CASE 11: after an unhandled timeout the next call may probe; it is ${place}`, async (t) => {
    simulate(t);
    const { callbacks, names } = watch();
    const shouldHandle = ({ outcome }) => outcome.error === boom;
    const pipeline = add(new ResiliencePipelineBuilder(), { ...FRAGILE, ...callbacks, shouldHandle }).build();
    await pipeline.settle(fails);
    t.mock.timers.tick(1000);
    const probe = hold(pipeline);
    await turn();
    t.mock.timers.tick(100);
    assert.equal((await rejection(probe.promise)).code, 'TIMEOUT');
    assert.equal(pipeline.getStrategy('CircuitBreaker').state, 'half-open');
    await pipeline.execute(succeeds);
    assert.deepEqual(names(), ['opened', 'half-opened', 'closed']);
    assertIdle();
  });
}

/** By segments: a builder with a limiter inside a breaker. */
const INNER = {
  'in one segment': (builder, options) => builder.addCircuitBreaker(options).addConcurrencyLimiter(1),
  'in two segments': (builder, options) =>
    builder.addCircuitBreaker(options).addConcurrencyLimiter({ permitLimit: 1, priority: () => 0 }),
};

for (const [place, add] of Object.entries(INNER)) {
  /** A half-open breaker, whose limiter's permit is held by an execution of before. */
  const crowded = async (t, options) => {
    simulate(t);
    const { callbacks, names } = watch();
    const pipeline = add(new ResiliencePipelineBuilder(), { ...FRAGILE, ...callbacks, ...options }).build();
    await pipeline.settle(fails);
    t.mock.timers.tick(1000);
    await pipeline.execute(succeeds);
    const holder = hold(pipeline);
    assert.equal((await rejection(pipeline.execute(succeeds))).code, 'BULKHEAD_FULL');
    return { pipeline, names, holder };
  };

  test(`a refusal further in is a failure by default (${place})`, async (t) => {
    const { pipeline, names, holder } = await crowded(t);
    assert.deepEqual(names().slice(3), ['opened']);
    t.mock.timers.tick(1000);
    assert.equal((await rejection(pipeline.execute(succeeds))).code, 'BULKHEAD_FULL');
    assert.deepEqual(names().slice(3), ['opened', 'half-opened', 'opened'], 'the probe has failed');
    holder.finish();
    await holder.promise;
    t.mock.timers.tick(1000);
    await assertProbes(pipeline);
    assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
  });

  test(`CASE 11: a probe refused further in, unhandled, gives its place back (${place})`, async (t) => {
    const shouldHandle = ({ outcome }) => outcome.error === boom;
    const { pipeline, names, holder } = await crowded(t, { shouldHandle });
    const breaker = pipeline.getStrategy('CircuitBreaker');
    assert.equal(breaker.state, 'closed', 'a refusal opens nothing');
    breaker.restoreState({ state: 'half-open', breakRemaining: 0, exportedAt: Date.now() });
    for (let round = 0; round < 3; round += 1) {
      assert.equal((await rejection(pipeline.execute(succeeds))).code, 'BULKHEAD_FULL');
      assert.equal(breaker.state, 'half-open');
    }
    holder.finish();
    await holder.promise;
    assert.equal(breaker.state, 'half-open', 'an execution of before decides nothing');
    await assertProbes(pipeline);
    assert.equal(breaker.state, 'closed');
    assert.deepEqual(names().slice(3), ['half-opened', 'closed']);
    assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
  });
}

test('a slow probe has failed, though it succeeds', async (t) => {
  const { pipeline, breaker } = await halfOpen(t, { slowCallDuration: 200 });
  const probe = hold(pipeline);
  t.mock.timers.tick(200);
  probe.finish('late');
  assert.equal(await probe.promise, 'late');
  assert.equal(breaker.state, 'open');
});

test('probes that hang make room for another round after one more break', async (t) => {
  const { pipeline, breaker, names } = await halfOpen(t, { halfOpenProbes: 2 });
  const hanging = [hold(pipeline), hold(pipeline)];
  t.mock.timers.tick(999);
  assert.equal((await rejection(pipeline.execute(succeeds))).retryAfter, 1);
  t.mock.timers.tick(1);
  await pipeline.execute(succeeds);
  await pipeline.execute(succeeds);
  assert.equal(breaker.state, 'closed');
  for (const { fail } of hanging) fail(boom);
  await Promise.allSettled(hanging.map(({ promise }) => promise));
  assert.equal(breaker.state, 'closed', 'they belong to a state of before');
  assert.deepEqual(names(), ['opened', 'half-opened', 'closed']);
});

test('a probe that hangs for a round still decides when it ends', async (t) => {
  const { pipeline, breaker } = await halfOpen(t);
  const hanging = hold(pipeline);
  t.mock.timers.tick(1000);
  const second = hold(pipeline);
  hanging.fail(boom);
  await rejection(hanging.promise);
  assert.equal(breaker.state, 'open');
  second.finish();
  await second.promise;
  assert.equal(breaker.state, 'open');
});

test('an execution in a half-open circuit may execute again: the inner one is no probe', async (t) => {
  const { pipeline, breaker } = await halfOpen(t);
  const inner = await pipeline.execute(() => pipeline.settle(succeeds));
  assert.equal(inner.error.code, 'CIRCUIT_OPEN');
  assert.equal(breaker.state, 'closed', 'the outer one has succeeded');
  assert.equal(await pipeline.execute(() => pipeline.execute(succeeds)), 'fine');
});

test('a nested execution may open the circuit under the outer one, which ends as it ends', async (t) => {
  simulate(t);
  const { pipeline, breaker, names } = await openCircuit({ consecutiveFailures: 2 });
  const outcome = await pipeline.execute(async () => {
    await pipeline.settle(fails);
    await pipeline.settle(fails);
    assert.equal(breaker.state, 'open');
    return 'outer';
  });
  assert.equal(outcome, 'outer');
  assert.deepEqual([breaker.state, names()], ['open', ['opened']]);
});
