// Calls that hold every permit of a limiter, and wait further in for one of the same limiter: a warning, once.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, test } from 'node:test';
import {
  PipelineBuilder,
  ResiliencePipelineBuilder,
  concurrencyLimiterStrategy,
  standardPipeline,
} from '@ylcnfrht/resilience';
import { deferred } from './support/deferred.mjs';

const warnings = [];
process.on('warning', (warning) => {
  if (warning.code === 'RESILIENCE_SELF_WAIT') warnings.push(warning.message);
});
afterEach(() => warnings.splice(0));

/**
 * Resolves when whatever has begun to wait before this would have been told of: timers of one length fire in the order
 * in which they were set, and the last is that of a call which waits for itself.
 */
async function looked() {
  const pipeline = new ResiliencePipelineBuilder({ name: 'last' }).addConcurrencyLimiter(1, 10).build();
  const controller = new AbortController();
  const stuck = pipeline.settle(() => pipeline.execute(() => 1), { signal: controller.signal });
  await once(process, 'warning');
  assert.match(warnings.pop(), /^The only permit of 'ConcurrencyLimiter' in the pipeline 'last' is held/);
  controller.abort();
  await stuck;
}

const adaptive = { initialLimit: 2, minLimit: 2, maxLimit: 2, queueLimit: 10 };

const LIMITERS = {
  'a concurrency limiter': (builder) => builder.addConcurrencyLimiter(2, 10),
  'one in a fused segment': (builder) => builder.addConcurrencyLimiter(2, 10).addTimeout('1h'),
  'one inside of retries': (builder) => builder.addRetry().addConcurrencyLimiter(2, 10),
  'one inside of a fallback and a timeout': (builder) =>
    builder.addTimeout('1h').addFallback({ fallbackValue: 1 }).addConcurrencyLimiter(2, 10),
  'one with priorities': (builder) =>
    builder.addConcurrencyLimiter({ permitLimit: 2, queueLimit: 10, priority: () => 1 }),
  'an adaptive limiter': (builder) => builder.addAdaptiveConcurrencyLimiter(adaptive),
  'the second of two': (builder) => builder.addConcurrencyLimiter(5, 5).addConcurrencyLimiter({
    permitLimit: 2,
    queueLimit: 10,
    name: 'Second',
  }),
};
for (const [name, add] of Object.entries(LIMITERS)) {
  test(`calls that wait for themselves are told of: ${name}`, async () => {
    const pipeline = add(new ResiliencePipelineBuilder({ name: 'orders' })).build();
    const controller = new AbortController();
    const { signal } = controller;
    const between = [
      (work) => work(),
      (work) => new ResiliencePipelineBuilder().build().execute(work),
      (work) => new ResiliencePipelineBuilder().addTimeout('1h').build().execute(work),
    ];
    const nest = (index) =>
      pipeline.settle(async () => {
        await null;
        return between[index](async () => pipeline.execute(() => assert.fail('there is no permit')));
      }, { signal });
    const stuck = [nest(0), nest(1), nest(2)];
    const [warning] = await once(process, 'warning');
    const limiter = name === 'the second of two' ? 'Second' : /Adaptive/.test(add) ? 'Adaptive' : 'Concurrency';
    assert.match(warning.message, new RegExp(`^All 2 permits of '${limiter}\\w*' in the pipeline 'orders' are held`));
    assert.equal(warning.code, 'RESILIENCE_SELF_WAIT');
    controller.abort('enough');
    for (const outcome of await Promise.all(stuck)) assert.equal(outcome.error, 'enough');
  });
}

test('a deadline that ends the wait does not hide it', async () => {
  for (const builder of [
    new ResiliencePipelineBuilder({ name: 'late' }).addTimeout(50).addConcurrencyLimiter(1, 10),
    new ResiliencePipelineBuilder().addConcurrencyLimiter({ permitLimit: 1, queueLimit: 10, queueTimeout: 50 }),
  ]) {
    const pipeline = builder.build();
    const outcome = pipeline.settle(() => pipeline.execute(() => assert.fail('there is no permit')));
    const [{ message }] = await once(process, 'warning');
    const where = "(the pipeline 'late'|a pipeline without a name)";
    assert.match(message, new RegExp(`^The only permit of 'ConcurrencyLimiter' in ${where}`));
    assert.equal((await outcome).ok, false);
  }
});

test('the standard pipeline is told of, too', async () => {
  const pipeline = standardPipeline({ concurrencyLimiter: { permitLimit: 1, queueLimit: 5 }, name: 'standard' });
  const controller = new AbortController();
  const stuck = pipeline.settle(() => pipeline.execute(() => 1), { signal: controller.signal });
  assert.match((await once(process, 'warning'))[0].message, /'standard'/);
  controller.abort();
  await stuck;
});

const one = () => new ResiliencePipelineBuilder().addConcurrencyLimiter(1, 10).build();
const two = () => new ResiliencePipelineBuilder().addConcurrencyLimiter(2, 10).build();
const QUIET = {
  'a permit is held by a call that waits for none': async (end) => {
    const pipeline = two();
    const other = pipeline.execute(() => end.promise);
    return [other, pipeline.execute(() => pipeline.execute(() => 1))];
  },
  'waiters that no holder is around': async (end) => {
    const pipeline = one();
    return [pipeline.execute(() => end.promise), pipeline.execute(() => 1)];
  },
  'another limiter': async (end) => {
    const [outer, inner] = [one(), one()];
    return [inner.execute(() => end.promise), outer.execute(() => inner.execute(() => 1))];
  },
  'the same strategy in another pipeline': async (end) => {
    const strategy = concurrencyLimiterStrategy(1, 10);
    const [outer, inner] = [strategy, strategy].map((each) => new PipelineBuilder().add(each).build());
    return [inner.execute(() => end.promise), outer.execute(() => inner.execute(() => 1))];
  },
  'a call that nobody waits for': async () => {
    const pipeline = one();
    let inner;
    const outer = pipeline.execute(async () => {
      inner = pipeline.execute(() => 1);
      await null;
    });
    await outer;
    return [inner];
  },
  'what a call has left behind after its end': async (end) => {
    const pipeline = one();
    let inner;
    const left = deferred();
    await pipeline.execute(() => {
      inner = left.promise.then(() => pipeline.execute(() => 1));
    });
    const other = pipeline.execute(() => end.promise);
    left.resolve();
    return [other, inner];
  },
  'explicit contexts, which know nothing of each other': async (end) => {
    const pipeline = new ResiliencePipelineBuilder({ context: 'explicit' }).addConcurrencyLimiter(1, 10).build();
    return [pipeline.execute(() => end.promise), pipeline.execute(() => 1)];
  },
};
test(`no warning: ${Object.keys(QUIET).join('; ')}`, async () => {
  const finish = await Promise.all(
    Object.values(QUIET).map(async (start) => {
      const end = deferred();
      const calls = await start(end);
      return async () => {
        end.resolve();
        await Promise.all(calls);
      };
    }),
  );
  await looked();
  await Promise.all(finish.map((end) => end()));
  assert.deepEqual(warnings, []);
});

test('a limiter is told of once', async () => {
  const pipeline = one();
  for (let round = 0; round < 2; round += 1) {
    const controller = new AbortController();
    const stuck = pipeline.settle(() => pipeline.execute(() => 1), { signal: controller.signal });
    if (round === 0) await once(process, 'warning');
    else await looked();
    controller.abort();
    await stuck;
  }
  assert.equal(warnings.length, 1);
});
