import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import test from 'node:test';
import {
  Outcome,
  PipelineBuilder,
  ResiliencePipelineBuilder,
  getResilienceContext,
  retryStrategy,
  timeoutStrategy,
} from '@ylcnfrht/resilience';
import { boom, fails, succeeds } from './support/circuit.mjs';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';
import { listen } from './support/listen.mjs';

/** A factory of strategies that do as `execute` says. */
const custom =
  (execute, name = 'Own') =>
  () => ({ name, execute });
const through = custom((next, context) => next(context));
const build = (...factories) =>
  factories.reduce((builder, own) => builder.add(own), new PipelineBuilder()).build();

test('a strategy that hands on changes nothing', async () => {
  const pipeline = build(through);
  assert.equal(await pipeline.execute(() => 'sync'), 'sync');
  assert.equal(await pipeline.execute(succeeds), 'fine');
  assert.equal(await rejection(pipeline.execute(fails)), boom);
  assert.deepEqual({ ...(await pipeline.settle(fails)) }, { ok: false, error: boom });
});

test('it gets the outcome of what is inside, and may replace it', async () => {
  const seen = [];
  const pipeline = build(
    custom(async (next, context) => {
      const outcome = await next(context);
      seen.push({ ...outcome });
      return outcome.ok ? Outcome.failure(boom) : Outcome.success('instead');
    }),
  );
  assert.equal(await rejection(pipeline.execute(succeeds)), boom);
  assert.equal(await pipeline.execute(fails), 'instead');
  assert.deepEqual(seen, [
    { ok: true, result: 'fine' },
    { ok: false, error: boom },
  ]);
});

test('it may run the inside never, several times, or several at once', async () => {
  const times = async (execute) => {
    let calls = 0;
    await build(custom(execute)).settle(() => {
      calls += 1;
    });
    return calls;
  };
  assert.equal(await times(async () => Outcome.success('cached')), 0);
  assert.equal(
    await times(async (next, context) => (await next(context), await next(context), next(context))),
    3,
  );
  const both = async (next, context) => (await Promise.all([next(context), next(context)]))[0];
  assert.equal(await times(both), 2);
});

test('each run of the inside has a fresh context below the given one, with a signal of its own', async () => {
  const contexts = [];
  let given;
  const pipeline = build(
    custom(async (next, context) => {
      given = context;
      await next(context);
      return next(context);
    }),
  );
  await pipeline.execute(
    (context) => {
      contexts.push(context);
      context.properties.set('seen', contexts.length);
    },
    { operationKey: 'get' },
  );
  const [first, second] = contexts;
  assert.equal(new Set([given, first, second]).size, 3);
  assert.notEqual(first.signal, second.signal);
  assert.deepEqual(
    [given, first, second].map(({ operationKey }) => operationKey),
    ['get', 'get', 'get'],
  );
  assert.deepEqual(
    [given, first, second].map(({ properties }) => properties.get('seen')),
    [2, 2, 2],
  );
});

test('what it throws, now or later, is the error of the execution', async () => {
  for (const execute of [
    () => {
      throw boom;
    },
    () => Promise.reject(boom),
    async (next, context) => {
      await next(context);
      throw boom;
    },
  ]) {
    const pipeline = build(custom(execute));
    assert.equal(await rejection(pipeline.execute(succeeds)), boom);
    assert.deepEqual({ ...(await pipeline.settle(succeeds)) }, { ok: false, error: boom });
  }
});

test('what it answers instead of an outcome is a TypeError of that execution', async () => {
  for (const answer of [undefined, null, 'fine', 5, {}, { ok: 'yes' }, [], () => {}]) {
    const error = await rejection(build(custom(async () => answer)).execute(succeeds));
    assert.equal(error.name, 'TypeError');
    assert.match(error.message, /^the result of Own must be an Outcome, not /);
  }
});

