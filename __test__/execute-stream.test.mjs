// Streams of items: one execution from the first `next()` to the end.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import {
  PipelineBuilder,
  ResiliencePipelineBuilder,
  getResilienceContext,
} from '@ylcnfrht/resilience';
import { deferred } from './support/deferred.mjs';
import { assertIdle } from './support/idle.mjs';

const turn = () => new Promise(setImmediate);
const limited = (options) => new ResiliencePipelineBuilder(options).addConcurrencyLimiter(1, 10).build();
const limiterOf = (pipeline) => pipeline.getStrategy('ConcurrencyLimiter');
const idle = (pipeline) => assertIdle(limiterOf(pipeline));

async function* count(to, log = []) {
  try {
    for (let item = 1; item <= to; item += 1) {
      log.push(item);
      yield item;
    }
  } finally {
    log.push('closed');
  }
}

async function collect(stream) {
  const items = [];
  for await (const item of stream) items.push(item);
  return items;
}

for (const context of ['ambient', 'explicit']) {
  test(`a stream holds its permit from the first next() to its end (${context})`, async () => {
    const pipeline = limited({ context });
    const stream = pipeline.executeStream(() => count(3));
    await turn();
    assert.equal(limiterOf(pipeline).inflight, 0);
    assert.deepEqual(await stream.next(), { value: 1, done: false });
    assert.equal(limiterOf(pipeline).inflight, 1);
    const waiting = pipeline.execute(() => 'after the stream');
    assert.equal(limiterOf(pipeline).queued, 1);
    assert.deepEqual(await collect(stream), [2, 3]);
    assert.equal(await waiting, 'after the stream');
    assert.deepEqual(await stream.next(), { value: undefined, done: true });
    idle(pipeline);
  });

  test(`a stream waits for its permit, and is aborted while it does (${context})`, async () => {
    const pipeline = limited({ context });
    const end = deferred();
    const first = pipeline.execute(() => end.promise);
    const controller = new AbortController();
    const gone = pipeline.executeStream(() => assert.fail('must not run'), { signal: controller.signal }).next();
    const waits = collect(pipeline.executeStream(() => count(2)));
    controller.abort(new Error('gone'));
    await assert.rejects(gone, { message: 'gone' });
    end.resolve();
    await first;
    assert.deepEqual(await waits, [1, 2]);
    idle(pipeline);
  });
}

const SOURCES = {
  'an async generator': () => count(3),
  'a promise of one': async () => count(3),
  'an array': () => [1, 2, 3],
  'promises': () => [Promise.resolve(1), 2, 3],
  'a Readable': () => Readable.from([1, 2, 3]),
  'a ReadableStream': () => ReadableStream.from?.([1, 2, 3]) ?? Readable.toWeb(Readable.from([1, 2, 3])),
  'an iterator that is not iterable': () => {
    const source = count(3);
    return { next: () => source.next() };
  },
  'a callback that is an async generator': async function* generate() {
    yield* count(3);
  },
};
for (const [what, callback] of Object.entries(SOURCES)) {
  test(`items come from ${what}`, async () => {
    const pipeline = limited();
    assert.deepEqual(await collect(pipeline.executeStream(callback)), [1, 2, 3]);
    idle(pipeline);
  });
}

test('what is no stream is an error that names it', async () => {
  const pipeline = limited();
  for (const value of [undefined, null, 1, 'text', {}, () => {}]) {
    await assert.rejects(collect(pipeline.executeStream(() => value)), {
      name: 'TypeError',
      message: /^the result of the callback of executeStream must be an async iterable, not /,
    });
  }
  await assert.rejects(collect(pipeline.executeStream(() => ({ next: () => 1 }))), { name: 'TypeError' });
  idle(pipeline);
});

