// The telemetry event `OnLimitDecision`.
import assert from 'node:assert/strict';
import diagnostics_channel from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { Dependency, run } from './support/dependency.mjs';
import { hold, simulate } from './support/hold.mjs';
import { listen } from './support/listen.mjs';

const contract = new URL('../types/strategies/adaptive-concurrency-limiter.d.ts', import.meta.url);
const [, union] = /export type LimitRule =(.*?);\n/s.exec(readFileSync(contract, 'utf8'));
/** The rules that the types tell of. */
const RULES = [...union.matchAll(/\| '([a-z-]+)'/g)].map(([, rule]) => rule);

const decisions = (events) => events.filter(({ name }) => name === 'OnLimitDecision');

/** Rounds of calls that use the limit up. The first window is over in the third. */
async function rounds(t, pipeline, count, { latency = 20, end = ({ finish }) => finish() } = {}) {
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  for (let round = 0; round < count; round += 1) {
    const held = Array.from({ length: limiter.limit }, () => hold(pipeline));
    t.mock.timers.tick(latency);
    held.forEach(end);
    await Promise.allSettled(held.map(({ promise }) => promise));
  }
}

test('the end of a window tells what it showed and what came of it', async (t) => {
  simulate(t);
  const { builder, events } = listen();
  const pipeline = builder.addAdaptiveConcurrencyLimiter({ algorithm: 'knee' }).build();
  await rounds(t, pipeline, 2);
  assert.deepEqual(decisions(events), []);
  await rounds(t, pipeline, 1, { latency: 40 });
  const [event, ...more] = decisions(events);
  assert.deepEqual(more, []);
  const { targetRatio } = event.args;
  assert.deepEqual(event, {
    name: 'OnLimitDecision',
    severity: 'debug',
    pipelineName: 'search',
    strategyName: 'AdaptiveConcurrencyLimiter',
    operationKey: undefined,
    args: {
      rule: 'grow',
      // At first a window has to last three flights. Of each 20 the first finds 20 in flight, the last itself.
      inflight: (210 + 210 + 20) / 41,
      latencyRatio: 1,
      targetRatio,
      dropRatio: 0,
      oldLimit: 20,
      newLimit: 40,
    },
  });
  assert.ok(targetRatio > 1 && targetRatio < 2, String(targetRatio));
});

test('it comes once for a window of samples, not for each, and also where nothing moves', async (t) => {
  simulate(t);
  const { builder, events } = listen();
  const pipeline = builder.addAdaptiveConcurrencyLimiter({ algorithm: 'knee', maxLimit: 20 }).build();
  await rounds(t, pipeline, 20);
  const seen = decisions(events);
  assert.ok(seen.length >= 5 && seen.length <= 20, `${seen.length} of 400 samples`);
  assert.ok(seen.some(({ args }) => args.newLimit === args.oldLimit));
});

test('only knee tells of windows', async (t) => {
  simulate(t);
  for (const algorithm of ['gradient2', 'vegas', 'aimd', { onSample: ({ limit }) => limit + 1 }]) {
    const { builder, events } = listen();
    const pipeline = builder.addAdaptiveConcurrencyLimiter({ algorithm, maxLimit: 40 }).build();
    await rounds(t, pipeline, 20);
    assert.deepEqual(decisions(events), []);
    assert.ok(events.some(({ name }) => name === 'OnLimitChanged'));
  }
});

test('where nothing was answered there is no latency ratio', async (t) => {
  simulate(t);
  const { builder, events } = listen();
  const pipeline = builder.addAdaptiveConcurrencyLimiter({ algorithm: 'knee' }).build();
  const gone = Object.assign(new Error('gone'), { code: 'ECONNREFUSED' });
  await rounds(t, pipeline, 1, { end: ({ fail }) => fail(gone) });
  const [{ args }] = decisions(events);
  assert.deepEqual(
    [args.rule, args.latencyRatio, args.dropRatio, args.oldLimit, args.newLimit],
    ['outage', undefined, 1, 20, 10],
  );
});

