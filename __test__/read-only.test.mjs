import assert from 'node:assert/strict';
import test from 'node:test';
import { inspect } from 'node:util';
import {
  AdaptiveLimitProvider,
  CircuitBreakerManualControl,
  CircuitBreakerStateProvider,
  ResiliencePipelineBuilder,
  retryBudget,
} from '@ylcnfrht/resilience';
import { resilienceMiddleware, withResilience } from '@ylcnfrht/resilience/http';
import { hold } from './support/hold.mjs';

/** Assignment as code in sloppy mode makes it, which ignores one to a frozen property. */
const assign = new Function('object', 'key', 'object[key] = 50;');

function assertReadOnly(object, keys) {
  for (const key of keys) {
    const before = object[key];
    const refused = { name: 'TypeError', message: new RegExp(`^${key} of .+ is read-only`) };
    assert.throws(() => assign(object, key), refused);
    assert.throws(() => {
      object[key] = 50;
    }, refused);
    assert.deepEqual(object[key], before);
  }
}

const pipeline = () =>
  new ResiliencePipelineBuilder()
    .addFallback({ fallbackValue: 1 })
    .addHedging()
    .addRetry()
    .addRateLimiter({ permitLimit: 5, window: '1s' })
    .addAdaptiveConcurrencyLimiter()
    .addConcurrencyLimiter(2)
    .addCircuitBreaker()
    .addTimeout('1s')
    .build();

const VIEWS = {
  Fallback: ['name'],
  Hedging: ['name'],
  Retry: ['name'],
  RateLimiter: ['name', 'permitLimit', 'available', 'availableFor', 'queued', 'keys', 'evictions'],
  AdaptiveConcurrencyLimiter: ['name', 'limit', 'inflight', 'queued', 'abandoned'],
  ConcurrencyLimiter: ['name', 'permitLimit', 'inflight', 'queued', 'abandoned'],
  CircuitBreaker: ['name', 'state', 'exportState', 'restoreState'],
  Timeout: ['name', 'abandoned'],
};

for (const [name, keys] of Object.entries(VIEWS)) {
  test(`what getStrategy returns of ${name} is frozen, and an assignment is a TypeError that says so`, () => {
    const view = pipeline().getStrategy(name);
    assert.deepEqual(Object.keys(view).sort(), keys.toSorted());
    assert.ok(Object.isFrozen(view));
    assertReadOnly(view, keys);
    assert.throws(() => {
      view.permitlimit = 50;
    }, TypeError);
  });
}

test('getters still live, methods still work, and loggers show what they tell', async () => {
  const limited = pipeline();
  const limiter = limited.getStrategy('ConcurrencyLimiter');
  const held = hold(limited);
  for (let turns = 0; turns < 5; turns += 1) await null;
  assert.equal(limiter.inflight, 1);
  assert.match(inspect(limiter, { breakLength: Infinity }), /permitLimit: 2, inflight: 1, queued: 0/);
  held.finish();
  await held.promise;
  assert.equal(limiter.inflight, 0);
  assert.equal(limited.getStrategy('RateLimiter').availableFor('x'), 5);
  assert.equal(limited.getStrategy('CircuitBreaker').exportState().state, 'closed');
});

test("a strategy of one's own stays the object that it is", () => {
  const own = { name: 'Own', execute: (next, context) => next(context), counter: 0 };
  const view = new ResiliencePipelineBuilder().add(() => own).build().getStrategy('Own');
  view.counter += 1;
  assert.equal(own.counter, 1);
});

test('providers, budgets and controls refuse an assignment as well; classes made of them may have more', () => {
  assertReadOnly(retryBudget(), ['balance']);
  assertReadOnly(new AdaptiveLimitProvider(), ['limit', 'inflight', 'queued']);
  assertReadOnly(new CircuitBreakerStateProvider(), ['state']);
  assertReadOnly(new CircuitBreakerManualControl(), ['isIsolated']);
  for (const Kind of [AdaptiveLimitProvider, CircuitBreakerStateProvider, CircuitBreakerManualControl]) {
    assert.throws(() => Object.assign(new Kind(), { other: 1 }), TypeError);
    class Own extends Kind {
      label = 'mine';
    }
    assert.equal(new Own().label, 'mine');
  }
});

test('so does what a middleware has of its pipeline', () => {
  for (const make of [resilienceMiddleware, (options) => withResilience(() => {}, options)]) {
    const middleware = make({ timeout: '1s' });
    assertReadOnly(middleware, ['pipeline', 'overload', 'swallowed', 'abandoned', 'rejected', 'dispose']);
    middleware.dispose();
  }
});
