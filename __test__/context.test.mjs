import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ResiliencePipelineBuilder,
  getResilienceContext,
  getResilienceSignal,
} from '@ylcnfrht/resilience';
import { collected } from './support/collected.mjs';
import { deferred } from './support/deferred.mjs';

const build = (options) => new ResiliencePipelineBuilder(options).build();
const contextOf = (pipeline, options) => pipeline.execute((context) => context, options);

test('context.signal is one AbortSignal, whenever it is read', async () => {
  await build().execute((context) => {
    assert.ok(context.signal instanceof AbortSignal);
    assert.equal(context.signal, context.signal);
    assert.equal(context.signal.aborted, false);
  });
});

test('a signal first read after the abort is aborted, with the reason', async () => {
  const controller = new AbortController();
  const reason = { why: 'any value' };
  let own;
  const promise = build().execute(
    (context) => {
      own = context;
      return new Promise(() => {});
    },
    { signal: controller.signal },
  );
  controller.abort(reason);
  await assert.rejects(promise, (error) => error === reason);
  assert.equal(own.signal.aborted, true);
  assert.equal(own.signal.reason, reason);
});

test('every execution has a signal of its own', async () => {
  const pipeline = build();
  const [first, second] = [await contextOf(pipeline), await contextOf(pipeline)];
  assert.notEqual(first.signal, second.signal);
});

test('neither success nor failure aborts the signal, also not one that the caller aborts later', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const seen = [];
  const pipeline = build();
  await pipeline.execute((context) => seen.push(context.signal), { signal });
  await pipeline.settle((context) => {
    seen.push(context.signal);
    throw new Error('failed');
  }, { signal });
  controller.abort();
  assert.deepEqual(seen.map(({ aborted }) => aborted), [false, false]);
});

test('context.properties is one empty Map, whenever it is read', async () => {
  const { properties } = await contextOf(build());
  assert.deepEqual(properties, new Map());
  const context = await contextOf(build());
  assert.equal(context.properties, context.properties);
});

test('a Map given as properties is used itself, another iterable is copied', async () => {
  const map = new Map([['a', 1]]);
  assert.equal((await contextOf(build(), { properties: map })).properties, map);
  const pairs = [['a', 1]];
  assert.deepEqual((await contextOf(build(), { properties: pairs })).properties, map);
  const context = await contextOf(build(), { properties: new Set(pairs) });
  assert.deepEqual(context.properties, map);
});

test('a nested execution has its parent\'s map, in whichever order the two are read', async () => {
  const [outer, middle, inner] = [build(), build(), build()];
  await outer.execute((first) =>
    middle.execute((second) =>
      inner.execute((third) => {
        third.properties.set('from', 'inner');
        assert.equal(second.properties, third.properties);
        assert.equal(first.properties, third.properties);
      }),
    ),
  );
});

test('properties given to a nested execution are its own and its children\'s', async () => {
  const own = new Map();
  await build().execute((outer) =>
    build().execute(
      (middle) =>
        build().execute((inner) => {
          assert.equal(middle.properties, own);
          assert.equal(inner.properties, own);
          assert.notEqual(outer.properties, own);
        }),
      { properties: own },
    ),
  );
});

test('operationKey is what was given', async () => {
  assert.equal((await contextOf(build(), { operationKey: 'load' })).operationKey, 'load');
  assert.equal((await contextOf(build())).operationKey, undefined);
});

test('the parts of a pipeline share properties and operation key', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout(1000)
    .addFallback({ fallbackAction: ({ context }) => context })
    .addConcurrencyLimiter(1)
    .build();
  let inside;
  const outside = await pipeline.execute((context) => {
    inside = context;
    context.properties.set('seen', true);
    throw new Error('failed');
  }, { operationKey: 'load' });
  assert.equal(inside.operationKey, 'load');
  assert.equal(outside.operationKey, 'load');
  assert.equal(outside.properties, inside.properties);
});

