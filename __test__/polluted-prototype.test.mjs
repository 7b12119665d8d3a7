import assert from 'node:assert/strict';
import test from 'node:test';
import {
  ResiliencePipelineBuilder,
  gradient2,
  knee,
  retryBudget,
  standardPipeline,
} from '@ylcnfrht/resilience';
import { resilientFetch, withResilience } from '@ylcnfrht/resilience/http';
import { simulate } from '@ylcnfrht/resilience/simulate';

const builder = () => new ResiliencePipelineBuilder();
/** What nobody could mean as an option: each is refused where it is read. */
const NONSENSE = Symbol('polluted');

/** Runs with properties on `Object.prototype`, as a library with a hole leaves them. */
async function polluted(names, run) {
  const property = { value: NONSENSE, configurable: true, writable: true };
  for (const name of names) Object.defineProperty(Object.prototype, name, property);
  try {
    return await run();
  } finally {
    for (const name of names) delete Object.prototype[name];
  }
}

const OPTIONS = [
  ...['name', 'context', 'telemetry', 'timeoutGenerator', 'onTimeout', 'queueLimit', 'queueTimeout', 'priority'],
  ...['overflow', 'onRejected', 'burst', 'key', 'maxKeys', 'algorithm', 'shouldHandle', 'delay', 'maxDelay', 'budget'],
  ...['fallbackAction', 'manualControl', 'stateProvider', 'slowCallRatio', 'slowCallDuration', 'tolerance', 'headroom'],
  ...['limitProvider', 'minLimit', 'signal', 'properties', 'operationKey', 'repeatable', 'deadlineHeader', 'pipeline'],
  ...['ratio', 'retry', 'totalTimeout', 'problemDetails', 'skip', 'rateLimit', 'seeds', 'points', 'detached', 'then'],
];

test('what somebody has put on Object.prototype is an option of nobody', async () => {
  await polluted(OPTIONS, async () => {
    const pipeline = builder()
      .addFallback({ fallbackValue: 1 })
      .addRateLimiter({ permitLimit: 100, window: '1s' })
      .addAdaptiveConcurrencyLimiter({})
      .addConcurrencyLimiter({ permitLimit: 2 })
      .addRetry({})
      .addHedging({})
      .addCircuitBreaker({})
      .addTimeout({ timeout: '1s' })
      .build();
    assert.equal(await pipeline.execute(() => 'fine', {}), 'fine');
    assert.equal(standardPipeline({}).getStrategy('Retry').name, 'Retry');
    gradient2({});
    knee();
    retryBudget({});
    withResilience(() => {}, { timeout: '1s' });
    assert.equal(typeof resilientFetch(pipeline, undefined, {}), 'function');
  });
});

test('a substitute has to be given: one on Object.prototype is none', async () => {
  await polluted(['fallbackValue'], () => {
    assert.throws(() => builder().addFallback({}), /exactly one of them/);
  });
});

test('a callback starts once because its caller says so, and for no other reason', async () => {
  Object.defineProperty(Object.prototype, 'repeatable', { value: false, configurable: true });
  try {
    let calls = 0;
    await builder().addRetry({ maxRetryAttempts: 1, delay: 0 }).build().settle(() => {
      calls += 1;
      throw new Error('boom');
    }, {});
    assert.equal(calls, 2);
  } finally {
    delete Object.prototype.repeatable;
  }
});

test('the init of resilientFetch and the fields of a scenario are their own', async () => {
  const response = new Response('fine');
  await polluted(['method', 'redirect', 'timeout', 'oracle', 'backoff', 'stall', 'loss'], async () => {
    let seen;
    const fetch = resilientFetch(builder().build(), async (_input, init) => {
      seen = Object.keys(init);
      return response;
    });
    await fetch('http://localhost/', { mode: 'cors' });
    assert.deepEqual(seen, ['mode', 'signal']);
    const scenario = {
      duration: '1s',
      dependency: { workers: 1, service: { distribution: 'constant', mean: 10 } },
      callers: { rate: 10 },
    };
    const report = await simulate({ scenario, algorithms: 'aimd' });
    assert.equal(report.algorithms.length, 1);
  });
});

test('the options of a class and of any object that is not the root still count', () => {
  class Settings {
    get permitLimit() {
      return 3;
    }
  }
  const limitOf = (options) => {
    const pipeline = builder().addConcurrencyLimiter(options).build();
    return pipeline.getStrategy('ConcurrencyLimiter').permitLimit;
  };
  assert.equal(limitOf(new Settings()), 3);
  assert.equal(limitOf(Object.create({ permitLimit: 4 })), 4);
  assert.equal(limitOf(Object.assign(Object.create(null), { permitLimit: 5 })), 5);
  assert.equal(limitOf(Object.create(Object.assign(Object.create(null), { permitLimit: 6 }))), 6);
});
