import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import * as own from '@ylcnfrht/resilience';
import { runChild } from './support/child.mjs';
import { hold, rejection } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const ENTRY = JSON.stringify(root);

/** A worker with executions that run, wait and are under a deadline; says so, and never stops calling. */
const BUSY = `
  const { parentPort } = require('node:worker_threads');
  const { ResiliencePipelineBuilder } = require(${ENTRY});
  const pipeline = new ResiliencePipelineBuilder().addTimeout('1h').addConcurrencyLimiter(2, 100).build();
  const quick = new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter().addTimeout(5).build();
  const never = () => new Promise(() => {});
  for (let index = 0; index < 50; index += 1) pipeline.settle(never);
  quick.settle(never).then(async ({ error }) => {
    const { inflight, queued } = pipeline.getStrategy('ConcurrencyLimiter');
    parentPort.postMessage({ code: error.code, inflight, queued });
    for (;;) await quick.settle(() => quick.settle(() => {}));
  });
`;

const WORKERS = 20;

test('20 workers at once, terminated amid calls or amid loading, leave the process unharmed', async () => {
  const pipeline = new own.ResiliencePipelineBuilder().addConcurrencyLimiter(1, 5).build();
  const running = hold(pipeline);
  for (let round = 0; round < 5; round += 1) {
    const workers = Array.from({ length: WORKERS }, () => new Worker(BUSY, { eval: true }));
    const codes = await Promise.all(
      workers.map(async (worker, index) => {
        // Every other one while it starts: its code runs, or is about to.
        if (index % 2 === 0) {
          await once(worker, 'online');
        } else {
          const [message] = await once(worker, 'message');
          assert.deepEqual(message, { code: 'TIMEOUT', inflight: 2, queued: 48 });
        }
        return worker.terminate();
      }),
    );
    assert.deepEqual(codes, Array(WORKERS).fill(1));
    const other = new own.ResiliencePipelineBuilder().addTimeout('1h').build();
    assert.equal(await other.execute(() => round), round);
  }
  const { inflight, queued } = pipeline.getStrategy('ConcurrencyLimiter');
  assert.deepEqual([inflight, queued], [1, 0]);
  running.finish('unharmed');
  assert.equal(await running.promise, 'unharmed');
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('a worker that has nothing left to do exits by itself', async () => {
  const worker = new Worker(
    `
      const { ResiliencePipelineBuilder } = require(${ENTRY});
      const { parentPort } = require('node:worker_threads');
      const pipeline = new ResiliencePipelineBuilder().addTimeout('1h').addConcurrencyLimiter(1).build();
      pipeline.execute(async () => 'done').then((value) => parentPort.postMessage(value));
    `,
    { eval: true },
  );
  const exited = once(worker, 'exit');
  assert.deepEqual(await once(worker, 'message'), ['done']);
  assert.deepEqual(await exited, [0]);
});

test('the addon loads in a worker alone, in another after it, and in the main thread at last', async () => {
  const child = await runChild(`
    import { once } from 'node:events';
    import { Worker } from 'node:worker_threads';
    const source = \`
      const { ResiliencePipelineBuilder } = require(${JSON.stringify(ENTRY).slice(1, -1)});
      const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).addTimeout(5).build();
      pipeline.execute(() => new Promise(() => {})).catch(({ code }) => console.log('worker', code));
    \`;
    for (let round = 0; round < 2; round += 1) {
      await once(new Worker(source, { eval: true, execArgv: [] }), 'exit');
    }
    const { ResiliencePipelineBuilder } = await import('@ylcnfrht/resilience');
    const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).build();
    console.log('main', await pipeline.execute(() => 1));
  `);
  assert.deepEqual(child, { code: 0, stdout: 'worker TIMEOUT\nworker TIMEOUT\nmain 1', stderr: '' });
});

test('two copies of the package work side by side and know each other\'s errors', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'copy-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const shipped = /^(?:index\.js|binding\.js|package\.json|.*\.node|lib(?:\/.*)?)?$/;
  cpSync(root, folder, {
    recursive: true,
    filter: (source) => shipped.test(path.relative(root, source).replaceAll('\\', '/')),
  });
  const copy = createRequire(path.join(folder, 'index.js'))('./index.js');
  assert.notEqual(copy.ResiliencePipelineBuilder, own.ResiliencePipelineBuilder);
  const outer = new copy.ResiliencePipelineBuilder().addConcurrencyLimiter(1).addTimeout(5).build();
  const inner = new own.ResiliencePipelineBuilder().addConcurrencyLimiter(1).build();
  let held;
  const error = await rejection(
    outer.execute(({ signal }) => {
      held = hold(inner, { signal });
      return held.promise;
    }),
  );
  assert.equal(error instanceof own.TimeoutRejectedError, false);
  assert.equal(own.isExecutionRejected(error), true);
  assert.equal(await rejection(held.promise), error);
  const outcome = await inner.settle(() => Promise.reject(error));
  assert.equal(outcome.match({ ok: () => 'ok', TIMEOUT: () => 'TIMEOUT', error: () => 'error' }), 'TIMEOUT');
  assert.equal(outer.getStrategy('ConcurrencyLimiter').inflight, 0);
  assertIdle(inner.getStrategy('ConcurrencyLimiter'));
});
