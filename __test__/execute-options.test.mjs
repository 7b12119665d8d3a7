import assert from 'node:assert/strict';
import test from 'node:test';
import { runInNewContext } from 'node:vm';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { rejection } from './support/hold.mjs';

const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).addTimeout(1000).build();
const limiter = pipeline.getStrategy('ConcurrencyLimiter');

async function refuses(options, name, message) {
  let called = false;
  const error = await rejection(pipeline.execute(() => (called = true), options));
  assert.equal(error.name, name, error.stack);
  assert.match(error.message, message);
  assert.equal(called, false);
  assert.equal(limiter.inflight, 0);
}

test('a callback that is no function rejects, without a throw', async () => {
  for (const callback of [undefined, null, 'f', {}, Promise.resolve(1)]) {
    const error = await rejection(pipeline.execute(callback));
    assert.equal(error.name, 'TypeError');
    assert.match(error.message, /^the callback of an execution must be a function, not /);
  }
});

/** A signal of a library's own, as polyfills have. */
class OwnSignal extends EventTarget {
  aborted = false;
}

test('a signal in place of the options is named', async () => {
  const message = 'the options of an execution must be an object such as { signal }, not an AbortSignal';
  for (const signal of [new AbortController().signal, AbortSignal.abort(), AbortSignal.timeout(1), new OwnSignal()]) {
    for (const context of ['ambient', 'explicit']) {
      const own = new ResiliencePipelineBuilder({ context }).addConcurrencyLimiter(1).build();
      const error = await rejection(own.execute(() => assert.fail('must not run'), signal));
      assert.deepEqual([error.name, error.message], ['TypeError', message]);
      assert.equal((await own.settle(() => assert.fail('must not run'), signal)).error.message, message);
    }
  }
});

test('options that are no object of options reject', async () => {
  const functions = [() => {}, class {}, async () => {}];
  const primitives = [null, 1, NaN, 'x', true, 1n, Symbol('s')];
  const objects = [[], [1], new Map(), new Set(), new WeakMap(), new Date(), /x/, new Error('x'), Promise.resolve()];
  const others = [new Uint8Array(1), new ArrayBuffer(1), new Number(1), new EventTarget(), new URL('http://h/')];
  for (const options of [...functions, ...primitives, ...objects, ...others, runInNewContext('[]')]) {
    await refuses(options, 'TypeError', /^the options of an execution must be an object such as \{ signal \}, not /);
  }
});

test('options of a class, without a prototype or of another realm are options', async () => {
  class Options {
    operationKey = 'own';
  }
  const bare = Object.assign(Object.create(null), { operationKey: 'own' });
  const other = runInNewContext("({ operationKey: 'own' })");
  for (const options of [new Options(), bare, other, Object.create(new Options())]) {
    assert.equal(await pipeline.execute(({ operationKey }) => operationKey, options), 'own');
  }
});

test('a signal that is none rejects', async () => {
  const lookAlike = { aborted: false, reason: undefined };
  for (const signal of [null, 1, 'x', {}, lookAlike, new AbortController(), new EventTarget()]) {
    await refuses({ signal }, 'TypeError', /^signal must be an AbortSignal, not /);
  }
});

test('properties that are no pairs reject', async () => {
  for (const properties of [null, 1, 'ab', true, {}, new WeakMap()]) {
    await refuses(
      { properties },
      'TypeError',
      /^properties must be a Map or an iterable of \[key, value\] pairs, not /,
    );
  }
  for (const properties of [[1], ['ab', null], new Set([1])]) {
    await refuses(
      { properties },
      'RangeError',
      /^properties must be a Map or an iterable of \[key, value\] pairs, not /,
    );
  }
});

test('an operationKey that is no string rejects', async () => {
  for (const operationKey of [null, 1, {}, Symbol('x')]) {
    await refuses({ operationKey }, 'TypeError', /^operationKey must be a string, not /);
  }
});

test('a getter that throws rejects with its error', async () => {
  const mine = new Error('mine');
  for (const option of ['signal', 'properties', 'operationKey']) {
    const options = Object.defineProperty({}, option, {
      get: () => {
        throw mine;
      },
    });
    assert.equal(await rejection(pipeline.execute(() => 1, options)), mine);
  }
  assert.equal(limiter.inflight, 0);
});

test('undefined options are defaults', async () => {
  const seen = await pipeline.execute(
    ({ signal, properties, operationKey }) => [signal.aborted, properties.size, operationKey],
    { signal: undefined, properties: undefined, operationKey: undefined },
  );
  assert.deepEqual(seen, [false, 0, undefined]);
});

test('a Map is the properties, any other iterable is copied', async () => {
  const map = new Map([['a', 1]]);
  assert.equal(await pipeline.execute(({ properties }) => properties, { properties: map }), map);
  const copy = await pipeline.execute(({ properties }) => properties, { properties: map.entries() });
  assert.notEqual(copy, map);
  assert.deepEqual([...copy], [['a', 1]]);
});

test('an empty operationKey is one', async () => {
  assert.equal(await pipeline.execute(({ operationKey }) => operationKey, { operationKey: '' }), '');
});

test('an option that execute does not have is named, with those that it has', async () => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).build();
  for (const run of ['execute', 'settle']) {
    const call = pipeline[run](() => assert.fail('must not run'), { singal: AbortSignal.abort() });
    const error = run === 'execute' ? await call.then(assert.fail, (reason) => reason) : (await call).error;
    assert.ok(error instanceof TypeError);
    assert.match(error.message, /'singal'.*signal, properties, operationKey/);
  }
});
