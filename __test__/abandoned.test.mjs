// Callbacks that run on although their execution has ended: how many there are, and who is told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { deferred } from './support/deferred.mjs';
import { turn } from './support/http-server.mjs';

/** A pipeline of one kind, with what it tells of abandoned callbacks. */
function make(add) {
  const told = [];
  const telemetry = (event) => {
    if (event.name === 'OnAbandoned') told.push(event);
  };
  const pipeline = add(new ResiliencePipelineBuilder({ name: 'work', telemetry })).build();
  const live = ['ConcurrencyLimiter', 'AdaptiveConcurrencyLimiter', 'Timeout'].flatMap(
    (name) => pipeline.getStrategy(name) ?? [],
  );
  return { pipeline, told, counts: () => live.map(({ abandoned }) => abandoned) };
}

const shapes = {
  'a limiter': (builder) => builder.addConcurrencyLimiter(5),
  'an adaptive limiter': (builder) => builder.addAdaptiveConcurrencyLimiter({ initialLimit: 5 }),
  'a limiter outside of a retry': (builder) =>
    builder.addConcurrencyLimiter(5).addRetry({ maxRetryAttempts: 1, delay: 0 }),
};

for (const [shape, add] of Object.entries(shapes)) {
  test(`${shape}: callbacks that outlive the abort of their caller are counted until they end`, async () => {
    const { pipeline, told, counts } = make(add);
    const ends = [];
    const aborts = [];
    const settled = [0, 1, 2].map(() => {
      const abort = new AbortController();
      const end = deferred();
      aborts.push(abort);
      ends.push(end);
      return pipeline.execute(() => end.promise, { signal: abort.signal }).catch((error) => error);
    });
    assert.deepEqual(counts(), [0]);
    const reason = new Error('no longer wanted');
    for (const abort of aborts) abort.abort(reason);
    assert.deepEqual(await Promise.all(settled), [reason, reason, reason]);
    assert.deepEqual(counts(), [3]);
    await turn();
    assert.deepEqual(told.map(({ severity, pipelineName, args }) => [severity, pipelineName, args.reason]),
      Array(3).fill(['warning', 'work', reason]));
    assert.equal(told.at(-1).args.abandoned, 3);
    ends[0].resolve();
    ends[1].reject(new Error('late'));
    await turn();
    assert.deepEqual(counts(), [1]);
    ends[2].resolve();
    await turn();
    assert.deepEqual(counts(), [0]);
  });
}

test('those that outlive their deadline are counted by the limiter as by the timeout', async () => {
  const { pipeline, told, counts } = make((builder) => builder.addConcurrencyLimiter(5).addTimeout(5));
  const end = deferred();
  await assert.rejects(pipeline.execute(() => end.promise), { code: 'TIMEOUT' });
  assert.deepEqual(counts(), [1, 1]);
  await turn();
  // OnTimeout tells of it already.
  assert.deepEqual(told, []);
  end.resolve();
  await turn();
  assert.deepEqual(counts(), [0, 0]);
});

test('one that heeds its signal is not told of', async () => {
  const { pipeline, told, counts } = make((builder) => builder.addConcurrencyLimiter(5).addTimeout(5));
  const heeding = ({ signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  await assert.rejects(pipeline.execute(heeding), { code: 'TIMEOUT' });
  await turn();
  await turn();
  assert.deepEqual([counts(), told], [[0, 0], []]);
});

test('one that waits in the queue has no callback to abandon', async () => {
  const { pipeline, told, counts } = make((builder) => builder.addConcurrencyLimiter(1, 1));
  const end = deferred();
  const running = pipeline.execute(() => end.promise);
  const abort = new AbortController();
  const waiting = pipeline.execute(() => 'ran', { signal: abort.signal });
  abort.abort();
  await assert.rejects(waiting);
  await turn();
  assert.deepEqual([counts(), told], [[0], []]);
  end.resolve();
  await running;
});
