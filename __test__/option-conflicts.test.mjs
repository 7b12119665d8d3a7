import assert from 'node:assert/strict';
import test from 'node:test';
import { inspect } from 'node:util';
import { ResiliencePipelineBuilder, vegas } from '@ylcnfrht/resilience';

const builder = () => new ResiliencePipelineBuilder();

test('addConcurrencyLimiter takes queueLimit beside a number, but not beside options', () => {
  assert.throws(() => builder().addConcurrencyLimiter({ permitLimit: 1 }, 5), {
    name: 'TypeError',
    message: 'addConcurrencyLimiter takes queueLimit among its options, not beside them as 5',
  });
  assert.throws(() => builder().addConcurrencyLimiter(1, null), {
    name: 'TypeError',
    message: /^queueLimit must be /,
  });
  assert.throws(() => builder().addConcurrencyLimiter(1, 1.5), {
    name: 'RangeError',
    message: /^queueLimit must be /,
  });
  assert.throws(() => builder().addConcurrencyLimiter(), {
    name: 'TypeError',
    message: /^permitLimit must be /,
  });
});

test('bounds of the adaptive limit that contradict each other name the bound', () => {
  const add = (options) => () => builder().addAdaptiveConcurrencyLimiter(options);
  assert.throws(add({ minLimit: 10, maxLimit: 9 }), {
    name: 'RangeError',
    message: 'maxLimit must be an integer from 10 to 2^31-1, not 9',
  });
  assert.throws(add({ minLimit: 10, initialLimit: 9 }), {
    name: 'RangeError',
    message: 'initialLimit must be an integer from 10 to 1000, not 9',
  });
  assert.throws(add({ maxLimit: 10, initialLimit: 11 }), {
    name: 'RangeError',
    message: 'initialLimit must be an integer from 1 to 10, not 11',
  });
  assert.throws(() => vegas({ alpha: 7 }), {
    name: 'RangeError',
    message: 'beta must be a number above alpha (7), not 6',
  });
});

test('addTimeout and addFallback take exactly one of two options', () => {
  const timeout = {
    name: 'TypeError',
    message: /^addTimeout takes either timeout or timeoutGenerator, and exactly one of them, not \{/,
  };
  assert.throws(() => builder().addTimeout({}), timeout);
  assert.throws(() => builder().addTimeout({ timeout: 5, timeoutGenerator: () => 5 }), timeout);
  assert.throws(() => builder().addTimeout(), { ...timeout });
  const fallback = {
    name: 'TypeError',
    message: /^addFallback takes either fallbackValue or fallbackAction, and exactly one of them, not \{/,
  };
  assert.throws(() => builder().addFallback({}), fallback);
  assert.throws(() => builder().addFallback({ fallbackValue: 1, fallbackAction: () => 1 }), fallback);
  assert.throws(() => builder().addFallback({ fallbackValue: null, fallbackAction: () => 1 }), fallback);
});

test('a circuit breaker takes slowCallRatio only with slowCallDuration', () => {
  assert.throws(() => builder().addCircuitBreaker({ slowCallRatio: 0.5 }), {
    name: 'TypeError',
    message: 'addCircuitBreaker takes slowCallRatio only together with slowCallDuration, not { slowCallRatio: 0.5 }',
  });
  builder().addCircuitBreaker({ slowCallDuration: '1s' });
  builder().addCircuitBreaker({ slowCallDuration: 5, slowCallRatio: 1 });
});

test('a rate limiter takes burst only with a token bucket, and needs permitLimit and window', () => {
  const rate = { permitLimit: 5, window: '1s' };
  for (const algorithm of [undefined, 'fixed-window', 'sliding-window']) {
    const given = `{ burst: 5, algorithm: '${algorithm ?? 'fixed-window'}' }`;
    assert.throws(() => builder().addRateLimiter({ ...rate, burst: 5, algorithm }), {
      name: 'TypeError',
      message: `addRateLimiter takes burst only with algorithm 'token-bucket', not ${given}`,
    });
  }
  builder().addRateLimiter({ ...rate, burst: 1, algorithm: 'token-bucket' });
  for (const [wrong, message] of [
    [{ window: '1s' }, /^permitLimit must/],
    [{ permitLimit: 5 }, /^window must/],
    [5, /^the options of addRateLimiter/],
  ]) {
    assert.throws(() => builder().addRateLimiter(wrong), { name: 'TypeError', message });
  }
});

test('null is no option left out', () => {
  const adders = {
    addCircuitBreaker: [
      'failureRatio',
      'minimumThroughput',
      'samplingDuration',
      'breakDuration',
      'breakDurationGenerator',
      'halfOpenProbes',
      'slowCallDuration',
      'consecutiveFailures',
      'shouldHandle',
      'onOpened',
      'onClosed',
      'onHalfOpened',
      'manualControl',
      'stateProvider',
      'name',
    ],
    addRateLimiter: [
      'permitLimit',
      'window',
      'algorithm',
      'key',
      'maxKeys',
      'queueLimit',
      'onRejected',
      'name',
    ],
    addRetry: [
      'maxRetryAttempts',
      'delay',
      'backoffType',
      'maxDelay',
      'useJitter',
      'delayGenerator',
      'shouldHandle',
      'onRetry',
      'budget',
      'respectRetryAfter',
      'name',
    ],
    addHedging: ['maxHedgedAttempts', 'delay', 'actionGenerator', 'shouldHandle', 'onHedging', 'name'],
    addAdaptiveConcurrencyLimiter: ['priority', 'overflow'],
  };
  for (const [add, options] of Object.entries(adders)) {
    const needed = add === 'addRateLimiter' ? { permitLimit: 1, window: 1 } : {};
    for (const option of options) {
      assert.throws(() => builder()[add]({ ...needed, [option]: null }), {
        name: 'TypeError',
        message: new RegExp(`^${option} must be .*, not null$`),
      });
    }
  }
  const bucket = { permitLimit: 1, window: 1, algorithm: 'token-bucket', burst: null };
  assert.throws(() => builder().addRateLimiter(bucket), { name: 'TypeError', message: /^burst must be/ });
  const slow = { slowCallDuration: 1, slowCallRatio: null };
  assert.throws(() => builder().addCircuitBreaker(slow), {
    name: 'TypeError',
    message: /^slowCallRatio must be/,
  });
});

test('a long value is cut in the message', () => {
  assert.throws(
    () => builder().addTimeout({ timeout: 'x'.repeat(10_000) }),
    ({ message }) => message.length < 250,
  );
});

test('a value that cannot be shown is named by its type', () => {
  const shy = {
    [inspect.custom]: () => {
      throw new Error('no');
    },
  };
  assert.throws(() => builder().addConcurrencyLimiter({ permitLimit: shy }), {
    name: 'TypeError',
    message: 'permitLimit must be an integer from 1 to 2^31-1, not object',
  });
});

test('a builder that refused an option is unchanged', async () => {
  const pipeline = builder();
  assert.throws(() => pipeline.addConcurrencyLimiter(0));
  assert.throws(() => pipeline.addFallback({}));
  const built = pipeline.addTimeout(50).build();
  assert.equal(built.getStrategy('ConcurrencyLimiter'), undefined);
  assert.equal(built.getStrategy('Fallback'), undefined);
  assert.equal(await built.execute(() => 'ok'), 'ok');
});