test('the decisions tell of each move of the limit, by rules that the types know', async (t) => {
  simulate(t);
  const { builder, events } = listen();
  const pipeline = builder.addAdaptiveConcurrencyLimiter({ algorithm: 'knee' }).addTimeout('1s').build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  const dependency = new Dependency();
  await run(t, pipeline, dependency, 1500, 3000);
  dependency.capacity = 10;
  await run(t, pipeline, dependency, 1500, 2000);
  dependency.latencyMs = 160;
  await run(t, pipeline, dependency, 1500, 4000);
  // Twice, because probes follow the time of day, and one in a hang tells of no loss: the next is two minutes away.
  for (let hang = 0; hang < 2; hang += 1) {
    dependency.hangs = true;
    await run(t, pipeline, dependency, 1500, 3000);
    dependency.heal();
    await run(t, pipeline, dependency, 1500, 3000);
  }
  dependency.latencyMs = 40;
  await run(t, pipeline, dependency, 1500, 3000);
  dependency.capacity = 30;
  await run(t, pipeline, dependency, 600, 5000);

  const seen = decisions(events).map(({ args }) => args);
  let limit = 20;
  for (const { rule, oldLimit, newLimit, inflight, latencyRatio, targetRatio, dropRatio } of seen) {
    assert.ok(RULES.includes(rule), rule);
    assert.equal(oldLimit, limit, `before ${rule}`);
    limit = newLimit;
    assert.ok(inflight >= 1 && targetRatio > 1 && dropRatio >= 0 && dropRatio <= 1);
    assert.ok(latencyRatio === undefined ? dropRatio === 1 : latencyRatio > 0);
    if (rule === 'hold') assert.equal(newLimit, oldLimit);
    if (['cut', 'probe', 'probe-deeper', 'loss-cut', 'outage'].includes(rule))
      assert.ok(newLimit <= oldLimit);
    if (['undo', 'loss-not-ours', 'recover'].includes(rule)) assert.ok(newLimit >= oldLimit);
  }
  assert.equal(Math.floor(limit), limiter.limit);
  const rules = new Set(seen.map(({ rule }) => rule));
  for (const rule of ['grow', 'trim', 'cut', 'probe', 'headroom']) {
    assert.ok(rules.has(rule), `${rule} is none of ${[...rules]}`);
  }
  assert.ok(rules.has('outage') || rules.has('loss-cut'), String([...rules]));

  // The whole-number changes are the same story.
  const changed = events.filter(({ name }) => name === 'OnLimitChanged').map(({ args }) => args.newLimit);
  const decided = seen.filter(({ oldLimit, newLimit }) => Math.floor(oldLimit) !== Math.floor(newLimit));
  assert.deepEqual(
    changed,
    decided.map(({ newLimit }) => Math.floor(newLimit)),
  );
});

test('a decision comes before the change that it explains', async (t) => {
  simulate(t);
  const { builder, names } = listen();
  const pipeline = builder.addAdaptiveConcurrencyLimiter({ algorithm: 'knee' }).build();
  await rounds(t, pipeline, 3);
  assert.deepEqual(
    names().filter((name) => name.startsWith('OnLimit')),
    ['OnLimitDecision', 'OnLimitChanged'],
  );
});

test('diagnostics_channel has it, too; nobody who listens changes what is decided', async (t) => {
  simulate(t);
  const heard = [];
  const channel = 'ylcnfrht.resilience.OnLimitDecision';
  const listener = (event) => heard.push(event);
  const limited = (options) =>
    new ResiliencePipelineBuilder(options)
      .addAdaptiveConcurrencyLimiter({ algorithm: 'knee', maxLimit: 90 })
      .build();
  const quiet = limited({ name: 'quiet' });
  await rounds(t, quiet, 10);
  assert.equal(quiet.getStrategy('AdaptiveConcurrencyLimiter').limit, 90);
  diagnostics_channel.subscribe(channel, listener);
  t.after(() => diagnostics_channel.unsubscribe(channel, listener));
  const channelled = limited({ name: 'channelled' });
  await rounds(t, channelled, 10);
  assert.equal(channelled.getStrategy('AdaptiveConcurrencyLimiter').limit, 90);
  assert.ok(heard.length > 0);
  assert.ok(
    heard.every(({ name, pipelineName }) => name === 'OnLimitDecision' && pipelineName === 'channelled'),
  );

  const { builder, events } = listen();
  const both = builder.addAdaptiveConcurrencyLimiter({ algorithm: 'knee' }).build();
  heard.length = 0;
  await rounds(t, both, 3);
  assert.equal(heard.length, 1);
  assert.equal(heard[0], decisions(events)[0]);
});

test('a listener that throws at it changes nothing', async (t) => {
  simulate(t);
  const thrown = [];
  t.mock.method(process, 'emitWarning', (error) => thrown.push(error));
  const failure = new Error('mine');
  const pipeline = new ResiliencePipelineBuilder({
    telemetry: ({ name }) => {
      if (name === 'OnLimitDecision') throw failure;
    },
  })
    .addAdaptiveConcurrencyLimiter({ algorithm: 'knee' })
    .build();
  await rounds(t, pipeline, 3);
  assert.deepEqual(thrown, [failure]);
  assert.equal(pipeline.getStrategy('AdaptiveConcurrencyLimiter').limit, 40);
});
