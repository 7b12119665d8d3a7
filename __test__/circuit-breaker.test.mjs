import assert from 'node:assert/strict';
import test from 'node:test';
import { BrokenCircuitError, ExecutionRejectedError, ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { FRAGILE, boom, circuit, fails, openCircuit, succeeds } from './support/circuit.mjs';
import { hold, rejection, simulate } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

/** Runs callbacks one after the other. */
async function run(pipeline, times, callback) {
  for (let index = 0; index < times; index += 1) await pipeline.settle(callback);
}

test('outcomes pass through a closed circuit as they are', async () => {
  const { pipeline, breaker, told } = circuit();
  assert.equal(await pipeline.execute(() => 'sync'), 'sync');
  assert.equal(await pipeline.execute(succeeds), 'fine');
  assert.equal(await rejection(pipeline.execute(fails)), boom);
  assert.deepEqual([breaker.name, breaker.state, told], ['CircuitBreaker', 'closed', []]);
  assertIdle();
});

test('by default it opens when a tenth of at least 100 calls has failed', async () => {
  const { pipeline, breaker } = circuit();
  await run(pipeline, 90, succeeds);
  await run(pipeline, 9, fails);
  assert.equal(breaker.state, 'closed', '9 of 99');
  await run(pipeline, 1, fails);
  assert.equal(breaker.state, 'open', '10 of 100');
});

test('a share below failureRatio does not open it, however many the calls', async () => {
  const { pipeline, breaker } = circuit();
  await run(pipeline, 91, succeeds);
  await run(pipeline, 10, fails);
  assert.equal(breaker.state, 'closed', '10 of 101');
  await run(pipeline, 1, fails);
  assert.equal(breaker.state, 'open', '11 of 102');
});

test('below minimumThroughput it stays closed; any call can be the one that is wanted', async () => {
  const { pipeline, breaker, told } = circuit({ failureRatio: 0.5, minimumThroughput: 6 });
  await run(pipeline, 5, fails);
  assert.equal(breaker.state, 'closed');
  await run(pipeline, 1, succeeds);
  assert.equal(breaker.state, 'open');
  assert.deepEqual({ ...told[0][1].outcome }, { ok: true, result: 'fine' });
});

test('no failures open nothing, whatever the options', async () => {
  const { pipeline, breaker } = circuit({ failureRatio: 1e-9, minimumThroughput: 1, consecutiveFailures: 1 });
  await run(pipeline, 200, succeeds);
  assert.equal(breaker.state, 'closed');
});

test('a failure counts for samplingDuration and no longer', async (t) => {
  simulate(t);
  const options = { failureRatio: 1, minimumThroughput: 2, samplingDuration: '30s' };
  const within = circuit(options);
  const after = circuit(options);
  await run(within.pipeline, 1, fails);
  await run(after.pipeline, 1, fails);
  t.mock.timers.tick(29_999);
  await run(within.pipeline, 1, fails);
  t.mock.timers.tick(1);
  await run(after.pipeline, 1, fails);
  assert.deepEqual([within.breaker.state, after.breaker.state], ['open', 'closed']);
  await run(after.pipeline, 1, fails);
  assert.equal(after.breaker.state, 'open');
});

test('consecutiveFailures opens it below any throughput, and a success in between begins anew', async () => {
  const { pipeline, breaker } = circuit({ consecutiveFailures: 3 });
  await run(pipeline, 2, fails);
  await run(pipeline, 1, succeeds);
  await run(pipeline, 2, fails);
  assert.equal(breaker.state, 'closed');
  await run(pipeline, 1, fails);
  assert.equal(breaker.state, 'open');
});

test('slow calls open it: from slowCallDuration on, successes and failures alike', async (t) => {
  simulate(t);
  const options = { minimumThroughput: 4, failureRatio: 1, slowCallDuration: 100, slowCallRatio: 0.5 };
  const { pipeline, breaker } = circuit(options);
  const took = async (ms, end) => {
    const held = hold(pipeline);
    t.mock.timers.tick(ms);
    held[end](boom);
    await Promise.allSettled([held.promise]);
  };
  await took(99, 'finish');
  await took(100, 'finish');
  await took(0, 'finish');
  assert.equal(breaker.state, 'closed');
  await took(5000, 'fail');
  assert.equal(breaker.state, 'open');
});

test('without slowCallRatio all calls have to be slow', async (t) => {
  simulate(t);
  const { pipeline, breaker } = circuit({ minimumThroughput: 2, slowCallDuration: 100 });
  const slow = async () => {
    const held = hold(pipeline);
    t.mock.timers.tick(100);
    held.finish();
    await held.promise;
  };
  await pipeline.execute(succeeds);
  for (let call = 0; call < 20; call += 1) await slow();
  assert.equal(breaker.state, 'closed', '20 of 21');
  t.mock.timers.tick(30_000);
  await slow();
  await slow();
  assert.equal(breaker.state, 'open');
});

test('without slowCallDuration no call is slow', async (t) => {
  simulate(t);
  const { pipeline, breaker } = circuit({ minimumThroughput: 1 });
  const held = hold(pipeline);
  t.mock.timers.tick(86_400_000);
  held.finish();
  await held.promise;
  assert.equal(breaker.state, 'closed');
});

test('shouldHandle picks failures among errors and among results', async () => {
  const { pipeline, breaker } = circuit({
    consecutiveFailures: 2,
    shouldHandle: ({ outcome }) => (outcome.ok ? outcome.result.status === 503 : outcome.error === boom),
  });
  const answers = (status) => async () => ({ status });
  await run(pipeline, 1, answers(503));
  await run(pipeline, 1, answers(200));
  await run(pipeline, 1, fails);
  await run(pipeline, 1, () => Promise.reject(new Error('another')));
  assert.equal(breaker.state, 'closed', 'what it refuses ends a row');
  await run(pipeline, 1, fails);
  assert.deepEqual(await pipeline.execute(answers(503)), { status: 503 }, 'a result is given all the same');
  assert.equal(breaker.state, 'open');
});

test('a failure that shouldHandle refuses counts as a call that did not fail', async () => {
  const { pipeline, breaker } = circuit({
    failureRatio: 0.5,
    minimumThroughput: 4,
    shouldHandle: ({ outcome }) => outcome.error === boom,
  });
  await run(pipeline, 3, () => Promise.reject(new Error('another')));
  await run(pipeline, 2, fails);
  assert.equal(breaker.state, 'closed', '2 of 5');
  await run(pipeline, 1, fails);
  assert.equal(breaker.state, 'open', '3 of 6');
});

test("shouldHandle has outcome and context; the caller's abort is not shown to it", async () => {
  const seen = [];
  const { pipeline } = circuit({ shouldHandle: (args) => (seen.push(args), false) });
  const held = hold(pipeline);
  held.fail(boom);
  await rejection(held.promise);
  const controller = new AbortController();
  const aborted = hold(pipeline, { signal: controller.signal });
  controller.abort();
  await rejection(aborted.promise);
  assert.equal(seen.length, 1);
  assert.deepEqual(Object.keys(seen[0]).sort(), ['context', 'outcome']);
  assert.equal(seen[0].context, held.context);
  assert.equal(seen[0].outcome.error, boom);
});

test("a caller's abort counts as nothing, running or before the start", async () => {
  const { pipeline, breaker } = circuit({ failureRatio: 1, minimumThroughput: 2 });
  const controller = new AbortController();
  const held = Array.from({ length: 50 }, () => hold(pipeline, { signal: controller.signal }));
  controller.abort();
  for (const { promise } of held) await rejection(promise);
  await rejection(pipeline.execute(fails, { signal: controller.signal }));
  await run(pipeline, 1, fails);
  assert.equal(breaker.state, 'closed');
  await run(pipeline, 1, fails);
  assert.equal(breaker.state, 'open');
});

test('while it is open the callback does not run, and retryAfter is what is left of the break', async (t) => {
  simulate(t);
  const { pipeline, breaker } = await openCircuit({ breakDuration: '5s' });
  for (const gone of [0, 1, 998, 4000]) {
    t.mock.timers.tick(gone);
    const error = await rejection(pipeline.execute(() => assert.fail('must not run')));
    assert.ok(error instanceof BrokenCircuitError && error instanceof ExecutionRejectedError);
    assert.deepEqual(
      [error.name, error.code, error.statusCode, error.strategyName, error.pipelineName, breaker.state],
      ['BrokenCircuitError', 'CIRCUIT_OPEN', 503, 'CircuitBreaker', undefined, 'open'],
    );
    assert.equal(error.retryAfter, 5000 - Date.now());
  }
  t.mock.timers.tick(1);
  assert.equal(await pipeline.execute(() => 'let in'), 'let in');
  assertIdle();
});

test('waiting for as long as retryAfter says is enough, also in a break of a fraction', async (t) => {
  simulate(t);
  for (const breakDuration of [0.25, 1, 1.5, 999.999, '1.5s', '2d']) {
    const { pipeline } = await openCircuit({ breakDuration });
    t.mock.timers.tick((await rejection(pipeline.execute(succeeds))).retryAfter);
    assert.equal(await pipeline.execute(succeeds), 'fine', String(breakDuration));
  }
});

test('error names tell the pipeline and the strategy', async () => {
  const pipeline = new ResiliencePipelineBuilder({ name: 'search' })
    .addCircuitBreaker({ ...FRAGILE, name: 'index' })
    .build();
  await pipeline.settle(fails);
  const { pipelineName, strategyName } = await rejection(pipeline.execute(succeeds));
  assert.deepEqual([pipelineName, strategyName], ['search', 'index']);
  assert.equal(pipeline.getStrategy('index').state, 'open');
  assert.equal(pipeline.getStrategy('CircuitBreaker'), undefined);
});

test('CASE 13: six failures that settle in one tick open it once at a threshold of five', async (t) => {
  simulate(t);
  const { pipeline, breaker, names } = circuit({ consecutiveFailures: 5, breakDuration: 1000 });
  const held = Array.from({ length: 6 }, () => hold(pipeline));
  for (const { fail } of held) fail(boom);
  for (const { promise } of held) assert.equal(await rejection(promise), boom);
  assert.deepEqual([names(), breaker.state], [['opened'], 'open']);
  t.mock.timers.tick(1000);
  assert.equal(breaker.state, 'half-open');
  await pipeline.execute(succeeds);
  assert.deepEqual([names(), breaker.state], [['opened', 'half-opened', 'closed'], 'closed']);
});

test('CASE 15: the state moves on without a call and without a timer', async (t) => {
  simulate(t);
  const { breaker, names } = await openCircuit();
  t.mock.timers.setTime(Date.now() + 999);
  assert.equal(breaker.state, 'open');
  t.mock.timers.setTime(Date.now() + 1);
  assert.equal(breaker.state, 'half-open');
  assert.deepEqual(names(), ['opened'], 'it is told when the first probe comes');
  assertIdle();
});

test('executions that began before it opened finish, and decide nothing', async (t) => {
  simulate(t);
  const { pipeline, breaker, names } = circuit(FRAGILE);
  const early = [hold(pipeline), hold(pipeline), hold(pipeline)];
  await pipeline.settle(fails);
  early[0].finish('a value');
  assert.equal(await early[0].promise, 'a value');
  assert.equal(breaker.state, 'open');
  t.mock.timers.tick(1000);
  const probe = hold(pipeline);
  early[1].fail(boom);
  await rejection(early[1].promise);
  assert.equal(breaker.state, 'half-open');
  probe.finish();
  await probe.promise;
  early[2].fail(boom);
  await rejection(early[2].promise);
  assert.deepEqual([names(), breaker.state], [['opened', 'half-opened', 'closed'], 'closed']);
});

test('a circuit that closed begins to count anew', async (t) => {
  simulate(t);
  const { pipeline, breaker } = circuit({ failureRatio: 0.5, minimumThroughput: 4, breakDuration: 1000 });
  await run(pipeline, 4, fails);
  t.mock.timers.tick(1000);
  await run(pipeline, 1, succeeds);
  await run(pipeline, 3, fails);
  assert.equal(breaker.state, 'closed');
  await run(pipeline, 1, fails);
  assert.equal(breaker.state, 'open');
});

test('each build has a circuit of its own', async () => {
  const builder = new ResiliencePipelineBuilder().addCircuitBreaker(FRAGILE);
  const [first, second] = [builder.build(), builder.build()];
  await first.settle(fails);
  assert.deepEqual(
    [first, second].map((pipeline) => pipeline.getStrategy('CircuitBreaker').state),
    ['open', 'closed'],
  );
});
