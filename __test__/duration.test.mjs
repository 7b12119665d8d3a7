import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { rejection, simulate, turn } from './support/hold.mjs';

const never = () => new Promise(() => {});
const ACCEPTED = "a number of milliseconds or a string such as '250ms', '1.5s', '5m', '1h' or '2d'";

for (const [duration, ms] of [
  [1, 1],
  [0.5, 0.5],
  [5000, 5000],
  ['250ms', 250],
  ['1.5ms', 1.5],
  ['1s', 1000],
  ['1.5s', 1500],
  ['0.25m', 15_000],
  ['5m', 300_000],
  ['1h', 3_600_000],
  ['2d', 172_800_000],
  ['05s', 5000],
]) {
  test(`a timeout of ${JSON.stringify(duration)} passes after ${ms} ms and no sooner`, async (t) => {
    simulate(t);
    const pipeline = new ResiliencePipelineBuilder().addTimeout(duration).build();
    let settled = false;
    const error = rejection(pipeline.execute(never)).finally(() => (settled = true));
    t.mock.timers.tick(Math.ceil(ms) - 1);
    await turn();
    assert.equal(settled, false);
    t.mock.timers.tick(1);
    assert.equal((await error).timeout, ms);
  });
}

for (const duration of [
  '',
  ' ',
  '10',
  's',
  '5 s',
  ' 5s',
  '5s ',
  '5s\n',
  '5S',
  '5Ms',
  '-5ms',
  '+5ms',
  '1e3ms',
  '.5s',
  '1.s',
  '1,5s',
  '1_000ms',
  '5min',
  '5sec',
  '5ss',
  '5s5s',
  '0x10ms',
  'Infinityms',
  'NaNs',
  '٣s',
  `${'9'.repeat(400)}d`,
]) {
  test(`a timeout of ${JSON.stringify(duration.slice(0, 20))} is a RangeError`, () => {
    assert.throws(
      () => new ResiliencePipelineBuilder().addTimeout(duration),
      (error) => {
        assert.ok(error instanceof RangeError);
        assert.ok(error.message.startsWith(`timeout must be ${ACCEPTED}, not '`), error.message);
        return true;
      },
    );
  });
}

for (const [duration, shown] of [
  [0, '0'],
  [-0, '-0'],
  [-1, '-1'],
  ['0s', "'0s'"],
  ['0.0ms', "'0.0ms'"],
]) {
  test(`a timeout of ${shown} is a RangeError: nothing could run`, () => {
    assert.throws(() => new ResiliencePipelineBuilder().addTimeout(duration), {
      name: 'RangeError',
      message: `timeout must be ${ACCEPTED}, above 0, not ${shown}`,
    });
  });
}

for (const duration of [NaN, Infinity, -Infinity]) {
  test(`a timeout of ${duration} is a RangeError: leave the strategy out instead`, () => {
    assert.throws(() => new ResiliencePipelineBuilder().addTimeout(duration), {
      name: 'RangeError',
      message: `timeout must be ${ACCEPTED}, not ${duration}`,
    });
  });
}

for (const [duration, shown] of [
  [true, 'true'],
  [10n, '10n'],
  [() => 5, '[Function (anonymous)]'],
]) {
  test(`a timeout of ${shown} is a TypeError`, () => {
    assert.throws(() => new ResiliencePipelineBuilder().addTimeout(duration), {
      name: 'TypeError',
      message: `timeout must be ${ACCEPTED}, not ${shown}`,
    });
  });
}

test('durations beyond 2^31-1 ms wait to their end', async (t) => {
  simulate(t);
  const pipeline = new ResiliencePipelineBuilder().addTimeout('30d').build();
  let settled = false;
  const error = rejection(pipeline.execute(never)).finally(() => (settled = true));
  const longestTimer = 2 ** 31 - 1;
  t.mock.timers.tick(longestTimer);
  t.mock.timers.tick(30 * 86_400_000 - longestTimer - 1);
  await turn();
  assert.equal(settled, false);
  t.mock.timers.tick(1);
  assert.equal((await error).timeout, 30 * 86_400_000);
});

test('the longest and the shortest of durations are durations', async () => {
  const long = new ResiliencePipelineBuilder().addTimeout(Number.MAX_VALUE).build();
  assert.equal(await long.execute(async () => 'done'), 'done');
  const short = new ResiliencePipelineBuilder().addTimeout(Number.MIN_VALUE).build();
  assert.equal((await rejection(short.execute(never))).code, 'TIMEOUT');
});