test('getResilienceContext and getResilienceSignal know the execution, also after an await', async () => {
  assert.equal(getResilienceContext(), undefined);
  assert.equal(getResilienceSignal(), undefined);
  await build().execute(async (outer) => {
    assert.equal(getResilienceContext(), outer);
    await null;
    assert.equal(getResilienceContext(), outer);
    assert.equal(getResilienceSignal(), outer.signal);
    await build().execute(async (inner) => {
      await null;
      assert.notEqual(inner, outer);
      assert.equal(getResilienceContext(), inner);
    });
    assert.equal(getResilienceContext(), outer);
  });
  assert.equal(getResilienceContext(), undefined);
});

test('an explicit pipeline neither sets nor inherits the current context', async () => {
  const explicit = build({ context: 'explicit' });
  await explicit.execute(async () => {
    assert.equal(getResilienceContext(), undefined);
    await null;
    assert.equal(getResilienceContext(), undefined);
  });
  const controller = new AbortController();
  const gate = deferred();
  let nested;
  const outer = build().execute(
    async (context) => {
      nested = explicit.execute(async (own) => {
        assert.notEqual(own.properties, context.properties);
        return gate.promise;
      });
      return nested;
    },
    { signal: controller.signal },
  );
  controller.abort(new Error('only the outer one'));
  await assert.rejects(outer, { message: 'only the outer one' });
  gate.resolve('unharmed');
  assert.equal(await nested, 'unharmed');
});

test('an execution that outlives its parent is aborted by its grandparent', async () => {
  const controller = new AbortController();
  const reason = new Error('from the top');
  const started = deferred();
  let inner;
  const outer = build().execute(
    async () => {
      await build().execute(() => {
        inner = build().execute(() => new Promise(() => {}));
      });
      started.resolve();
      return new Promise(() => {});
    },
    { signal: controller.signal },
  );
  await started.promise;
  controller.abort(reason);
  await assert.rejects(outer, (error) => error === reason);
  await assert.rejects(inner, (error) => error === reason);
});

test('what a callback starts when its execution has settled hangs below the enclosing one', async () => {
  const controller = new AbortController();
  const go = deferred();
  const late = deferred();
  const outer = build().execute(
    async () => {
      await build().execute(() => {
        go.promise.then(() => late.resolve({ promise: build().settle(() => new Promise(() => {})) }));
      });
      go.resolve();
      return new Promise(() => {});
    },
    { signal: controller.signal },
  );
  const { promise } = await late.promise;
  const reason = new Error('from the top');
  controller.abort(reason);
  await assert.rejects(outer, (error) => error === reason);
  assert.equal((await promise).error, reason);
});

test('an execution started by an abandoned callback rejects at once and does not run', async () => {
  const controller = new AbortController();
  const reason = new Error('gone');
  const go = deferred();
  const late = deferred();
  const outer = build().execute(
    async () => {
      await go.promise;
      late.resolve({ promise: build().execute(() => assert.fail('must not run')) });
    },
    { signal: controller.signal },
  );
  controller.abort(reason);
  await assert.rejects(outer, (error) => error === reason);
  go.resolve();
  await assert.rejects((await late.promise).promise, (error) => error === reason);
});

test('a chain of executions that start each other keeps no settled one alive', async () => {
  const pipeline = build();
  const links = [];
  const reached = deferred();
  const end = deferred();
  const step = (left) => pipeline.execute(async (context) => {
    links.push(new WeakRef(context));
    await null;
    if (left > 0) return void step(left - 1);
    reached.resolve();
    return end.promise;
  });
  await pipeline.execute(() => step(4));
  await reached.promise;
  // The promises of the last one belong to the AsyncLocalStorage store of the one before it.
  for (const link of links.slice(0, -2)) assert.equal(await collected(link), true);
  assert.notEqual(links.at(-1).deref(), undefined);
  end.resolve();
});