test('bad arguments come out of next(), as those of execute out of its promise', async () => {
  const pipeline = limited();
  const { signal } = new AbortController();
  for (const [args, message] of [
    [[undefined], 'the callback of an execution must be a function, not undefined'],
    [
      [() => count(1), signal],
      'the options of an execution must be an object such as { signal }, not an AbortSignal',
    ],
    [[() => count(1), { body: 1 }], 'body must be a boolean, not 1'],
    [[() => count(1), { detached: 1 }], 'detached must be a boolean, not 1'],
    [[() => count(1), new Map()], /^the options of an execution must be an object such as \{ signal \}, not Map/],
  ]) {
    const stream = pipeline.executeStream(...args);
    await assert.rejects(stream.next(), { name: 'TypeError', message });
    assert.deepEqual(await stream.next(), { value: undefined, done: true });
  }
  const disposed = limited();
  disposed.dispose();
  await assert.rejects(collect(disposed.executeStream(() => count(1))), { code: 'PIPELINE_DISPOSED' });
});

test('options of a class, with getters on its prototype, are options of a stream', async () => {
  const controller = new AbortController();
  class Options {
    operationKey = 'own';

    get signal() {
      return controller.signal;
    }

    get body() {
      return true;
    }
  }
  const pipeline = new ResiliencePipelineBuilder().addTimeout(20).addConcurrencyLimiter(1).build();
  for (const options of [new Options(), Object.assign(new Options(), { repeatable: true })]) {
    let context;
    const stream = pipeline.executeStream((given) => {
      context = given;
      return count(2);
    }, options);
    await stream.next();
    assert.equal(context.operationKey, 'own');
    // The deadline guards the rest of it, too.
    await once(context.signal, 'abort');
    await assert.rejects(stream.next(), { code: 'TIMEOUT' });
  }
  controller.abort('enough');
  await assert.rejects(collect(pipeline.executeStream(() => count(1), new Options())), (error) => error === 'enough');
  idle(pipeline);
});

test('an option that there is not is told with those of a stream', async () => {
  await assert.rejects(limited().executeStream(() => count(1), { boby: true }).next(), {
    name: 'TypeError',
    message:
      "executeStream has no option 'boby'; did you mean 'body'? " +
      'it takes signal, properties, operationKey, repeatable, detached, body',
  });
});

test('execute hands an iterable on as any other value, and its permit is back', async () => {
  const pipeline = limited();
  const stream = await pipeline.execute(() => count(2));
  idle(pipeline);
  assert.deepEqual(await collect(stream), [1, 2]);
});

test('one item is asked for at a time, and only when it is read', async () => {
  const log = [];
  const pipeline = limited();
  const stream = pipeline.executeStream(() => count(5, log));
  await stream.next();
  for (let round = 0; round < 3; round += 1) await turn();
  assert.deepEqual(log, [1]);
  const all = await Promise.all([stream.next(), stream.next(), stream.next()]);
  assert.deepEqual(all.map(({ value }) => value), [2, 3, 4]);
  assert.deepEqual(log, [1, 2, 3, 4]);
  await stream.return();
  idle(pipeline);
});

test('break closes the source, and the permit is back when it is closed', async () => {
  const pipeline = limited();
  const log = [];
  for await (const item of pipeline.executeStream(() => count(5, log))) if (item === 2) break;
  assert.deepEqual(log, [1, 2, 'closed']);
  idle(pipeline);
});

test('return() and throw() before the first next() start nothing', async () => {
  const pipeline = limited();
  const first = pipeline.executeStream(() => assert.fail('must not run'));
  assert.deepEqual(await first.return('value'), { value: 'value', done: true });
  assert.deepEqual(await first.next(), { value: undefined, done: true });
  const second = pipeline.executeStream(() => assert.fail('must not run'));
  await assert.rejects(second.throw(new Error('mine')), { message: 'mine' });
  assert.deepEqual(await second.next(), { value: undefined, done: true });
  idle(pipeline);
});

test('throw() ends the stream with its own error', async () => {
  const pipeline = limited();
  const log = [];
  const stream = pipeline.executeStream(() => count(5, log));
  await stream.next();
  await assert.rejects(stream.throw(new Error('mine')), { message: 'mine' });
  assert.deepEqual(log, [1, 'closed']);
  idle(pipeline);
});

test('return() while an item is awaited ends the wait, and tells the source by the signal', async () => {
  const pipeline = limited();
  let own;
  for (const before of [0, 1]) {
    const stream = pipeline.executeStream(async function* hang({ signal }) {
      own = signal;
      for (let item = 0; item < before; item += 1) yield item;
      await new Promise(() => {});
    });
    if (before === 1) await stream.next();
    const pending = stream.next();
    await turn();
    assert.deepEqual(await stream.return('left'), { value: 'left', done: true });
    assert.deepEqual(await pending, { value: undefined, done: true });
    assert.equal(own.aborted, true);
    idle(pipeline);
  }
});

