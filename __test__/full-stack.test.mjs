// A stack that overflows in the middle of an execution, and callbacks that a timeout of `vm` cuts off.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import vm from 'node:vm';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const MANY = 1000;
// Most of the time of an overflow is that of its trace.
Error.stackTraceLimit = 0;
const PIPELINES = {
  nothing: (to) => to,
  'a timeout': (to) => to.addTimeout('1h'),
  'a fixed limiter': (to) => to.addConcurrencyLimiter(MANY),
  'a fixed limiter with a queue and a timeout': (to) =>
    to.addConcurrencyLimiter({ permitLimit: MANY, queueLimit: 1 }).addTimeout('1h'),
  'an adaptive limiter': (to) => to.addAdaptiveConcurrencyLimiter({ initialLimit: MANY, maxLimit: MANY }),
  'a circuit breaker': (to) => to.addCircuitBreaker({ minimumThroughput: 1e6 }),
  'a retry around a fixed limiter': (to) => to.addRetry({ delay: 1, maxRetryAttempts: 1 }).addConcurrencyLimiter(MANY),
  'a retry around an adaptive limiter': (to) =>
    to
      .addRetry({ delay: 1, maxRetryAttempts: 1 })
      .addAdaptiveConcurrencyLimiter({ initialLimit: MANY, maxLimit: MANY }),
  'a fallback around a timeout': (to) => to.addFallback({ fallbackValue: 'ok' }).addTimeout('1h'),
  hedging: (to) => to.addHedging({ delay: '1h' }).addConcurrencyLimiter(MANY),
};

/** Calls `work` with ever less room on the stack, down to none. */
function atTheEdge(work) {
  const deepen = (left) => (left === 0 ? work() : deepen(left - 1));
  let depth = 0;
  for (let step = 4096; step >= 1; step /= 2) {
    for (;;) {
      try {
        const probe = (left) => (left === 0 ? 0 : 1 + probe(left - 1));
        probe(depth + step);
      } catch {
        break;
      }
      depth += step;
    }
  }
  for (let left = Math.max(depth - 90, 0); left < depth + 5; left += 3) {
    try {
      deepen(left);
    } catch (error) {
      assert.ok(error instanceof RangeError, String(error));
    }
  }
}

for (const [index, [name, make]] of Object.entries(PIPELINES).entries()) {
  // Each is costly: by turns.
  const context = index % 2 === 0 ? 'ambient' : 'explicit';
  test(`a stack that overflows loses no permit and rejects nobody's promise: ${name}, ${context}`, async () => {
    const pipeline = make(new ResiliencePipelineBuilder({ context })).build();
    const unhandled = [];
    const note = (reason) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      const settled = [];
      const recursive = () => 1 + recursive();
      for (const callback of [() => 'ok', recursive, async () => 'ok']) {
        atTheEdge(() => {
          const promise = pipeline.execute(callback);
          settled[settled.length] = promise;
        });
      }
      const outcome = await pipeline.settle(recursive);
      assert.ok(outcome.ok || outcome.error instanceof RangeError, String(outcome.error));
      for (const result of await Promise.allSettled(settled)) {
        if (result.status === 'rejected') assert.ok(result.reason instanceof RangeError, String(result.reason));
        else assert.equal(result.value, 'ok');
      }
      assert.equal(await pipeline.execute(() => 'ok'), 'ok');
      await turn();
      await turn();
      assert.deepEqual(unhandled, []);
      const names = ['ConcurrencyLimiter', 'AdaptiveConcurrencyLimiter'];
      assertIdle(...names.flatMap((of) => pipeline.getStrategy(of) ?? []));
    } finally {
      process.off('unhandledRejection', note);
    }
  });
}

// Last: what was cut off holds its ticket for good.
for (const [name, make] of Object.entries(PIPELINES)) {
  test(`after any number of callbacks that were cut off a thread goes on: ${name}`, async () => {
    const pipeline = make(new ResiliencePipelineBuilder()).build();
    const sandbox = vm.createContext({ pipeline });
    const script = new vm.Script('pipeline.execute(() => { for (;;); })');
    for (let cut = 0; cut < 105; cut += 1) {
      assert.throws(() => script.runInContext(sandbox, { timeout: 1 }), { code: 'ERR_SCRIPT_EXECUTION_TIMEOUT' });
    }
    for (let call = 0; call < 5; call += 1) assert.equal(await pipeline.execute(() => 'ok'), 'ok');
    pipeline.dispose();
  });
}
