import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { hold, rejection, turn } from './support/hold.mjs';

function limited(options) {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(options).build();
  const limiter = pipeline.getStrategy('ConcurrencyLimiter');
  return { pipeline, counts: () => [limiter.inflight, limiter.queued] };
}

test('waiters of one priority are served in the order of their arrival', async () => {
  const { pipeline } = limited({ permitLimit: 1, queueLimit: 100 });
  const order = [];
  await Promise.all(
    Array.from({ length: 100 }, (_, index) => pipeline.execute(async () => order.push(index))),
  );
  assert.deepEqual(
    order,
    Array.from({ length: 100 }, (_, index) => index),
  );
});

test('a lower priority value runs sooner; ties keep the order of arrival', async () => {
  const priority = ({ properties }) => properties.get('priority');
  const { pipeline } = limited({ permitLimit: 1, queueLimit: 100, priority });
  const order = [];
  const run = (name, value) =>
    pipeline.execute(async () => order.push(name), { properties: [['priority', value]] });
  await Promise.all([
    run('first', 9),
    run('low 1', 10),
    run('zero 1', 0),
    run('low 2', 10),
    run('-inf', -Infinity),
    run('+inf', Infinity),
    run('zero 2', -0),
    run('half', 0.5),
    run('negative', -3),
  ]);
  assert.deepEqual(order, [
    'first',
    '-inf',
    'negative',
    'zero 1',
    'zero 2',
    'half',
    'low 1',
    'low 2',
    '+inf',
  ]);
});

test('without a priority everyone has 0: FIFO', async () => {
  const { pipeline } = limited({ permitLimit: 1, queueLimit: 9, priority: () => 0 });
  const order = [];
  await Promise.all([1, 2, 3, 4].map((index) => pipeline.execute(async () => order.push(index))));
  assert.deepEqual(order, [1, 2, 3, 4]);
});

test('a high priority behind 100 low ones is served at the next release', async () => {
  const priority = ({ operationKey }) => (operationKey === 'high' ? 0 : 10);
  const { pipeline } = limited({ permitLimit: 1, queueLimit: 101, priority });
  const running = hold(pipeline);
  const low = Array.from({ length: 100 }, () => hold(pipeline));
  const high = hold(pipeline, { operationKey: 'high' });
  running.finish();
  await running.promise;
  await turn();
  assert.equal(high.running, true);
  assert.equal(
    low.some((held) => held.running),
    false,
  );
  for (const held of [high, ...low]) held.finish();
  await Promise.all(low.map(({ promise }) => promise));
});

for (const [shown, value] of [
  ['NaN', NaN],
  ["'1'", '1'],
  ['undefined', undefined],
  ['null', null],
  ['1n', 1n],
  ['{}', {}],
]) {
  test(`a priority of ${shown} rejects that execution only`, async () => {
    const answers = [value, 1];
    const { pipeline, counts } = limited({ permitLimit: 1, priority: () => answers.shift() });
    const held = hold(pipeline);
    const error = await rejection(held.promise);
    assert.equal(error.name, 'TypeError');
    assert.equal(error.message, `the result of priority must be a number other than NaN, not ${shown}`);
    assert.equal(held.running, false);
    assert.deepEqual(counts(), [0, 0]);
    assert.equal(await pipeline.execute(() => 'next'), 'next');
  });
}

test('a priority that throws rejects that execution with its error', async () => {
  const mine = new Error('mine');
  const answers = [
    () => {
      throw mine;
    },
    () => 1,
  ];
  const { pipeline, counts } = limited({ permitLimit: 1, priority: () => answers.shift()() });
  assert.equal(await rejection(pipeline.execute(() => 1)), mine);
  assert.deepEqual(counts(), [0, 0]);
  assert.equal(await pipeline.execute(() => 'next'), 'next');
});

test('a priority that throws holds no permit of the limiter outside of it', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addConcurrencyLimiter({ permitLimit: 1, name: 'outer' })
    .addConcurrencyLimiter({
      permitLimit: 1,
      priority: () => {
        throw new Error('mine');
      },
    })
    .build();
  assert.equal((await rejection(pipeline.execute(() => 1))).message, 'mine');
  assert.equal(pipeline.getStrategy('outer').inflight, 0);
});

test('an asynchronous priority is a TypeError, and its own rejection is not left unhandled', async () => {
  for (const priority of [
    async () => 1,
    async () => {
      throw new Error('late');
    },
  ]) {
    const { pipeline, counts } = limited({ permitLimit: 1, priority });
    const error = await rejection(pipeline.execute(() => 1));
    assert.equal(error.name, 'TypeError');
    assert.equal(error.message, 'the result of priority must be a number other than NaN, not a promise');
    await turn();
    assert.deepEqual(counts(), [0, 0]);
  }
});

test('priority is called once for each execution, with its context', async () => {
  const seen = [];
  const { pipeline } = limited({ permitLimit: 1, queueLimit: 1, priority: (context) => seen.push(context) });
  const held = [hold(pipeline), hold(pipeline), hold(pipeline)];
  await rejection(held[2].promise);
  held[0].finish();
  held[1].finish();
  await held[1].promise;
  assert.equal(seen.length, 3);
  assert.equal(seen[0], held[0].context);
  assert.equal(seen[1], held[1].context);
});
