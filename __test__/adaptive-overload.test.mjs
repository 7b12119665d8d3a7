// Closed loop in simulated time: callers, the limiter, and a dependency with a capacity.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';

const STEP_MS = 5;

/** Serves each call in `latencyMs`, at most `capacity` at once, the rest in a queue of its own; or hangs. */
class Dependency {
  latencyMs = 40;
  capacity = 30;
  hangs = false;
  #now = 0;
  #serving = [];
  #waiting = [];

  call(signal) {
    return new Promise((resolve, reject) => {
      const call = { resolve, due: Infinity, aborted: false };
      signal.addEventListener('abort', () => {
        call.aborted = true;
        reject(signal.reason);
      });
      this.#waiting.push(call);
      this.#serve();
    });
  }

  advance(ms) {
    this.#now += ms;
    if (this.hangs) return;
    for (const call of this.#serving) if (call.due <= this.#now) call.resolve();
    this.#serve();
  }

  heal() {
    this.hangs = false;
    for (const call of this.#serving) call.due = this.#now + this.latencyMs;
  }

  #serve() {
    this.#serving = this.#serving.filter(({ due, aborted }) => !aborted && due > this.#now);
    this.#waiting = this.#waiting.filter(({ aborted }) => !aborted);
    while (this.#serving.length < this.capacity && this.#waiting.length > 0) {
      const call = this.#waiting.shift();
      call.due = this.hangs ? Infinity : this.#now + this.latencyMs;
      this.#serving.push(call);
    }
  }
}

/** Offers `rate` calls a second for `ms`, and counts how they end. */
async function run(t, pipeline, dependency, rate, ms) {
  const ends = { ok: 0, TIMEOUT: 0, BULKHEAD_FULL: 0 };
  let due = 0;
  for (let now = 0; now < ms; now += STEP_MS) {
    for (due += (rate * STEP_MS) / 1000; due >= 1; due -= 1) {
      pipeline
        .execute(({ signal }) => dependency.call(signal))
        .then(
          () => (ends.ok += 1),
          ({ code }) => (ends[code] += 1),
        );
    }
    t.mock.timers.tick(STEP_MS);
    dependency.advance(STEP_MS);
    // Callbacks and outcomes travel by promises: all of them belong to this step.
    await new Promise(setImmediate);
  }
  return ends;
}

for (const algorithm of ['gradient2', 'vegas', 'aimd']) {
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