test('a failure to close comes out of return(), and the permit is back', async () => {
  const pipeline = limited();
  const stream = pipeline.executeStream(() => ({
    next: async () => ({ value: 1, done: false }),
    return: async () => {
      throw new Error('cannot close');
    },
  }));
  await stream.next();
  await assert.rejects(stream.return(), { message: 'cannot close' });
  idle(pipeline);
});

test('an error in the midst comes out of next() once', async () => {
  const pipeline = limited();
  const stream = pipeline.executeStream(async function* fail() {
    yield 1;
    throw new Error('broken');
  });
  assert.equal((await stream.next()).value, 1);
  await assert.rejects(stream.next(), { message: 'broken' });
  assert.deepEqual(await stream.next(), { value: undefined, done: true });
  idle(pipeline);
});

for (const whileReading of [true, false]) {
  test(`an abort ends the stream ${whileReading ? 'while an item is awaited' : 'between two items'}`, async () => {
    const pipeline = limited();
    const controller = new AbortController();
    const log = [];
    const stream = pipeline.executeStream(async function* endless({ signal }) {
      try {
        yield 1;
        await once(signal, 'abort');
        yield 2;
      } finally {
        log.push('closed');
      }
    }, { signal: controller.signal });
    await stream.next();
    const pending = whileReading ? stream.next() : undefined;
    controller.abort(new Error('gone'));
    idle(pipeline);
    await assert.rejects(pending ?? stream.next(), { message: 'gone' });
    assert.deepEqual(await stream.next(), { value: undefined, done: true });
    await turn();
    assert.deepEqual(log, ['closed']);
  });
}

test('an enclosing execution that ends by its deadline ends the stream', async () => {
  const inner = limited();
  const seen = deferred();
  const outcome = await new ResiliencePipelineBuilder().addTimeout(20).build().settle(async () => {
    const stream = inner.executeStream(async function* hang() {
      yield 1;
      await new Promise(() => {});
    });
    await collect(stream).catch(seen.resolve);
  });
  assert.equal(outcome.error, await seen.promise);
  idle(inner);
});

test('a deadline guards the first item, and with body the whole', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const make = () => new ResiliencePipelineBuilder().addConcurrencyLimiter(1).addTimeout(100).build();
  const slow = async function* slow() {
    for (let item = 1; item <= 3; item += 1) {
      yield item;
      await new Promise((resolve) => setTimeout(resolve, 80));
    }
  };
  const hanging = make();
  const none = hanging.executeStream(() => new Promise(() => {})).next();
  const failed = assert.rejects(none, { code: 'TIMEOUT' });
  t.mock.timers.tick(100);
  await failed;
  const [first, whole] = [make(), make()];
  const read = async (stream) => {
    const items = [];
    try {
      for await (const item of stream) items.push(item);
      return [items, undefined];
    } catch (error) {
      return [items, error.code];
    }
  };
  const results = [read(first.executeStream(slow)), read(whole.executeStream(slow, { body: true }))];
  for (let tick = 0; tick < 4; tick += 1) {
    for (let round = 0; round < 3; round += 1) await turn();
    t.mock.timers.tick(80);
  }
  assert.deepEqual(await Promise.all(results), [[[1, 2, 3], undefined], [[1, 2], 'TIMEOUT']]);
  for (const pipeline of [hanging, first, whole]) idle(pipeline);
});

test('retry repeats what fails before the first item, and nothing after', async () => {
  const pipeline = new ResiliencePipelineBuilder().addRetry({ delay: 0 }).addConcurrencyLimiter(1).build();
  for (const fails of [2, 9]) {
    let starts = 0;
    const stream = pipeline.executeStream(async function* flaky() {
      starts += 1;
      if (starts <= 2) throw new Error('before');
      yield starts;
      if (fails === 9) throw new Error('after');
    });
    assert.equal((await stream.next()).value, 3);
    if (fails === 9) await assert.rejects(stream.next(), { message: 'after' });
    else assert.equal((await stream.next()).done, true);
    assert.equal(starts, 3);
    idle(pipeline);
  }
});

