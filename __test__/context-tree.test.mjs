import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { deferred } from './support/deferred.mjs';
import { rejection } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const LEVELS = 100_000;

/** Executions nested in each other, the innermost of which runs until the test ends it. */
async function nest(pipeline, levels, options) {
  const deepest = deferred();
  const work = deferred();
  const step = async (context) => {
    await null;
    if (context.properties.get('left') === 0) {
      deepest.resolve(context);
      return work.promise;
    }
    context.properties.set('left', context.properties.get('left') - 1);
    return pipeline.execute(step);
  };
  const promise = pipeline.execute(step, { ...options, properties: [['left', levels]] });
  promise.catch(() => {});
  return { promise, context: await deepest.promise, work };
}

test('an abort reaches an execution 100 000 levels further in', async () => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(LEVELS + 1).build();
  const controller = new AbortController();
  const { promise, context } = await nest(pipeline, LEVELS, { signal: controller.signal });
  assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, LEVELS + 1);
  assert.equal(context.signal.aborted, false);
  controller.abort('from the top');
  assert.equal(context.signal.reason, 'from the top');
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
  assert.equal(await rejection(promise), 'from the top');
});

test('a result comes out of 100 000 levels', async () => {
  const { promise, work } = await nest(new ResiliencePipelineBuilder().build(), LEVELS);
  work.resolve('deep');
  assert.equal(await promise, 'deep');
});

test('an abort reaches 100 000 executions side by side', async () => {
  const inner = new ResiliencePipelineBuilder().addConcurrencyLimiter(1, LEVELS).build();
  const controller = new AbortController();
  let children;
  const promise = new ResiliencePipelineBuilder().build().execute(() => {
    children = Array.from({ length: LEVELS }, () => inner.settle(() => new Promise(() => {})));
    return Promise.all(children);
  }, { signal: controller.signal });
  controller.abort('all');
  assertIdle(inner.getStrategy('ConcurrencyLimiter'));
  assert.equal(await rejection(promise), 'all');
  const outcomes = await Promise.all(children);
  assert.equal(outcomes.filter(({ error }) => error === 'all').length, LEVELS);
});

test('executions side by side leave their parent in any order', async () => {
  const works = Array.from({ length: 6 }, deferred);
  const controller = new AbortController();
  const pipeline = new ResiliencePipelineBuilder().build();
  let children;
  const parent = pipeline.execute(() => {
    children = works.map(({ promise }) => pipeline.settle(() => promise));
    return Promise.all(children);
  }, { signal: controller.signal });
  // The first, the last and one between them in the list of children.
  for (const index of [5, 0, 2]) {
    works[index].resolve(index);
    assert.equal((await children[index]).result, index);
  }
  controller.abort('the rest');
  assert.equal(await rejection(parent), 'the rest');
  const outcomes = await Promise.all(children);
  assert.deepEqual(
    outcomes.map(({ ok, result, error }) => (ok ? result : error)),
    [0, 'the rest', 2, 'the rest', 'the rest', 5],
  );
});

test('an abort listener further out finds the executions further in aborted', async () => {
  const controller = new AbortController();
  const pipeline = new ResiliencePipelineBuilder().build();
  const seen = [];
  let inner;
  const outer = pipeline.execute((context) => {
    inner = pipeline.execute((own) => {
      context.signal.addEventListener('abort', () => {
        seen.push(own.signal.aborted);
        seen.push(pipeline.execute(() => assert.fail('must not run')));
      });
      return new Promise(() => {});
    });
    return inner;
  }, { signal: controller.signal });
  controller.abort('stop');
  assert.equal(await rejection(outer), 'stop');
  assert.equal(await rejection(inner), 'stop');
  assert.equal(seen[0], true);
  // Listeners run in the store of whoever aborts, which is outside of the pipeline here.
  await assert.rejects(seen[1], { message: 'must not run' });
});