test('an outcome that it made itself, or that is there at once, will do', async () => {
  assert.equal(await build(custom(() => ({ ok: true, result: 'plain' }))).execute(fails), 'plain');
  assert.equal(await rejection(build(custom(() => Outcome.failure(boom))).execute(succeeds)), boom);
});

test('the factory is called once for each build; getStrategy gives what it made', async () => {
  const made = [];
  const factory = () => {
    const strategy = {
      name: 'Counting',
      failures: 0,
      async execute(next, context) {
        const outcome = await next(context);
        // By `this`: it is called as a method.
        if (!outcome.ok) this.failures += 1;
        return outcome;
      },
    };
    made.push(strategy);
    return strategy;
  };
  const builder = new PipelineBuilder().add(factory);
  assert.equal(made.length, 0);
  const pipelines = [builder.build(), builder.build()];
  await pipelines[0].settle(fails);
  await pipelines[0].settle(succeeds);
  await pipelines[1].settle(succeeds);
  assert.equal(made.length, 2);
  for (const [index, pipeline] of pipelines.entries()) {
    assert.equal(pipeline.getStrategy('Counting'), made[index]);
    assert.equal(made[index].failures, 1 - index);
  }
});

test('a class can be one', async () => {
  class Tagging {
    name = 'Tagging';

    execute(next, context) {
      context.properties.set('tag', this.name);
      return next(context);
    }
  }
  const pipeline = build(() => new Tagging());
  assert.equal(await pipeline.execute(({ properties }) => properties.get('tag')), 'Tagging');
  assert.ok(pipeline.getStrategy('Tagging') instanceof Tagging);
});

test('what a factory makes has to have a name and a function execute, or the build throws', () => {
  const execute = (next, context) => next(context);
  for (const [wrong, type, message] of [
    [undefined, 'TypeError', /^a strategy of your own must be an object with name and execute/],
    [null, 'TypeError', /^a strategy of your own must be/],
    ['x', 'TypeError', /^a strategy of your own must be/],
    [{}, 'TypeError', /^a strategy of your own must be/],
    [{ name: 'x' }, 'TypeError', /^a strategy of your own must be/],
    [{ name: 'x', execute: true }, 'TypeError', /^a strategy of your own must be/],
    [Promise.resolve({ name: 'x', execute }), 'TypeError', /^a strategy of your own must be/],
    [{ execute }, 'TypeError', /^the name of a strategy of your own must be a non-empty string/],
    [{ name: 5, execute }, 'TypeError', /^the name of a strategy of your own must be/],
    [{ name: '', execute }, 'RangeError', /^the name of a strategy of your own must be/],
  ]) {
    assert.throws(() => build(() => wrong), { name: type, message });
  }
  assert.throws(
    () =>
      build(() => {
        throw boom;
      }),
    boom,
  );
});

test('add takes nothing else', () => {
  for (const wrong of [undefined, null, {}, 'retry', 5, { name: 'x', execute() {} }, [], Symbol('s')]) {
    assert.throws(() => new PipelineBuilder().add(wrong), {
      name: 'TypeError',
      message:
        /^the strategy must be made by one of the …Strategy functions, or a function that makes your own/,
    });
  }
});

