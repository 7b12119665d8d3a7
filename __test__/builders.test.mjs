// PipelineBuilder with the …Strategy functions, beside ResiliencePipelineBuilder with a method for each.
import assert from 'node:assert/strict';
import test from 'node:test';
import * as resilience from '@ylcnfrht/resilience';
import { boom, fails, succeeds } from './support/circuit.mjs';
import { hold, rejection, simulate, turn } from './support/hold.mjs';

const { PipelineBuilder, ResiliencePipeline, ResiliencePipelineBuilder } = resilience;

/** Each strategy: its function, its method, its arguments, its name and what its live form shows. */
const STRATEGIES = [
  ['timeoutStrategy', 'addTimeout', ['5s'], 'Timeout', []],
  [
    'concurrencyLimiterStrategy',
    'addConcurrencyLimiter',
    [3, 2],
    'ConcurrencyLimiter',
    ['permitLimit', 'queued'],
  ],
  [
    'adaptiveConcurrencyLimiterStrategy',
    'addAdaptiveConcurrencyLimiter',
    [],
    'AdaptiveConcurrencyLimiter',
    ['limit'],
  ],
  ['rateLimiterStrategy', 'addRateLimiter', [{ permitLimit: 3, window: '1s' }], 'RateLimiter', ['available']],
  ['circuitBreakerStrategy', 'addCircuitBreaker', [], 'CircuitBreaker', ['state']],
  ['retryStrategy', 'addRetry', [], 'Retry', []],
  ['hedgingStrategy', 'addHedging', [], 'Hedging', []],
  ['fallbackStrategy', 'addFallback', [{ fallbackValue: 1 }], 'Fallback', []],
];

for (const [make, method, args, name, shown] of STRATEGIES) {
  test(`${make}() is what ${method}() adds`, async () => {
    const pipelines = [
      new PipelineBuilder().add(resilience[make](...args)).build(),
      new ResiliencePipelineBuilder().add(resilience[make](...args)).build(),
      new ResiliencePipelineBuilder()[method](...args).build(),
    ];
    const views = [];
    for (const pipeline of pipelines) {
      assert.ok(pipeline instanceof ResiliencePipeline);
      assert.equal(await pipeline.execute(succeeds), 'fine');
      const view = pipeline.getStrategy(name);
      assert.equal(view.name, name);
      views.push(shown.map((key) => view[key]));
      for (const value of views.at(-1)) assert.notEqual(value, undefined);
    }
    assert.deepEqual(views, [views[0], views[0], views[0]]);
  });

  test(`${make}() refuses what ${method}() refuses, at once and in the same words`, () => {
    for (const wrong of [[null], [{ name: '' }], [{ what: 1 }], [Symbol('s')], [[]], [{ name: 5 }]]) {
      const thrown = [
        () => resilience[make](...wrong),
        () => new ResiliencePipelineBuilder()[method](...wrong),
      ].map((run) => {
        try {
          return run() && undefined;
        } catch ({ name: type, message }) {
          return { type, message };
        }
      });
      assert.notEqual(thrown[0], undefined);
      assert.deepEqual(thrown[0], thrown[1]);
    }
  });

  test(`one ${make}() serves many builders and builds, each with state of its own`, async () => {
    const strategy = resilience[make](...args);
    const pipelines = [
      ...[1, 2].map(() => new PipelineBuilder().add(strategy).build()),
      new ResiliencePipelineBuilder().add(strategy).build(),
    ];
    const views = pipelines.map((pipeline) => pipeline.getStrategy(name));
    assert.equal(new Set(views).size, 3);
    for (const pipeline of pipelines) assert.equal(await pipeline.execute(succeeds), 'fine');
  });
}

test('state is apart: permits, circuits and windows of builds of one strategy', async () => {
  const shared = [
    resilience.circuitBreakerStrategy({ consecutiveFailures: 1 }),
    resilience.rateLimiterStrategy({ permitLimit: 2, window: '1h' }),
    resilience.concurrencyLimiterStrategy(1),
  ];
  const make = () =>
    shared.reduce((builder, strategy) => builder.add(strategy), new PipelineBuilder()).build();
  const [first, second] = [make(), make()];
  await first.settle(fails);
  const held = hold(second);
  const look = (pipeline) => [
    pipeline.getStrategy('CircuitBreaker').state,
    pipeline.getStrategy('RateLimiter').available,
    pipeline.getStrategy('ConcurrencyLimiter').inflight,
  ];
  assert.deepEqual(
    [look(first), look(second)],
    [
      ['open', 1, 0],
      ['closed', 1, 1],
    ],
  );
  held.finish();
  await held.promise;
});

