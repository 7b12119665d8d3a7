import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { runChild } from './support/child.mjs';

const ENTRY = JSON.stringify(fileURLToPath(new URL('..', import.meta.url)));
const IMPORT = `
  import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
  const builder = () => new ResiliencePipelineBuilder();
`;

test('an idle pipeline lets the process exit by itself', async () => {
  const child = await runChild(`${IMPORT}
    const pipeline = builder().addConcurrencyLimiter({ permitLimit: 1, queueLimit: 9, queueTimeout: '1h' })
      .addTimeout('1h').addAdaptiveConcurrencyLimiter().build();
    await Promise.all([1, 2, 3].map((id) => pipeline.execute(async () => console.log(id))));
  `);
  assert.deepEqual(child, { code: 0, stdout: '1\n2\n3', stderr: '' });
});

const IDLE = fileURLToPath(new URL('support/idle-member.mjs', import.meta.url));
const IDLE_OUTPUT = 'open half-open\n0,0,0';

test('CASE 9: an open circuit, spent rates and past retries let the process exit by itself', async () => {
  const child = await runChild("import './support/idle-member.mjs';");
  assert.deepEqual(child, { code: 0, stdout: IDLE_OUTPUT, stderr: '' });
});

test('CASE 9: a forked child too, and a worker', async () => {
  for (const start of [() => fork(IDLE, { stdio: 'pipe' }), () => new Worker(IDLE, { stdout: true })]) {
    const member = start();
    const exited = once(member, 'exit');
    assert.equal((await text(member.stdout)).trim(), IDLE_OUTPUT);
    assert.equal((await exited)[0], 0);
  }
});

test('waiters of a rate limiter keep the process alive until their permits are due', async () => {
  const child = await runChild(`${IMPORT}
    const started = performance.now();
    const pipeline = builder().addRateLimiter({ permitLimit: 1, window: 20, queueLimit: 5 }).build();
    for (const id of [0, 1, 2]) {
      pipeline.execute(() => console.log(id, performance.now() - started >= id * 20 - 0.1));
    }
  `);
  assert.deepEqual(child, { code: 0, stdout: '0 true\n1 true\n2 true', stderr: '' });
});

test('waiters of a rate limiter that are aborted or disposed let the process exit', async () => {
  const child = await runChild(`${IMPORT}
    const controller = new AbortController();
    const make = () => builder().addRateLimiter({ permitLimit: 1, window: '1h', queueLimit: 5 }).build();
    const [aborted, disposed] = [make(), make()];
    for (const pipeline of [aborted, disposed]) await pipeline.execute(() => 1);
    aborted.execute(() => 1, { signal: controller.signal }).catch((reason) => console.log(reason));
    disposed.execute(() => 1).catch(({ reason }) => console.log(reason));
    controller.abort('gone');
    disposed.dispose();
  `);
  assert.deepEqual(child, { code: 0, stdout: 'gone\ndisposed', stderr: '' });
});

test('the pause of a retry keeps the process alive; an abort or a disposal ends it', async () => {
  const child = await runChild(`${IMPORT}
    const started = performance.now();
    const fails = () => Promise.reject(new Error('boom'));
    const retrying = (delay) => builder().addRetry({ delay, maxRetryAttempts: 1 }).build();
    const controller = new AbortController();
    const disposed = retrying('1h');
    retrying(30).execute(fails).catch(() => console.log('retried', performance.now() - started >= 30));
    retrying('1h').execute(fails, { signal: controller.signal }).catch((reason) => console.log(reason));
    disposed.execute(fails).catch(({ message }) => console.log(message));
    setImmediate(() => {
      controller.abort('gone');
      disposed.dispose();
    });
  `);
  assert.deepEqual(child, { code: 0, stdout: 'gone\nboom\nretried true', stderr: '' });
});

test('a pending deadline keeps the process alive until it has passed', async () => {
  const child = await runChild(`${IMPORT}
    const started = performance.now();
    builder().addTimeout(40).build().execute(() => new Promise(() => {})).catch(({ code }) => {
      console.log(code, performance.now() - started >= 40);
    });
  `);
  assert.deepEqual(child, { code: 0, stdout: 'TIMEOUT true', stderr: '' });
});

test('the process exits when the last deadline is cleared: by a result, an abort or a disposal', async () => {
  const child = await runChild(`${IMPORT}
    const controller = new AbortController();
    const never = () => new Promise(() => {});
    const pipeline = builder().addTimeout('1h').build();
    const disposed = builder().addTimeout('1h').build();
    const work = setTimeout(() => {}, 60_000);
    pipeline.execute(async () => console.log('done'));
    pipeline.execute(never, { signal: controller.signal }).catch((reason) => console.log(reason));
    disposed.execute(never);
    setImmediate(() => {
      controller.abort('aborted');
      disposed.dispose();
      clearTimeout(work);
    });
  `);
  assert.deepEqual(child, { code: 0, stdout: 'done\naborted', stderr: '' });
});

test('a process that awaits nothing but an execution without a deadline ends with code 13', async () => {
  const child = await runChild(`${IMPORT}
    await builder().addConcurrencyLimiter(1).build().execute(() => new Promise(() => {}));
  `);
  assert.equal(child.code, 13);
});