test('a stream that is not repeatable starts once', async () => {
  const pipeline = new ResiliencePipelineBuilder().addFallback({ fallbackValue: [7] }).addRetry({ delay: 0 }).build();
  let starts = 0;
  const once1 = async function* once1() {
    starts += 1;
    if (starts === 1) throw new Error('before');
    yield 1;
    throw new Error('after');
  };
  assert.deepEqual(await collect(pipeline.executeStream(once1, { repeatable: false })), [7]);
  assert.equal(starts, 1);
  const stream = pipeline.executeStream(once1, { repeatable: false });
  assert.equal((await stream.next()).value, 1);
  await assert.rejects(stream.next(), { message: 'after' });
});

test('the attempt of hedging that has the first item goes on, the others are aborted', async () => {
  const pipeline = new ResiliencePipelineBuilder().addHedging({ delay: 0 }).addConcurrencyLimiter(2).build();
  const signals = [];
  const stream = pipeline.executeStream(async function* race({ signal }) {
    signals.push(signal);
    if (signals.length === 1) await new Promise(() => {});
    yield 'fast';
    await turn();
    yield 'still';
  });
  assert.equal((await stream.next()).value, 'fast');
  assert.deepEqual(signals.map(({ aborted }) => aborted), [true, false]);
  assert.equal(limiterOf(pipeline).inflight, 1);
  assert.deepEqual(await collect(stream), ['still']);
  idle(pipeline);
});

test('a fallback gives another stream before the first item, and none after', async () => {
  const seen = [];
  const pipeline = new ResiliencePipelineBuilder()
    .addFallback({
      fallbackAction: ({ outcome }) => {
        seen.push(outcome.error.message);
        return count(2);
      },
    })
    .addConcurrencyLimiter(1)
    .build();
  assert.deepEqual(await collect(pipeline.executeStream(() => Promise.reject(new Error('before')))), [1, 2]);
  const stream = pipeline.executeStream(async function* fail() {
    yield 1;
    throw new Error('after');
  });
  await stream.next();
  await assert.rejects(stream.next(), { message: 'after' });
  assert.deepEqual(seen, ['before']);
  const left = pipeline.executeStream(() => Promise.reject(new Error('again')));
  await left.next();
  assert.deepEqual(await left.return(), { value: undefined, done: true });
  const bad = new ResiliencePipelineBuilder().addFallback({ fallbackValue: 1 }).build();
  await assert.rejects(collect(bad.executeStream(() => Promise.reject(new Error('x')))), { name: 'TypeError' });
  idle(pipeline);
});

test('a substitute that hangs can be left', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addFallback({ fallbackAction: () => ({ next: () => new Promise(() => {}) }) })
    .build();
  const stream = pipeline.executeStream(() => Promise.reject(new Error('before')));
  const pending = stream.next();
  await turn();
  await stream.return();
  assert.deepEqual(await pending, { value: undefined, done: true });
});

test('a circuit breaker counts a stream as one call, by its end', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addCircuitBreaker({ consecutiveFailures: 2, breakDuration: '1h' })
    .build();
  const breaker = pipeline.getStrategy('CircuitBreaker');
  const fail = async function* fail() {
    yield 1;
    throw new Error('after');
  };
  for (const state of ['closed', 'open']) {
    await assert.rejects(collect(pipeline.executeStream(fail)), { message: 'after' });
    assert.equal(breaker.state, state);
  }
  await assert.rejects(collect(pipeline.executeStream(() => count(1))), { code: 'CIRCUIT_OPEN' });
});

test('an adaptive limiter takes the time to the first item for the latency', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const samples = [];
  const algorithm = { onSample: ({ rtt, limit }) => (samples.push(rtt), limit) };
  const pipeline = new ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ algorithm, initialLimit: 5 })
    .build();
  const first = deferred();
  const stream = pipeline.executeStream(async function* slow() {
    await first.promise;
    yield 1;
  });
  const pending = stream.next();
  await turn();
  t.mock.timers.tick(40);
  first.resolve();
  await pending;
  t.mock.timers.tick(1000);
  assert.equal((await stream.next()).done, true);
  assert.deepEqual(samples, [40]);
});