test('it stands where it was added: outside, inside and between gates', async (t) => {
  simulate(t);
  const order = [];
  const noting = (name) =>
    custom(async (next, context) => {
      order.push(`${name} begins`);
      const outcome = await next(context);
      order.push(`${name} ends`);
      return outcome;
    }, name);
  const pipeline = new ResiliencePipelineBuilder()
    .add(noting('a'))
    .addConcurrencyLimiter(1)
    .add(noting('b'))
    .addTimeout(100)
    .add(noting('c'))
    .build();
  await pipeline.execute(() => order.push('callback'));
  assert.deepEqual(order, ['a begins', 'b begins', 'c begins', 'callback', 'c ends', 'b ends', 'a ends']);
  const held = hold(pipeline);
  await turn();
  assert.equal((await rejection(pipeline.execute(succeeds))).code, 'BULKHEAD_FULL');
  t.mock.timers.tick(100);
  assert.equal((await rejection(held.promise)).code, 'TIMEOUT');
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('a rejection of what is inside is an outcome to it, not an exception', async () => {
  const seen = [];
  const pipeline = build(
    custom(async (next, context) => {
      const outcome = await next(context);
      seen.push(outcome.error?.code);
      return outcome;
    }),
    timeoutStrategy({ timeoutGenerator: () => 0 }),
  );
  await rejection(pipeline.execute(succeeds));
  assert.deepEqual(seen, ['TIMEOUT']);
});

test("the caller's abort rejects at once; what the strategy runs then does not start", async () => {
  const controller = new AbortController();
  let late;
  const pipeline = build(
    custom(async (next, context) => {
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
      await turn();
      late = await next(context);
      return late;
    }),
  );
  const promise = pipeline.execute(() => assert.fail('must not run'), { signal: controller.signal });
  controller.abort('gone');
  assert.equal(await rejection(promise), 'gone');
  await turn();
  await turn();
  assert.deepEqual({ ...late }, { ok: false, error: 'gone' });
});

test('one that fails late, after an abort, is no unhandled rejection', async (t) => {
  let unhandled = 0;
  const note = () => {
    unhandled += 1;
  };
  process.on('unhandledRejection', note);
  t.after(() => process.off('unhandledRejection', note));
  const controller = new AbortController();
  const pipeline = build(
    custom(async () => {
      await turn();
      throw boom;
    }),
  );
  const promise = pipeline.execute(succeeds, { signal: controller.signal });
  controller.abort('gone');
  assert.equal(await rejection(promise), 'gone');
  await turn();
  await turn();
  assert.equal(unhandled, 0);
});

test('inside of a retry it runs for each attempt, outside once', async () => {
  const counts = [];
  for (const outside of [true, false]) {
    let runs = 0;
    const own = custom((next, context) => ((runs += 1), next(context)));
    const retry = retryStrategy({ maxRetryAttempts: 2, delay: 0 });
    await build(...(outside ? [own, retry] : [retry, own])).settle(fails);
    counts.push(runs);
  }
  assert.deepEqual(counts, [1, 3]);
});

test('in an ambient pipeline it runs in the context, and in the stores of the caller', async () => {
  const user = new AsyncLocalStorage();
  const seen = [];
  const own = custom(async (next, context) => {
    seen.push(getResilienceContext() === context, user.getStore());
    const outcome = await next(context);
    seen.push(getResilienceContext() === context, user.getStore());
    return outcome;
  });
  await user.run('caller', () => build(own).execute(turn));
  assert.deepEqual(seen, [true, 'caller', true, 'caller']);
  const explicit = new PipelineBuilder({ context: 'explicit' })
    .add(custom((next, context) => (seen.push(getResilienceContext()), next(context))))
    .build();
  await explicit.execute(succeeds);
  assert.equal(seen.at(-1), undefined);
});

test('an execution inside of a strategy of your own hangs below it', async () => {
  const controller = new AbortController();
  const inner = new PipelineBuilder().build();
  let nested;
  const pipeline = build(
    custom((next, context) => {
      nested = inner.settle(() => new Promise(() => {}));
      return next(context);
    }),
  );
  const promise = pipeline.execute(() => new Promise(() => {}), { signal: controller.signal });
  await turn();
  controller.abort('gone');
  assert.equal(await rejection(promise), 'gone');
  assert.equal((await nested).error, 'gone');
});

test('telemetry of the pipeline tells of the execution around it', async () => {
  const { builder, names } = listen();
  await builder.add(through).build().execute(succeeds);
  assert.deepEqual(names(), ['PipelineExecuting', 'PipelineExecuted']);
});
