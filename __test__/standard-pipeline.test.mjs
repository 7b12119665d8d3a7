import assert from 'node:assert/strict';
import test from 'node:test';
import { standardPipeline } from '@ylcnfrht/resilience';
import { advance, attempted, scripted } from './support/attempts.mjs';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

/** Of the network, so that it is tried again. */
const boom = Object.assign(new Error('boom'), { code: 'ECONNRESET' });
const STRATEGIES = ['ConcurrencyLimiter', 'TotalTimeout', 'Retry', 'CircuitBreaker', 'AttemptTimeout'];
/** Retries at once, so that what is tested is not the backoff. */
const atOnce = { delay: 0 };

test('it has its five strategies, and the usual names find them', async () => {
  const pipeline = standardPipeline();
  assert.deepEqual(STRATEGIES.map((name) => pipeline.getStrategy(name)?.name), STRATEGIES);
  assert.equal(pipeline.getStrategy('Timeout'), undefined);
  assert.equal(pipeline.getStrategy('ConcurrencyLimiter').permitLimit, 1000);
  assert.equal(pipeline.getStrategy('CircuitBreaker').state, 'closed');
  assert.equal(pipeline.name, undefined);
  assert.equal(await pipeline.execute(() => 'fine'), 'fine');
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('1000 run at once and nobody waits', async () => {
  const pipeline = standardPipeline();
  const running = Array.from({ length: 1000 }, () => hold(pipeline));
  const error = await rejection(pipeline.execute(() => assert.fail('must not run')));
  assert.deepEqual([error.code, error.reason], ['BULKHEAD_FULL', 'full']);
  for (const { finish } of running) finish();
  await Promise.all(running.map(({ promise }) => promise));
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('three retries, exponential from 2 s, with jitter', async (t) => {
  simulate(t);
  t.mock.method(Math, 'random', () => 0.5);
  const delays = [];
  const pipeline = standardPipeline({ retry: { onRetry: ({ retryDelay }) => delays.push(retryDelay) } });
  const callback = scripted(boom);
  const error = rejection(pipeline.execute(callback));
  for (let retries = 1; retries <= 3; retries += 1) {
    await turn();
    await advance(t, Math.ceil(delays[retries - 1]));
    assert.equal(callback.calls, retries + 1);
  }
  assert.equal(await error, boom);
  const f = (time) => 2 ** time * Math.tanh(Math.sqrt(4 * time));
  const expected = [f(0.5), f(1.5) - f(0.5), f(2.5) - f(1.5)].map((step) => Math.round((step / 1.4) * 2000));
  assert.deepEqual(delays.map(Math.round), expected);
});

test('an attempt has 10 s, and all together have 30 s', async (t) => {
  simulate(t);
  const pipeline = standardPipeline({ retry: atOnce });
  const callback = attempted();
  const error = rejection(pipeline.execute(callback));
  await advance(t, 9999);
  assert.equal(callback.attempts.length, 1);
  await advance(t, 1);
  assert.equal(callback.attempts.length, 2);
  const [{ context }] = callback.attempts;
  assert.equal(context.signal.reason.strategyName, 'AttemptTimeout');
  assert.equal(context.signal.reason.timeout, 10_000);
  await advance(t, 10_000);
  assert.equal(callback.attempts.length, 3);
  await advance(t, 10_000);
  assert.deepEqual([(await error).strategyName, (await error).timeout], ['TotalTimeout', 30_000]);
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('the circuit opens for 5 s when 10 % of 100 attempts fail', async (t) => {
  simulate(t);
  const pipeline = standardPipeline({ retry: { maxRetryAttempts: 0 } });
  const breaker = pipeline.getStrategy('CircuitBreaker');
  for (let call = 0; call < 90; call += 1) await pipeline.execute(() => 'fine');
  for (let call = 0; call < 9; call += 1) await pipeline.settle(scripted(boom));
  assert.equal(breaker.state, 'closed');
  await pipeline.settle(scripted(boom));
  assert.equal(breaker.state, 'open');
  const error = await rejection(pipeline.execute(() => assert.fail('must not run')));
  assert.deepEqual([error.code, error.retryAfter], ['CIRCUIT_OPEN', 5000]);
  await advance(t, 5000);
  assert.equal(await pipeline.execute(() => 'healed'), 'healed');
  assert.equal(breaker.state, 'closed');
});

test('a circuit that is open ends the retries', async () => {
  const pipeline = standardPipeline({ retry: atOnce, circuitBreaker: { minimumThroughput: 2 } });
  const callback = scripted(boom);
  assert.equal((await rejection(pipeline.execute(callback))).code, 'CIRCUIT_OPEN');
  assert.equal(callback.calls, 2);
});

test('results with a transient status are retried, others are not', async () => {
  const pipeline = standardPipeline({ retry: atOnce });
  for (const [status, calls] of [[200, 1], [404, 1], [408, 4], [429, 4], [500, 4], [503, 4]]) {
    const callback = scripted({ status });
    assert.deepEqual(await pipeline.execute(callback), { status });
    assert.equal(callback.calls, calls, `${status}`);
  }
});

test('what no repetition cures is tried once, and the circuit of a healthy dependency stays closed', async () => {
  const notFound = Object.assign(new Error('Request failed'), { code: 'ERR_BAD_REQUEST', response: { status: 404 } });
  const pipeline = standardPipeline({ retry: atOnce, circuitBreaker: { minimumThroughput: 2 } });
  for (const error of [notFound, new TypeError('x is not a function'), new TypeError('Invalid URL')]) {
    for (let round = 0; round < 5; round += 1) {
      const callback = scripted(error);
      assert.equal(await rejection(pipeline.execute(callback)), error);
      assert.equal(callback.calls, 1);
    }
  }
  assert.equal(pipeline.getStrategy('CircuitBreaker').state, 'closed');
});

test('options are merged over the defaults, undefined ones leave them', async (t) => {
  simulate(t);
  const events = [];
  const pipeline = standardPipeline({
    name: 'search',
    context: 'explicit',
    telemetry: ({ name, pipelineName }) => events.push([name, pipelineName]),
    concurrencyLimiter: { permitLimit: 1 },
    totalTimeout: { timeout: '1s', name: undefined },
    retry: { maxRetryAttempts: 1, delay: 0, shouldHandle: undefined },
    circuitBreaker: { name: 'breaker', samplingDuration: undefined },
    attemptTimeout: { timeout: 200, name: 'own' },
  });
  assert.equal(pipeline.name, 'search');
  assert.equal(pipeline.getStrategy('ConcurrencyLimiter').permitLimit, 1);
  for (const name of ['TotalTimeout', 'breaker', 'own']) assert.equal(pipeline.getStrategy(name).name, name);
  const callback = attempted();
  const error = rejection(pipeline.execute(callback));
  await advance(t, 200);
  await advance(t, 200);
  assert.deepEqual([(await error).strategyName, callback.attempts.length], ['own', 2]);
  assert.deepEqual(new Set(events.map(([, own]) => own)), new Set(['search']));
  const notFound = scripted({ status: 404 });
  await pipeline.execute(notFound);
  assert.equal(notFound.calls, 1);
  assertIdle();
});

test('a timeout may be a duration or have a generator; a limit may be a number', async (t) => {
  simulate(t);
  const pipeline = standardPipeline({
    concurrencyLimiter: 2,
    totalTimeout: 5000,
    retry: { maxRetryAttempts: 0 },
    attemptTimeout: { timeoutGenerator: () => 300 },
  });
  assert.equal(pipeline.getStrategy('ConcurrencyLimiter').permitLimit, 2);
  const error = rejection(pipeline.execute(() => new Promise(() => {})));
  await advance(t, 300);
  assert.deepEqual([(await error).strategyName, (await error).timeout], ['AttemptTimeout', 300]);
  assertIdle();
});

test('options are not changed, and each of their getters runs once', () => {
  let reads = 0;
  const retry = Object.freeze({
    get delay() {
      reads += 1;
      return 0;
    },
  });
  standardPipeline(Object.freeze({ retry }));
  assert.equal(reads, 1);
  assert.deepEqual(Object.keys(retry), ['delay']);
});

test('every pipeline has state of its own', () => {
  const [first, second] = [standardPipeline(), standardPipeline()];
  const held = hold(first);
  const inflight = (pipeline) => pipeline.getStrategy('ConcurrencyLimiter').inflight;
  assert.deepEqual([inflight(first), inflight(second)], [1, 0]);
  held.finish();
});

test('timeouts that cannot work together are errors', () => {
  const least = 'samplingDuration must be at least twice the attemptTimeout';
  const cases = [
    [
      { attemptTimeout: '31s', circuitBreaker: { samplingDuration: '2m' } },
      "attemptTimeout must not be longer than totalTimeout (30000 ms), but is '31s'",
    ],
    [{ totalTimeout: '9s' }, "attemptTimeout must not be longer than totalTimeout ('9s'), but is 10000 ms"],
    [{ circuitBreaker: { samplingDuration: 19_999 } }, `${least} (10000 ms), but is 19999 ms`],
    [{ attemptTimeout: '16s' }, `${least} ('16s'), but is 30000 ms`],
  ];
  for (const [options, message] of cases) {
    assert.throws(() => standardPipeline(options), { name: 'RangeError', message });
  }
  standardPipeline({ attemptTimeout: '15s', totalTimeout: '15s' });
  standardPipeline({ circuitBreaker: { samplingDuration: '20s' } });
  standardPipeline({ attemptTimeout: { timeoutGenerator: () => 60_000 }, totalTimeout: 1 });
  standardPipeline({ totalTimeout: { timeoutGenerator: () => 1 } });
});

test('options of the wrong type or out of range are errors that name them', () => {
  const TypeErrors = [
    [null, /^the options of standardPipeline must be an object, not null$/],
    [
      { rety: {} },
      /^standardPipeline has no option 'rety'; did you mean 'retry'\? it takes name, context, telemetry, /,
    ],
    [{ retry: null }, /^the options of addRetry must be an object, not null$/],
    [{ retry: 3 }, /^the options of addRetry must be an object, not 3$/],
    [{ retry: [] }, /^the options of addRetry must be an object, not \[\]$/],
    [
      { retry: { attempts: 3 } },
      /^addRetry has no option 'attempts'; did you mean 'maxRetryAttempts'\? it takes maxRetryAttempts/,
    ],
    [{ concurrencyLimiter: 'x' }, /^the options of addConcurrencyLimiter must be an object, not 'x'$/],
    [{ concurrencyLimiter: { permitLimit: null } }, /^permitLimit must be/],
    [{ circuitBreaker: false }, /^the options of addCircuitBreaker must be an object, not false$/],
    [{ totalTimeout: null }, /^the options of addTimeout must be an object, not null$/],
    [{ attemptTimeout: true }, /^timeout must be a number of milliseconds or a string/],
    [{ attemptTimeout: { timeout: 5, timeoutGenerator: () => 5 } }, /^addTimeout takes either timeout or/],
    [{ telemetry: 1 }, /^telemetry must be a function/],
  ];
  const RangeErrors = [
    [{ concurrencyLimiter: 0 }, /^permitLimit must be an integer from 1/],
    [{ attemptTimeout: '5 s' }, /^timeout must be a number of milliseconds or a string/],
    [{ totalTimeout: { timeout: 0 } }, /^timeout must be a number of milliseconds or a string/],
    [{ retry: { maxRetryAttempts: -1 } }, /^maxRetryAttempts must be/],
    [{ circuitBreaker: { failureRatio: 2 } }, /^failureRatio must be/],
    [{ context: 'both' }, /^context must be one of/],
    [{ name: '' }, /^name must be a non-empty string/],
  ];
  for (const [name, cases] of Object.entries({ TypeError: TypeErrors, RangeError: RangeErrors })) {
    for (const [options, message] of cases) {
      assert.throws(() => standardPipeline(options), { name, message });
    }
  }
});
