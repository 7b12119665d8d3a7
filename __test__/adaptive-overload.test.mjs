// Closed loop in simulated time: callers, the limiter, and a dependency with a capacity.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { Dependency, run } from './support/dependency.mjs';

for (const algorithm of ['gradient2', 'vegas', 'aimd', 'knee']) {
  test(`${algorithm}: a hanging dependency lowers the limit, and 5 s after healing it is back`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    const pipeline = new ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({ algorithm, maxLimit: 30 })
      .addTimeout(120)
      .build();
    const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
    const dependency = new Dependency();
    const calm = await run(t, pipeline, dependency, 1500, 5000);
    const before = limiter.limit;
    assert.ok(before >= 20, `limit ${before} while calm`);
    assert.equal(calm.TIMEOUT, 0);

    dependency.hangs = true;
    const hanging = await run(t, pipeline, dependency, 1500, 5000);
    assert.ok(hanging.ok < 40, `${hanging.ok} calls were answered by a dependency that hangs`);
    assert.ok(limiter.limit <= 3, `limit ${limiter.limit} while it hangs`);
    assert.ok(hanging.TIMEOUT < 1000, `${hanging.TIMEOUT} of 7500 calls waited for a timeout`);

    dependency.heal();
    await run(t, pipeline, dependency, 1500, 5000);
    assert.ok(limiter.limit >= before / 2, `limit ${limiter.limit} 5 s after healing, ${before} before`);
    const healed = await run(t, pipeline, dependency, 1500, 1000);
    assert.ok(healed.ok >= calm.ok / 5 / 2, `${healed.ok} calls a second after healing`);
    assert.equal(healed.TIMEOUT, 0);
  });
}

test('gradient2: a dependency that slows down to a third is met with a lower limit', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ algorithm: 'gradient2', initialLimit: 20, maxLimit: 100 })
    .addTimeout('120ms')
    .build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  const dependency = new Dependency();
  const limits = [];
  for (const capacity of [30, 10, 30]) {
    dependency.capacity = capacity;
    await run(t, pipeline, dependency, 1500, 5000);
    const { ok, TIMEOUT } = await run(t, pipeline, dependency, 1500, 5000);
    assert.equal(TIMEOUT, 0);
    const possible = (capacity * 5000) / dependency.latencyMs;
    assert.ok(ok >= 0.8 * possible, `${ok} of ${possible} calls that the dependency could serve`);
    limits.push(limiter.limit);
  }
  const [fast, slow, again] = limits;
  assert.ok(fast >= 45 && fast <= 65, String(limits));
  assert.ok(slow >= 15 && slow <= 25, String(limits));
  assert.ok(again >= 45 && again <= 65, String(limits));
});

test('knee: a dependency that slows down to a third is met with a queue of a few calls', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ algorithm: 'knee' })
    .addTimeout('1s')
    .build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  const dependency = new Dependency();
  for (const capacity of [30, 10, 30]) {
    dependency.capacity = capacity;
    await run(t, pipeline, dependency, 1500, 5000);
    const limits = [];
    let answered = 0;
    for (let second = 0; second < 5; second += 1) {
      const { ok, TIMEOUT } = await run(t, pipeline, dependency, 1500, 1000);
      assert.equal(TIMEOUT, 0);
      answered += ok;
      limits.push(limiter.limit);
    }
    const possible = (capacity * 5000) / dependency.latencyMs;
    assert.ok(answered >= 0.9 * possible, `${answered} of ${possible} calls that the dependency could serve`);
    // As many as the dependency works on, and some that wait. One of the five may be that of a probe.
    const [, , limit] = limits.sort((a, b) => a - b);
    assert.ok(limit >= capacity && limit <= capacity + 9, `limit ${limit}`);
  }
});
