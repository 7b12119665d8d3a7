import assert from 'node:assert/strict';
import test from 'node:test';
import { AdaptiveLimitProvider, ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { hold, turn } from './support/hold.mjs';

test('a provider reads the live limiter; before it is attached it reads 0', async () => {
  const limitProvider = new AdaptiveLimitProvider();
  const read = () => [limitProvider.limit, limitProvider.inflight, limitProvider.queued];
  assert.deepEqual(read(), [0, 0, 0]);
  const builder = new ResiliencePipelineBuilder();
  builder.addAdaptiveConcurrencyLimiter({ limitProvider, initialLimit: 1, queueLimit: 1 });
  assert.deepEqual(read(), [0, 0, 0]);
  const pipeline = builder.build();
  const held = [hold(pipeline), hold(pipeline)];
  assert.deepEqual(read(), [1, 1, 1]);
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  assert.deepEqual([limiter.limit, limiter.inflight, limiter.queued], [1, 1, 1]);
  for (const { finish } of held) finish();
  await Promise.all(held.map(({ promise }) => promise));
  assert.deepEqual(read().slice(1), [0, 0]);
});

test('a provider attached twice throws, also to the two limiters of one pipeline', () => {
  const limitProvider = new AdaptiveLimitProvider();
  const builder = new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter({ limitProvider });
  builder.build();
  const twice = { name: 'TypeError', message: 'limitProvider is attached to another limiter already' };
  assert.throws(() => builder.build(), twice);
  assert.throws(
    () => new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter({ limitProvider }).build(),
    twice,
  );
  const shared = new AdaptiveLimitProvider();
  const both = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ limitProvider: shared, name: 'a' })
    .addAdaptiveConcurrencyLimiter({ limitProvider: shared, name: 'b' });
  assert.throws(() => both.build(), twice);
});

test(
  'a provider reads 0 again when its pipeline is gone',
  { skip: globalThis.gc === undefined },
  async () => {
    const limitProvider = new AdaptiveLimitProvider();
    (() => new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter({ limitProvider }).build())();
    assert.equal(limitProvider.limit, 20);
    for (let turns = 0; turns < 1000 && limitProvider.limit !== 0; turns += 1) {
      await turn();
      globalThis.gc();
    }
    assert.equal(limitProvider.limit, 0);
  },
);
