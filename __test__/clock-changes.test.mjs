import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runChild } from './support/child.mjs';

const cwd = fileURLToPath(new URL('..', import.meta.url));
const skip = process.platform !== 'linux' && 'whether a process is suspended is read from /proc';

/** Replaces `Date` before the package is loaded: `shiftClock(ms)` sets the wall clock as an operator does. */
const SHIFTABLE = `data:text/javascript,${encodeURIComponent(`
  const RealDate = Date;
  let shift = 0;
  globalThis.Date = class extends RealDate {
    constructor(...args) {
      super(...(args.length === 0 ? [RealDate.now() + shift] : args));
    }
    static now() {
      return RealDate.now() + shift;
    }
  };
  globalThis.shiftClock = (ms) => {
    shift += ms;
  };
`)}`;

for (const [how, shift] of [
  ['back', -3_600_000],
  ['ahead', 3_600_000],
]) {
  test(`a wall clock that is set ${how} by an hour moves no deadline and no measured latency`, async () => {
    const child = await runChild(
      `
        import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
        const never = () => new Promise(() => {});
        const seen = {};
        const algorithm = {
          onSample({ rtt, dropped, limit }) {
            seen.sample = [dropped, rtt >= 40 && rtt < 60_000];
            return limit;
          },
        };
        const started = performance.now();
        const passed = (ms) => performance.now() - started >= ms;
        const wallStarted = Date.now();
        const deadline = new ResiliencePipelineBuilder({
          telemetry: ({ name, args }) => {
            if (name === 'PipelineExecuted') seen.duration = args.duration >= 40 && args.duration < 60_000;
          },
        })
          .addAdaptiveConcurrencyLimiter({ algorithm })
          .addTimeout(40)
          .build();
        const queue = new ResiliencePipelineBuilder()
          .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 1, queueTimeout: 80 })
          .build();
        const long = new ResiliencePipelineBuilder().addTimeout('30m').build();
        queue.settle(never);
        let finish;
        const unharmed = long.execute(() => new Promise((resolve) => { finish = resolve; }));
        const outcomes = [
          deadline.settle(never).then(({ error }) => {
            seen.deadline = [error.code, passed(40)];
          }),
          queue.settle(never).then(({ error }) => {
            seen.queue = [error.reason, passed(80)];
          }),
        ];
        shiftClock(${shift});
        await Promise.all(outcomes);
        seen.wallClockHours = Math.round((Date.now() - wallStarted) / 3_600_000);
        finish('unharmed');
        seen.long = await unharmed;
        console.log(JSON.stringify(seen));
      `,
      '--import',
      SHIFTABLE,
    );
    assert.equal(child.stderr, '');
    assert.deepEqual(JSON.parse(child.stdout), {
      sample: [true, true],
      duration: true,
      deadline: ['TIMEOUT', true],
      queue: ['queue-timeout', true],
      wallClockHours: Math.sign(shift),
      long: 'unharmed',
    });
    assert.equal(child.code, 0);
  });
}

test('deadlines that pass while the process is suspended fire when it wakes', { skip }, async () => {
  const source = `
    import { writeSync } from 'node:fs';
    import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
    const log = [];
    const withTimeout = (timeout) =>
      new ResiliencePipelineBuilder()
        .addTimeout({ timeout, onTimeout: () => log.push(timeout) })
        .build();
    const never = () => new Promise(() => {});
    const started = performance.now();
    const outcomes = [10, 20, 30].map((timeout) => withTimeout(timeout).settle(never));
    let finish;
    const unharmed = withTimeout('1h').execute(() => new Promise((resolve) => { finish = resolve; }));
    writeSync(1, 'armed\\n');
    process.kill(process.pid, 'SIGSTOP');
    const codes = (await Promise.all(outcomes)).map(({ error }) => error.code);
    const suspended = performance.now() - started >= 60;
    await new Promise(setImmediate);
    finish('unharmed');
    console.log(JSON.stringify({ codes, log, suspended, unharmed: await unharmed }));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 30_000,
  });
  const closed = once(child, 'close');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  assert.equal((await lines.next()).value, 'armed');
  while (!/\) T /.test(await readFile(`/proc/${child.pid}/stat`, 'utf8')));
  await delay(60);
  child.kill('SIGCONT');
  assert.deepEqual(JSON.parse((await lines.next()).value), {
    codes: ['TIMEOUT', 'TIMEOUT', 'TIMEOUT'],
    log: [10, 20, 30],
    suspended: true,
    unharmed: 'unharmed',
  });
  assert.deepEqual(await closed, [0, null]);
});