test('a strategy that replaces the outcome does not make a broken stream whole', async () => {
  const pipeline = new PipelineBuilder()
    .add(() => ({
      name: 'Hiding',
      execute: async (next, context) => {
        const outcome = await next(context);
        return outcome.ok ? outcome : { ok: true, result: 'hidden' };
      },
    }))
    .build();
  const stream = pipeline.executeStream(async function* fail() {
    yield 1;
    throw new Error('after');
  });
  await stream.next();
  await assert.rejects(stream.next(), { message: 'after' });
});

test('the source runs in the context and in the stores of its execution, whoever reads', async () => {
  const store = new AsyncLocalStorage();
  const pipeline = limited();
  const seen = [];
  let own;
  const stream = store.run('caller', () => {
    const made = pipeline.executeStream(async function* see(context) {
      own = context;
      for (;;) {
        seen.push([getResilienceContext() === context, store.getStore()]);
        yield 1;
      }
    });
    return made;
  });
  await store.run('caller', () => stream.next());
  await store.run('other', () => stream.next());
  await stream.next();
  await stream.return();
  assert.deepEqual(seen, Array(3).fill([true, 'caller']));
  assert.equal(own.signal.aborted, false, 'a stream that was left is no abort');
});

test('a stream that nobody has any more gives its permit back', async () => {
  const pipeline = limited();
  const log = [];
  await (async () => {
    await pipeline.executeStream(() => count(5, log)).next();
  })();
  assert.equal(limiterOf(pipeline).inflight, 1);
  for (let round = 0; round < 50 && limiterOf(pipeline).inflight > 0; round += 1) {
    globalThis.gc();
    await turn();
  }
  assert.deepEqual(log, [1, 'closed']);
  idle(pipeline);
});

test('a pipeline that is disposed of lets its streams end', async () => {
  const pipeline = limited();
  const stream = pipeline.executeStream(() => count(2));
  await stream.next();
  pipeline.dispose();
  assert.deepEqual(await collect(stream), [2]);
  idle(pipeline);
});

test('every permit comes back after streams of all kinds that end in any way', async () => {
  let seed = 20_26;
  const random = (below) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  };
  const pipelines = [
    new ResiliencePipelineBuilder().addConcurrencyLimiter(3, 1000).build(),
    new ResiliencePipelineBuilder({ context: 'explicit' }).addConcurrencyLimiter(3, 1000).addTimeout(5).build(),
    new ResiliencePipelineBuilder().addRetry({ delay: 0 }).addConcurrencyLimiter(3, 1000).addTimeout(5).build(),
    new ResiliencePipelineBuilder().addHedging({ delay: 1 }).addConcurrencyLimiter(3, 1000).build(),
    new ResiliencePipelineBuilder().addFallback({ fallbackValue: [1, 2] }).addConcurrencyLimiter(3, 1000).build(),
  ];
  const source = async function* source({ signal }) {
    for (let left = random(4); left > 0; left -= 1) {
      if (random(8) === 0) throw new Error('source');
      if (random(8) === 0) await Promise.race([turn(), once(signal, 'abort')]);
      yield left;
    }
  };
  const use = async (pipeline) => {
    const controller = new AbortController();
    const stream = pipeline.executeStream(source, { signal: controller.signal, body: random(2) === 0 });
    const end = random(6);
    try {
      for (let reads = random(5); reads > 0; reads -= 1) {
        const pending = stream.next();
        if (random(10) === 0) controller.abort(new Error('gone'));
        if (random(10) === 0) await stream.return();
        if ((await pending).done) return;
      }
      if (end === 0) controller.abort(new Error('gone'));
      else if (end === 1) await stream.throw(new Error('thrown'));
      else if (end === 2) await collect(stream);
      else await stream.return();
    } catch (error) {
      assert.match(error.code === 'TIMEOUT' ? 'gone' : error.message, /^(gone|source|thrown)$/);
    }
  };
  const all = Array.from({ length: 1000 }, (_, index) => use(pipelines[index % pipelines.length]));
  await Promise.all(all);
  await turn();
  assertIdle(...pipelines.map(limiterOf));
});
