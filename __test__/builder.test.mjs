import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipeline, ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { hold, rejection } from './support/hold.mjs';

test('every method returns the same builder, and build a pipeline', () => {
  const builder = new ResiliencePipelineBuilder();
  assert.equal(builder.addTimeout(5), builder);
  assert.equal(builder.addConcurrencyLimiter(5), builder);
  assert.equal(builder.addAdaptiveConcurrencyLimiter(), builder);
  assert.equal(builder.addFallback({ fallbackValue: 1 }), builder);
  const pipeline = builder.build();
  assert.ok(pipeline instanceof ResiliencePipeline);
  assert.deepEqual(
    ['Timeout', 'ConcurrencyLimiter', 'AdaptiveConcurrencyLimiter', 'Fallback', 'Retry'].map(
      (name) => pipeline.getStrategy(name)?.name,
    ),
    ['Timeout', 'ConcurrencyLimiter', 'AdaptiveConcurrencyLimiter', 'Fallback', undefined],
  );
});

test("the name is the pipeline's", () => {
  assert.equal(new ResiliencePipelineBuilder({ name: 'search' }).build().name, 'search');
  assert.equal(new ResiliencePipelineBuilder({}).build().name, undefined);
  assert.equal(new ResiliencePipelineBuilder().build().name, undefined);
});

test('the first strategy is the outermost', async () => {
  const outside = new ResiliencePipelineBuilder()
    .addFallback({ fallbackValue: 'saved' })
    .addConcurrencyLimiter(1)
    .build();
  const inside = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter(1)
    .addFallback({ fallbackValue: 'saved' })
    .build();
  const held = [hold(outside), hold(inside)];
  assert.equal(await outside.execute(() => 1), 'saved');
  assert.equal((await rejection(inside.execute(() => 1))).code, 'BULKHEAD_FULL');
  for (const { finish } of held) finish();
  await Promise.all(held.map(({ promise }) => promise));
});

test('each built pipeline has permits of its own', async () => {
  const builder = new ResiliencePipelineBuilder().addConcurrencyLimiter(1);
  const [first, second] = [builder.build(), builder.build()];
  const held = hold(first);
  assert.equal(await second.execute(() => 'free'), 'free');
  assert.equal((await rejection(first.execute(() => 1))).code, 'BULKHEAD_FULL');
  held.finish();
  await held.promise;
});

test('a strategy added after build changes later pipelines only', async () => {
  const builder = new ResiliencePipelineBuilder();
  const before = builder.build();
  const after = builder.addConcurrencyLimiter(1).build();
  assert.equal(before.getStrategy('ConcurrencyLimiter'), undefined);
  assert.equal(after.getStrategy('ConcurrencyLimiter').permitLimit, 1);
  assert.equal(await before.execute(() => 'empty'), 'empty');
});

test('of two strategies with one name getStrategy finds the outer one', () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter(3)
    .addTimeout(5)
    .addConcurrencyLimiter(2)
    .build();
  assert.equal(pipeline.getStrategy('ConcurrencyLimiter').permitLimit, 3);
});

test('twenty strategies in a row are all passed and all left', async () => {
  const builder = new ResiliencePipelineBuilder();
  for (let index = 0; index < 20; index += 1) {
    if (index % 2 === 0)
      builder.addConcurrencyLimiter({ permitLimit: 100 - index, name: `limiter ${index}` });
    else builder.addTimeout({ timeout: 1000 + index, name: `timeout ${index}` });
  }
  const pipeline = builder.build();
  const counts = () =>
    Array.from({ length: 10 }, (_, index) => pipeline.getStrategy(`limiter ${2 * index}`).inflight);
  const held = [hold(pipeline), hold(pipeline)];
  assert.deepEqual(counts(), Array(10).fill(2));
  held[0].finish('a');
  held[1].fail(new Error('b'));
  assert.equal(await held[0].promise, 'a');
  assert.equal((await rejection(held[1].promise)).message, 'b');
  assert.deepEqual(counts(), Array(10).fill(0));
});
