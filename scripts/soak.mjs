// npm run soak: a million executions of every kind, and then nothing may be left of them.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';
import { readOptions } from './options.mjs';
import { prepare } from './prepare.mjs';
import { fail } from './run.mjs';

const DEFAULT_EXECUTIONS = 1_000_000;
const CONCURRENCIES = [1, 5, 30, 200, 1000, 10_000];
const ROUND = 1000;
const HELP = `Usage: npm run soak [-- --executions N] [--seed N]

Runs executions of every kind, 1 to 10 000 at once: aborted before, while queued, while running and after;
throwing, timed out, outranked, dropped, nested, and in pipelines that are disposed meanwhile. Checks that
each settles once and that no permit, waiter, ticket, deadline, listener or native segment is left.

  --executions N   how many; default ${DEFAULT_EXECUTIONS}
  --seed N         repeats the choices of a run, though not its timing; default: another one each time
  --help           this text`;

const { executions, seed } = readOptions({ executions: { type: 'string' }, seed: { type: 'string' } }, HELP);
const total = readCount('--executions', executions, DEFAULT_EXECUTIONS);
const usedSeed = readCount('--seed', seed, 1 + Math.floor(Math.random() * 2 ** 31));
await prepare();
const { Mix, generator } = await import('../__test__/support/mix.mjs');
const { thread } = createRequire(import.meta.url)('../lib/native.js');

const complaints = [];
process.on('unhandledRejection', (error) => complaints.push(error));
process.on('warning', (warning) => complaints.push(warning));
console.log(`${total} executions, seed ${usedSeed}`);
const started = performance.now();
const ends = new Map();
try {
  await soak(generator(usedSeed));
} catch (error) {
  console.error(error);
  fail(`Failed. To repeat its choices: npm run soak -- --executions ${total} --seed ${usedSeed}`);
}
const width = Math.max(...[...ends.keys()].map((end) => end.length));
for (const [end, count] of [...ends].sort(([, a], [, b]) => b - a)) {
  console.log(`  ${end.padEnd(width)}  ${String(count).padStart(9)}`);
}
const seconds = (performance.now() - started) / 1000;
console.log(`All settled once, and nothing is left of them (${seconds.toFixed(0)} s).`);

async function soak(random) {
  for (let done = 0; done < total; ) done += await runRound(random, total - done);
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  assert.deepEqual(process.getActiveResourcesInfo().filter((name) => name === 'Timeout'), []);
  for (let round = 0; round < 50 && thread.segments > 0; round += 1) {
    globalThis.gc();
    await setImmediate();
  }
  assert.equal(thread.segments, 0, 'native segments of pipelines that nobody holds');
}

/** A function of its own, so that no variable holds the pipelines of the last round. */
async function runRound(random, left) {
  const atOnce = CONCURRENCIES[Math.floor(random() * CONCURRENCIES.length)];
  const count = Math.min(left, Math.max(atOnce, ROUND));
  // In every third round, about two pipelines are disposed while it lasts.
  const mix = new Mix(random, Math.ceil(atOnce / 20), random() < 1 / 3 ? 1 / count : 0);
  await mix.run(count, atOnce);
  assert.deepEqual(complaints, []);
  for (const [end, times] of mix.ends) ends.set(end, (ends.get(end) ?? 0) + times);
  showProgress(total - left + count, count, atOnce);
  return count;
}

function showProgress(done, count, atOnce) {
  const perSecond = (done / (performance.now() - started)) * 1000;
  const text = `  ${done} of ${total}, ${perSecond.toFixed(0)} a second, ${atOnce} at once`;
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  else if (Math.floor((done * 10) / total) > Math.floor(((done - count) * 10) / total)) console.log(text);
}

function readCount(option, given, otherwise) {
  const count = Number(given ?? otherwise);
  if (Number.isSafeInteger(count) && count >= 1) return count;
  return fail(`${option} takes a whole number from 1; not '${given}'.`);
}
