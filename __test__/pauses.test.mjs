// The thread is busy, or its process stands still, for longer than deadlines last: answers that came meanwhile lie
// in the sockets.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, get } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { withResilience } from '@ylcnfrht/resilience/http';
import { startEcho } from './support/echo.mjs';
import { hold, rejection, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const MANY = 20;
const DEADLINE_MS = 20;
const PAUSE_MS = 60;
/** Long enough for all of them to come. */
const INBOUND_MS = 500;
const never = () => new Promise(() => {});
const builder = (options) => new ResiliencePipelineBuilder(options);

let dependency;
before(async () => {
  dependency = await startEcho(2 * MANY);
});
after(() => dependency.close());

/** Starts `MANY` calls, and gives what they came to when the thread has stood still. */
async function callAndPause(pipeline, ms = PAUSE_MS) {
  const { calls } = dependency;
  const outcomes = Promise.all(Array.from({ length: MANY }, () => pipeline.settle(dependency.call)));
  for (let turns = 0; turns < 50 && dependency.calls < calls + MANY; turns += 1) await undefined;
  assert.equal(dependency.calls, calls + MANY, 'calls that have started');
  dependency.block(ms);
  const settled = await outcomes;
  assert.equal(dependency.calls, calls + MANY, 'calls in all');
  return settled.map((outcome) => (outcome.ok ? outcome.result : outcome.error));
}

/** By what guards a call; each has a deadline, or a delay, that passes while the thread stands still. */
const GUARDS = {
  'a timeout': (to) => to.addTimeout(DEADLINE_MS),
  'two timeouts': (to) => to.addTimeout(DEADLINE_MS + 1).addTimeout(DEADLINE_MS),
  'a computed timeout': (to) => to.addTimeout({ timeoutGenerator: () => DEADLINE_MS }),
  'a retry around a timeout': (to) => to.addRetry({ delay: 1 }).addTimeout(DEADLINE_MS),
  'a timeout around a retry': (to) => to.addTimeout(DEADLINE_MS).addRetry({ delay: 1 }),
  'a fallback around a timeout': (to) =>
    to.addFallback({ fallbackAction: () => 'substitute' }).addTimeout(DEADLINE_MS),
  hedging: (to) => to.addHedging({ delay: DEADLINE_MS }),
  'hedging around a timeout': (to) => to.addHedging({ delay: DEADLINE_MS }).addTimeout(DEADLINE_MS),
  'a circuit breaker around a timeout': (to) =>
    to.addCircuitBreaker({ consecutiveFailures: 1 }).addTimeout(DEADLINE_MS),
  'a fixed limiter and a timeout': (to) =>
    to.addConcurrencyLimiter({ permitLimit: MANY }).addTimeout(DEADLINE_MS),
  everything: (to) =>
    to
      .addTimeout(DEADLINE_MS + 1)
      .addRetry({ delay: 1 })
      .addCircuitBreaker({ consecutiveFailures: 1 })
      .addHedging({ delay: DEADLINE_MS })
      .addConcurrencyLimiter({ permitLimit: 2 * MANY })
      .addTimeout(DEADLINE_MS),
};

for (const [name, guard] of Object.entries(GUARDS)) {
  for (const context of ['ambient', 'explicit']) {
    test(`what came in time counts after the thread was busy: ${name}, ${context}`, async () => {
      const pipeline = guard(builder({ context })).build();
      assert.deepEqual(await callAndPause(pipeline), Array(MANY).fill('answer'));
      const { state } = pipeline.getStrategy('CircuitBreaker') ?? { state: 'closed' };
      assert.equal(state, 'closed');
      assertIdle();
    });
  }
}

test('a waiter whose time passed while the thread was busy gets a permit that came back in time', async () => {
  for (const add of ['addConcurrencyLimiter', 'addAdaptiveConcurrencyLimiter']) {
    const limits = add === 'addConcurrencyLimiter' ? { permitLimit: 1 } : { initialLimit: 1, maxLimit: 1 };
    const pipeline = builder()[add]({ ...limits, queueLimit: 1, queueTimeout: DEADLINE_MS }).build();
    const running = pipeline.execute(dependency.call);
    const waiting = pipeline.execute(() => 'admitted');
    dependency.block(PAUSE_MS);
    assert.deepEqual(await Promise.all([running, waiting]), ['answer', 'admitted']);
  }
  assertIdle();
});

test('what became due while the sockets were read waits for a poll of its own', async () => {
  const pipeline = builder().addTimeout(DEADLINE_MS).build();
  const first = pipeline.execute(async () => {
    await dependency.call();
    // In the poll phase that decides about the first deadlines, the second ones pass.
    later = pipeline.execute(dependency.call);
    dependency.block(PAUSE_MS);
    return 'answer';
  });
  let later;
  dependency.block(PAUSE_MS);
  assert.deepEqual([await first, await later], ['answer', 'answer']);
});

test('a callback that hangs is ended in the turn in which its deadline is seen to have passed', async () => {
  const pipeline = builder().addTimeout(DEADLINE_MS).build();
  for (let round = 0; round < 3; round += 1) {
    await turn();
    const running = hold(pipeline);
    let ended = false;
    running.promise.catch(() => {
      ended = true;
    });
    dependency.block(PAUSE_MS);
    // The end of the next turn has this first, and then the deadline that passed in it.
    await turn();
    assert.equal(running.context.signal.aborted, false);
    await turn();
    assert.deepEqual([running.context.signal.aborted, ended], [true, true]);
  }
});

test('deadlines within one another that passed at once end in their order', async () => {
  const names = [];
  const pipeline = builder()
    .addTimeout({ timeout: DEADLINE_MS + 2, name: 'outer', onTimeout: () => names.push('outer') })
    .addRetry({ delay: 1, maxRetryAttempts: 1 })
    .addTimeout({ timeout: DEADLINE_MS, name: 'inner', onTimeout: () => names.push('inner') })
    .build();
  const ended = rejection(pipeline.execute(never));
  dependency.block(PAUSE_MS);
  assert.equal((await ended).strategyName, 'outer');
  assert.deepEqual(names, ['inner', 'outer']);
  assertIdle();
});

const SLOW_MS = 120;
const SLOW = { slowCallDuration: SLOW_MS, slowCallRatio: 0.05, minimumThroughput: 1 };

test('no call is slow because the thread was busy', async () => {
  const guards = [
    (to) => to.addCircuitBreaker(SLOW),
    (to) => to.addCircuitBreaker(SLOW).addTimeout(DEADLINE_MS),
    (to) => to.addConcurrencyLimiter(MANY).addCircuitBreaker(SLOW).addAdaptiveConcurrencyLimiter(),
    (to) => to.addRetry({ delay: 1 }).addCircuitBreaker(SLOW),
  ];
  for (const context of ['ambient', 'explicit']) {
    for (const guard of guards) {
      const pipeline = guard(builder({ context })).build();
      assert.deepEqual(await callAndPause(pipeline, SLOW_MS + PAUSE_MS), Array(MANY).fill('answer'));
      assert.equal(pipeline.getStrategy('CircuitBreaker').state, 'closed');
    }
  }
  assertIdle();
});

test('a call that was under way before and after a pause is as slow as without it', async () => {
  const pipeline = builder().addCircuitBreaker(SLOW).build();
  const quick = hold(pipeline);
  dependency.block(SLOW_MS + PAUSE_MS);
  await turn();
  await turn();
  quick.finish();
  await quick.promise;
  assert.equal(pipeline.getStrategy('CircuitBreaker').state, 'closed');
  const slow = hold(pipeline);
  await new Promise((resolve) => setTimeout(resolve, SLOW_MS + 1));
  slow.finish();
  await slow.promise;
  assert.equal(pipeline.getStrategy('CircuitBreaker').state, 'open');
});

test('what a callback does before it returns is its own time', async () => {
  const pipeline = builder().addCircuitBreaker(SLOW).build();
  await pipeline.execute(() => dependency.block(SLOW_MS));
  assert.equal(pipeline.getStrategy('CircuitBreaker').state, 'open');
});

test('no adaptive limit falls because the thread was busy', async () => {
  let deadline;
  for (const algorithm of ['gradient2', 'vegas', 'aimd', 'knee']) {
    deadline = '1m';
    const pipeline = builder()
      .addAdaptiveConcurrencyLimiter({ algorithm, initialLimit: 2 * MANY, minLimit: MANY })
      .addTimeout({ timeoutGenerator: () => deadline })
      .build();
    const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(Array.from({ length: 5 }, () => pipeline.settle(dependency.call)));
    }
    const { limit } = limiter;
    deadline = DEADLINE_MS;
    for (let round = 0; round < 2; round += 1) {
      assert.deepEqual(await callAndPause(pipeline, SLOW_MS + PAUSE_MS), Array(MANY).fill('answer'));
      assert.ok(limiter.limit >= limit, `${algorithm}: ${limit} became ${limiter.limit}`);
    }
  }
  assertIdle();
});