test('ResiliencePipelineBuilder is a PipelineBuilder with a method for each strategy, and no more', () => {
  assert.ok(new ResiliencePipelineBuilder() instanceof PipelineBuilder);
  assert.equal(Object.getPrototypeOf(ResiliencePipelineBuilder), PipelineBuilder);
  const methods = Reflect.ownKeys(ResiliencePipelineBuilder.prototype);
  assert.deepEqual(methods.sort(), ['constructor', ...STRATEGIES.map(([, method]) => method)].sort());
  assert.deepEqual(Reflect.ownKeys(PipelineBuilder.prototype).sort(), ['add', 'build', 'constructor']);
});

test('both return themselves, and take the options of a pipeline', async () => {
  for (const Builder of [PipelineBuilder, ResiliencePipelineBuilder]) {
    const events = [];
    const builder = new Builder({
      name: 'search',
      context: 'explicit',
      telemetry: ({ name }) => events.push(name),
    });
    assert.equal(builder.add(resilience.timeoutStrategy('1s')), builder);
    const pipeline = builder.build();
    assert.equal(pipeline.name, 'search');
    await pipeline.execute(() => assert.equal(resilience.getResilienceContext(), undefined));
    assert.deepEqual(events, ['PipelineExecuting', 'PipelineExecuted']);
    assert.throws(() => new Builder({ title: 'x' }), {
      name: 'TypeError',
      message: `${Builder.name} has no option 'title'; it takes name, context, telemetry`,
    });
  }
});

test('strategies run in the order of their addition, by whichever way', async (t) => {
  simulate(t);
  const retryOutside = [
    new PipelineBuilder()
      .add(resilience.retryStrategy({ maxRetryAttempts: 1, delay: 0 }))
      .add(resilience.timeoutStrategy(100)),
    new ResiliencePipelineBuilder()
      .addRetry({ maxRetryAttempts: 1, delay: 0 })
      .add(resilience.timeoutStrategy(100)),
    new ResiliencePipelineBuilder().addRetry({ maxRetryAttempts: 1, delay: 0 }).addTimeout(100),
  ];
  for (const builder of retryOutside) {
    let calls = 0;
    const promise = builder.build().execute(() => {
      calls += 1;
      return new Promise(() => {});
    });
    promise.catch(() => {});
    for (const _ of [1, 2]) {
      await turn();
      t.mock.timers.tick(100);
    }
    assert.equal((await rejection(promise)).code, 'TIMEOUT');
    assert.equal(calls, 2);
  }
});

test('a pipeline of every strategy works, is disposed, and says so', async () => {
  const everything = STRATEGIES.reduce(
    (builder, [make, , args]) => builder.add(resilience[make](...args)),
    new PipelineBuilder({ name: 'everything' }),
  );
  const pipeline = everything.build();
  assert.equal(await pipeline.execute(succeeds), 'fine');
  assert.equal(await pipeline.execute(() => Promise.reject(boom)), 1, 'the fallback is the innermost');
  for (const [, , , name] of STRATEGIES) assert.equal(pipeline.getStrategy(name).name, name);
  pipeline.dispose();
  const error = await rejection(pipeline.execute(succeeds));
  assert.deepEqual([error.code, error.pipelineName], ['PIPELINE_DISPOSED', 'everything']);
});

test('more gates than one segment holds: seven timeouts and seven breakers', async () => {
  const builder = new PipelineBuilder();
  for (let index = 0; index < 7; index += 1) {
    builder
      .add(resilience.timeoutStrategy({ timeout: '1h', name: `timeout ${index}` }))
      .add(resilience.circuitBreakerStrategy({ consecutiveFailures: 1, name: `breaker ${index}` }));
  }
  const pipeline = builder.build();
  assert.equal(await pipeline.execute(succeeds), 'fine');
  assert.equal(await rejection(pipeline.execute(fails)), boom);
  for (let index = 0; index < 7; index += 1) {
    assert.equal(pipeline.getStrategy(`breaker ${index}`).state, 'open');
  }
  assert.equal((await rejection(pipeline.execute(succeeds))).strategyName, 'breaker 0');
});

test('what only looks like a strategy is none', () => {
  const real = resilience.timeoutStrategy('1s');
  for (const fake of [Object.create(real), { ...real }, new Proxy(real, {})]) {
    assert.throws(() => new PipelineBuilder().add(fake), {
      name: 'TypeError',
      message: /^the strategy must be/,
    });
  }
});