test('an unhandled rejection of an execution ends the process with code 1', async () => {
  const child = await runChild(`${IMPORT}
    builder().addTimeout(5).build().execute(() => new Promise(() => {}));
  `);
  assert.equal(child.code, 1);
  assert.match(child.stderr, /TimeoutRejectedError: the execution did not end within 5 ms/);
});

test('a deadline after a cleared longer one keeps the process alive, and no longer', async () => {
  const child = await runChild(`${IMPORT}
    const [long, short] = ['1h', 20].map((timeout) => builder().addTimeout(timeout).build());
    const started = performance.now();
    for (let round = 1; round <= 2; round += 1) {
      await long.execute(async () => {});
      const { error } = await short.settle(() => new Promise(() => {}));
      console.log(error.code, performance.now() - started >= round * 20);
    }
    await long.execute(async () => {});
  `);
  assert.deepEqual(child, { code: 0, stdout: 'TIMEOUT true\nTIMEOUT true', stderr: '' });
});

for (const limiter of [
  'addConcurrencyLimiter({ permitLimit: 1, queueLimit: 2',
  'addAdaptiveConcurrencyLimiter({ initialLimit: 1, maxLimit: 1, queueLimit: 2',
]) {
  const name = /^add(\w+)/.exec(limiter)[1];

  test(`waiters without a deadline do not keep the process alive (${name})`, async () => {
    const child = await runChild(`${IMPORT}
      const pipeline = builder().${limiter} }).build();
      const never = () => new Promise(() => {});
      for (let index = 0; index < 3; index += 1) pipeline.execute(never);
      const { inflight, queued } = pipeline.getStrategy('${name}');
      console.log(inflight, queued);
    `);
    assert.deepEqual(child, { code: 0, stdout: '1 2', stderr: '' });
  });

  test(`waiters with a queue timeout keep the process alive until it has passed (${name})`, async () => {
    const child = await runChild(`${IMPORT}
      const pipeline = builder().${limiter}, queueTimeout: 30 }).build();
      const never = () => new Promise(() => {});
      const started = performance.now();
      pipeline.execute(never);
      for (let index = 0; index < 2; index += 1) {
        pipeline.execute(never).catch(({ reason }) => console.log(reason, performance.now() - started >= 30));
      }
    `);
    assert.deepEqual(child, { code: 0, stdout: 'queue-timeout true\nqueue-timeout true', stderr: '' });
  });

  test(`disposal lets the process exit, whoever runs or waits (${name})`, async () => {
    const child = await runChild(`${IMPORT}
      const pipeline = builder().addTimeout('1h').${limiter}, queueTimeout: '1h' }).addTimeout('1h').build();
      const never = () => new Promise(() => {});
      pipeline.execute(never);
      pipeline.execute(never).catch(({ code }) => console.log(code));
      pipeline.dispose();
      pipeline.execute(never).catch(({ code }) => console.log(code));
    `);
    assert.deepEqual(child, { code: 0, stdout: 'BULKHEAD_FULL\nPIPELINE_DISPOSED', stderr: '' });
  });
}

test('an overload that was told of, and is not over yet, lets the process exit', async () => {
  const child = await runChild(`${IMPORT}
    import { once } from 'node:events';
    import { createServer } from 'node:http';
    import { withResilience } from '@ylcnfrht/resilience/http';
    import { STRICT, burn, sendAll, statuses, warm } from './support/overload.mjs';
    const told = [];
    const telemetry = ({ name }) => name.startsWith('OnOverload') && told.push(name);
    const pipeline = new ResiliencePipelineBuilder({ telemetry }).addTimeout('1m').build();
    const work = (_req, res) => {
      burn();
      res.end();
    };
    const server = createServer(withResilience(work, { overload: STRICT, pipeline })).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    await warm(port);
    const counts = await statuses(sendAll(port, 12));
    server.close();
    server.closeAllConnections();
    process.on('exit', () => console.log(counts[503] > 0, told[0], told.includes('OnOverloadEnded')));
  `);
  assert.deepEqual(child, { code: 0, stdout: 'true OnOverload false', stderr: '' });
});

test("a tool's deadline that is pending when the tool is gone does not keep the process alive", async () => {
  const child = await runChild(`${IMPORT}
    import { mock } from 'node:test';
    mock.timers.enable({ apis: ['setTimeout'] });
    builder().addTimeout('1h').build().execute(() => new Promise(() => {}));
    mock.timers.reset();
    console.log('reset');
  `);
  assert.deepEqual([child.code, child.stdout], [0, 'reset']);
});

test('a worker lives exactly as long as it has a deadline', async () => {
  const worker = new Worker(
    `
      const { parentPort } = require('node:worker_threads');
      const { ResiliencePipelineBuilder } = require(${ENTRY});
      const never = () => new Promise(() => {});
      const waiting = new ResiliencePipelineBuilder().addConcurrencyLimiter(1, 2).build();
      for (let index = 0; index < 3; index += 1) waiting.execute(never);
      const disposed = new ResiliencePipelineBuilder().addTimeout('1h').build();
      disposed.execute(never);
      disposed.dispose();
      const started = performance.now();
      new ResiliencePipelineBuilder().addTimeout(30).build().execute(never).catch(({ code }) => {
        parentPort.postMessage([code, performance.now() - started >= 30]);
      });
    `,
    { eval: true },
  );
  const exited = once(worker, 'exit');
  assert.deepEqual(await once(worker, 'message'), [['TIMEOUT', true]]);
  assert.deepEqual(await exited, [0]);
});
