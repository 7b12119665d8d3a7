// In an ambient pipeline, what a gate calls inside of a retry or a fallback finds the execution's context as the
// callback does, on the first attempt as on the others.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getResilienceContext, ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { simulate } from './support/hold.mjs';

const failure = new Error('failed');
const fail = async () => {
  throw failure;
};
const never = () => new Promise(() => {});

/** Adds a gate whose option `note` is; an attempt of `work` calls it. */
const FUNCTIONS = {
  timeoutGenerator: { add: (b, note) => b.addTimeout({ timeoutGenerator: () => note(1000) }), work: fail },
  onTimeout: { add: (b, note) => b.addTimeout({ timeout: 10, onTimeout: note }), work: never, tick: 10 },
  priority: {
    add: (b, note) => b.addConcurrencyLimiter({ permitLimit: 1, priority: () => note(0) }),
    work: fail,
  },
  key: {
    add: (b, note) => b.addRateLimiter({ permitLimit: 9, window: '1s', key: () => note('a') }),
    work: fail,
  },
  onRejected: {
    add: (b, note) => b.addRateLimiter({ permitLimit: 1, window: '1h', onRejected: note }),
    work: fail,
    before: 1,
  },
  shouldDrop: {
    add: (b, note) => b.addAdaptiveConcurrencyLimiter({ shouldDrop: () => note(false) }),
    work: fail,
  },
  shouldHandle: { add: (b, note) => b.addCircuitBreaker({ shouldHandle: () => note(true) }), work: fail },
  onOpened: { add: (b, note) => b.addCircuitBreaker({ consecutiveFailures: 1, onOpened: note }), work: fail },
  breakDurationGenerator: {
    add: (b, note) =>
      b.addCircuitBreaker({ consecutiveFailures: 1, breakDurationGenerator: () => note(1000) }),
    work: fail,
  },
};

const COMBINATORS = {
  retry: (builder) => builder.addRetry({ maxRetryAttempts: 1, delay: 0, respectRetryAfter: false }),
  fallback: (builder) => builder.addFallback({ fallbackValue: 'instead' }),
};

for (const [combinator, around] of Object.entries(COMBINATORS)) {
  for (const [option, { add, work, tick = 0, before = 0 }] of Object.entries(FUNCTIONS)) {
    for (const nested of [false, true]) {
      test(`${option} inside a ${combinator}${nested ? ', inside another pipeline' : ''}`, async (t) => {
        simulate(t);
        const seen = [];
        const note = (value) => {
          seen.push(getResilienceContext()?.operationKey);
          return value;
        };
        const pipeline = add(around(new ResiliencePipelineBuilder()), note).build();
        for (let i = 0; i < before; i += 1) await pipeline.execute(() => 1);
        seen.length = 0;
        const outer = new ResiliencePipelineBuilder().build();
        const start = () => pipeline.settle(work, { operationKey: 'inner' });
        const settled = nested ? outer.execute(start, { operationKey: 'outer' }) : start();
        for (let i = 0; i < 4; i += 1) {
          for (let turns = 0; turns < 50; turns += 1) await null;
          t.mock.timers.tick(tick);
        }
        await settled;
        assert.ok(seen.length > 0, 'it was not called');
        assert.deepEqual(new Set(seen), new Set(['inner']));
      });
    }
  }
}
