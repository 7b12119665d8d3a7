// Code and objects of another realm: `vm` contexts, as test runners and template engines make them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import * as own from '@ylcnfrht/resilience';
import { hold, rejection } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL('..', import.meta.url));

/** Evaluates an expression in a realm that knows nothing of Node.js, but for `globals`. */
const foreign = (expression, globals = {}) => vm.runInNewContext(`(${expression})`, globals);

/** Evaluates the package's own files in a new realm, as Jest does; the addon is the process's own. */
function loadInRealm() {
  const { AbortController, clearTimeout, performance, setTimeout } = globalThis;
  const globals = vm.createContext({ AbortController, clearTimeout, performance, process, setTimeout });
  const loaded = new Map();
  const load = (file) => {
    if (loaded.has(file)) return loaded.get(file).exports;
    const module = { exports: {} };
    loaded.set(file, module);
    const names = ['module', 'exports', 'require', '__filename', '__dirname'];
    const options = { filename: file, parsingContext: globals };
    const evaluate = vm.compileFunction(readFileSync(file, 'utf8'), names, options);
    const ownRequire = createRequire(file);
    const requireFile = (name) => {
      if (!name.startsWith('.') || name.endsWith('.node')) return ownRequire(name);
      return load(ownRequire.resolve(name));
    };
    evaluate(module, module.exports, requireFile, file, path.dirname(file));
    return module.exports;
  };
  return { loaded: load(path.join(root, 'index.js')), globals };
}

test('options, properties and callbacks may come from another realm', async () => {
  const options = foreign(`{
    limiter: { permitLimit: 1, queueLimit: 1, priority: ({ properties }) => properties.get('priority') },
    timeout: { timeoutGenerator: async () => '1h' },
    fallback: { shouldHandle: async ({ outcome }) => !outcome.ok, fallbackAction: async () => 'replaced' },
    map: { properties: new Map([['priority', 1]]), operationKey: 'key' },
    pairs: { properties: [['priority', 2]] },
    callback: async (context) => [context.operationKey, context.properties.get('priority')],
  }`);
  const pipeline = new own.ResiliencePipelineBuilder()
    .addFallback(options.fallback)
    .addConcurrencyLimiter(options.limiter)
    .addTimeout(options.timeout)
    .build();
  assert.deepEqual([...(await pipeline.execute(options.callback, options.map))], ['key', 1]);
  assert.deepEqual([...(await pipeline.execute(options.callback, options.pairs))], [undefined, 2]);
  const refused = () => pipeline.execute(() => 'ran', foreign(`{ properties: [['priority', NaN]] }`));
  assert.equal(await refused(), 'replaced');
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('what a promise, a thenable and an algorithm of another realm give counts', async () => {
  const algorithm = foreign(`{ onSample: ({ limit }) => limit + 1 }`);
  const pipeline = new own.ResiliencePipelineBuilder()
    .addAdaptiveConcurrencyLimiter({ algorithm, initialLimit: 5 })
    .build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  const calls = [1, 2, 3].map(() => hold(pipeline));
  for (const [index, value] of [
    foreign(`Promise.resolve('promise')`),
    foreign(`{ then: (resolve) => resolve('thenable') }`),
    'plain',
  ].entries()) {
    calls[index].finish(value);
  }
  assert.deepEqual(await Promise.all(calls.map(({ promise }) => promise)), ['promise', 'thenable', 'plain']);
  // It grows with the first alone, and then less than half of it is in use.
  assert.equal(limiter.limit, 6);
  const callback = foreign(`() => Promise.resolve('of the callback')`);
  assert.equal(await pipeline.execute(callback), 'of the callback');
  assertIdle(limiter);
});

test('an error of another realm is what the execution rejects with, and is judged as any other', async () => {
  for (const [code, limit] of [['ECONNRESET', 9], ['ENOENT', 10]]) {
    const pipeline = new own.ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({ algorithm: own.aimd(), initialLimit: 10 })
      .build();
    const error = foreign(`Object.assign(new Error('foreign'), { code: '${code}' })`);
    assert.equal(error instanceof Error, false);
    assert.equal(await rejection(pipeline.execute(() => Promise.reject(error))), error);
    assert.equal(pipeline.getStrategy('AdaptiveConcurrencyLimiter').limit, limit);
  }
});

test('a callback of another realm that throws is reported as any other', async () => {
  const errors = [];
  const pipeline = new own.ResiliencePipelineBuilder({
    telemetry: ({ name, args }) => name === 'CallbackError' && errors.push(args),
  })
    .addTimeout({ timeout: 1, onTimeout: foreign(`() => { throw new Error('foreign') }`) })
    .build();
  assert.equal((await rejection(pipeline.execute(() => new Promise(() => {})))).code, 'TIMEOUT');
  const reported = errors.map(({ callback, error }) => [callback, error.message]);
  assert.deepEqual(reported, [['onTimeout', 'foreign']]);
});

test('wrong options of another realm are refused as those of this one', () => {
  const builder = () => new own.ResiliencePipelineBuilder();
  assert.throws(() => builder().addConcurrencyLimiter(foreign(`{ permitLimit: -1 }`)), {
    name: 'RangeError',
    message: /permitLimit/,
  });
  assert.throws(() => builder().addTimeout(foreign(`{ timeout: [] }`)), {
    name: 'TypeError',
    message: /timeout/,
  });
});

test('code of another realm requires the package as any other code does', async () => {
  const run = vm.runInNewContext(
    `async () => {
      const { ResiliencePipelineBuilder, isExecutionRejected } = require('@ylcnfrht/resilience');
      const pipeline = new ResiliencePipelineBuilder().addTimeout(1).build();
      try {
        await pipeline.execute(() => new Promise(() => {}));
      } catch (error) {
        return [error.code, isExecutionRejected(error)];
      }
    }`,
    { require },
  );
  assert.deepEqual([...(await run())], ['TIMEOUT', true]);
});

test('the package evaluated inside another realm works there, beside the one of this realm', async () => {
  const { loaded, globals } = loadInRealm();
  assert.notEqual(loaded.ResiliencePipelineBuilder, own.ResiliencePipelineBuilder);
  globals.resilience = loaded;
  const result = await vm.runInContext(
    `(async () => {
      const pipeline = new resilience.ResiliencePipelineBuilder()
        .addAdaptiveConcurrencyLimiter({ initialLimit: 1, queueLimit: 1 })
        .addTimeout({ timeoutGenerator: async () => 5 })
        .build();
      const late = pipeline.execute(() => new Promise(() => {})).catch((error) => error);
      const waiter = pipeline.execute(({ signal }) => signal.aborted);
      const full = await pipeline.execute(() => {}).catch((error) => error.reason);
      const { inflight, queued } = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
      const error = await late;
      return [full, inflight, queued, error.code, error instanceof Error, await waiter, error];
    })()`,
    globals,
  );
  const error = result.pop();
  assert.deepEqual([...result], ['full', 1, 1, 'TIMEOUT', true, false]);
  assert.equal(error instanceof Error, false);
  assert.equal(own.isExecutionRejected(error), true);
  const outer = new own.ResiliencePipelineBuilder().addConcurrencyLimiter(1).build();
  const outcome = await outer.settle(() => Promise.reject(error));
  assert.equal(outcome.match({ ok: () => 'ok', TIMEOUT: () => 'TIMEOUT', error: () => 'error' }), 'TIMEOUT');
  assertIdle(outer.getStrategy('ConcurrencyLimiter'));
});