test('a thread that is busy with many short pieces of work shows it in its latency', async () => {
  const rtts = [];
  const algorithm = { onSample: ({ rtt, limit }) => (rtts.push(rtt), limit) };
  const pipeline = builder().addAdaptiveConcurrencyLimiter({ algorithm }).build();
  const running = hold(pipeline);
  const until = performance.now() + 3 * PAUSE_MS;
  while (performance.now() < until) await pipeline.execute(() => dependency.block(1));
  running.finish();
  await running.promise;
  assert.ok(rtts.at(-1) >= 3 * PAUSE_MS, `${rtts.at(-1)} ms`);
});

test('inbound requests whose handlers have their answers in time are answered by 200', async (t) => {
  let started = 0;
  const server = createServer(
    withResilience(
      async (_request, response) => {
        const answer = dependency.call();
        started += 1;
        if (started === MANY) allStarted();
        response.end(await answer);
      },
      { timeout: INBOUND_MS, concurrency: { permitLimit: MANY } },
    ),
  );
  let allStarted;
  const all = new Promise((resolve) => {
    allStarted = resolve;
  });
  await once(server.listen(0), 'listening');
  const client = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
    const { get } = require('node:http');
    const ask = () => new Promise((resolve, reject) => {
      get({ port: workerData.port, agent: false }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
      }).on('error', reject);
    });
    Promise.all(Array.from({ length: workerData.many }, ask)).then((codes) => parentPort.postMessage(codes));`,
    { eval: true, workerData: { port: server.address().port, many: MANY } },
  );
  t.after(() => {
    server.closeAllConnections();
    server.close();
    return client.terminate();
  });
  const answered = once(client, 'message');
  await all;
  dependency.block(INBOUND_MS + PAUSE_MS);
  assert.deepEqual((await answered)[0], Array(MANY).fill(200));
});

const CHILD = fileURLToPath(new URL('support/frozen-member.mjs', import.meta.url));

test('a process that is stopped and goes on has the answers that came meanwhile', { timeout: 30_000 }, async (t) => {
  const sockets = [];
  let allAsked;
  const asked = new Promise((resolve) => {
    allAsked = resolve;
  });
  const server = createTcpServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      sockets.push(socket);
      if (sockets.length === MANY) allAsked();
    });
  });
  await once(server.listen(0), 'listening');
  const child = spawn(process.execPath, [CHILD, String(server.address().port), String(MANY)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => {
    child.kill('SIGKILL');
    server.close();
  });
  const printed = once(child.stdout.setEncoding('utf8'), 'data');
  await asked;
  child.kill('SIGSTOP');
  const state = () => execFileSync('ps', ['-o', 'state=', '-p', String(child.pid)], { encoding: 'utf8' }).trim();
  for (let looks = 0; !state().startsWith('T'); looks += 1) assert.ok(looks < 1000, 'the child is not stopped');
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.write('x', resolve))));
  // It has to stand still for longer than its deadline.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
  child.kill('SIGCONT');
  const report = JSON.parse((await printed)[0]);
  assert.deepEqual(report, { answers: MANY, calls: MANY, state: 'closed', fell: false });
});
