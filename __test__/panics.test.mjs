// What comes after a Rust panic. The panics are made on purpose, in a build of the addon with the cargo
// feature `fault-injection`, which nothing else loads; each strikes in a process of its own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import test, { before, describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runChild } from './support/child.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const cargo = (...args) => spawnSync('cargo', args, { cwd: root, encoding: 'utf8' });

test('every item that napi exports catches panics', () => {
  const folder = path.join(root, 'src/binding');
  let items = 0;
  for (const file of readdirSync(folder, { recursive: true })) {
    if (!file.endsWith('.rs')) continue;
    const source = readFileSync(path.join(folder, file), 'utf8');
    // A function or method comes after its attributes; a struct or an impl block runs no code.
    for (const [, options, item] of source.matchAll(
      /#\[napi(?:\(([^\]]*)\))?\]((?:\s*#\[[^\]]*\])*\s*(?:pub(?:\([^)]*\))? )?(?:const )?\w+ \w+)/g,
    )) {
      if (!/\bfn \w+$/.test(item)) continue;
      items += 1;
      assert.match(options ?? '', /\bcatch_unwind\b/, `${file}: ${item.trim()}`);
    }
  }
  assert.ok(items >= 24, `only ${items} items found`);
});

test('the addon as it is built for use has no way to inject faults', async () => {
  const { stdout } = await runChild(
    `import binding from '../binding.js';
    console.log(Object.keys(binding).filter((key) => /fault/i.test(key)));`,
  );
  assert.equal(stdout, '[]');
});

const PRELUDE = `
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { mock } from 'node:test';
const require = createRequire(process.cwd() + '/');
const { armFault, faultIsArmed } = require('../binding.js');
const resilience = require('@ylcnfrht/resilience');
const { AdaptiveLimitProvider, CircuitBreakerManualControl, InternalError } = resilience;
const { ResiliencePipelineBuilder } = resilience;
const { aimd, gradient2, knee, vegas } = resilience;
const { thread } = require('../lib/native.js');
const { hold, rejection, turn } = await import(process.cwd() + '/support/hold.mjs');
const { assertIdle } = await import(process.cwd() + '/support/idle.mjs');

const warnings = [];
process.on('warning', (warning) => {
  // That of the runner's mock timers.
  if (warning.name !== 'ExperimentalWarning') warnings.push(warning);
});
const builder = () => new ResiliencePipelineBuilder();
const FRAGILE = { consecutiveFailures: 1, breakDuration: '1h' };
const HALF_OPEN = { state: 'half-open', breakRemaining: 0, exportedAt: 0 };
const failing = () => Promise.reject(new Error('boom'));

function assertDefect(error, entry) {
  assert.ok(error instanceof InternalError, String(error));
  assert.equal(error.code, 'INTERNAL');
  assert.match(error.message, new RegExp('an injected fault in ' + entry + '\\\\b.*please report it'));
  assert.equal(faultIsArmed(), false);
}
/** The fault has become a process warning. */
async function assertWarned(entry) {
  await turn();
  assert.equal(warnings.length, 1, String(warnings));
  assertDefect(warnings[0], entry);
}
/** Everything is given back, and the next execution works. */
async function assertWorks(pipeline, ...names) {
  assertIdle(...names.map((name) => pipeline.getStrategy(name)));
  assert.equal(await pipeline.execute(() => 'next'), 'next');
  assertIdle(...names.map((name) => pipeline.getStrategy(name)));
}
`;

/** By entry and by what is going on: a program that lives through one fault. */
const CLOSURES = {
  'enter: permits are free': `
    const pipeline = builder().addConcurrencyLimiter(1).addAdaptiveConcurrencyLimiter().addTimeout('1m').build();
    armFault('enter', AFTER);
    assertDefect(await rejection(pipeline.execute(() => assert.fail('must not run'))), 'enter');
    await assertWorks(pipeline, 'ConcurrencyLimiter', 'AdaptiveConcurrencyLimiter');
    assert.deepEqual(warnings, []);`,
  'enter: it has to wait': `
    const pipeline = builder().addConcurrencyLimiter({ permitLimit: 1, queueLimit: 1, queueTimeout: '1m' }).build();
    const running = hold(pipeline);
    armFault('enter', AFTER);
    assertDefect(await rejection(pipeline.execute(() => assert.fail('must not run'))), 'enter');
    const { inflight, queued } = pipeline.getStrategy('ConcurrencyLimiter');
    assert.deepEqual([inflight, queued], [1, 0]);
    const waiting = hold(pipeline);
    running.finish(1);
    waiting.finish(2);
    assert.deepEqual(await Promise.all([running.promise, waiting.promise]), [1, 2]);
    await assertWorks(pipeline, 'ConcurrencyLimiter');`,
  'enter: another waiter makes room': `
    const pipeline = builder()
      .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 1, overflow: 'drop-oldest' })
      .build();
    const running = hold(pipeline);
    const waiting = hold(pipeline);
    armFault('enter', AFTER);
    assertDefect(await rejection(pipeline.execute(() => assert.fail('must not run'))), 'enter');
    // A waiter that was told to go has gone; one that was not is let in.
    if (AFTER) assert.equal((await rejection(waiting.promise)).reason, 'dropped');
    running.finish();
    waiting.finish();
    await Promise.allSettled([running.promise, waiting.promise]);
    await assertWorks(pipeline, 'ConcurrencyLimiter');`,
  'enter: it is refused': `
    const pipeline = builder().addConcurrencyLimiter(1).build();
    const running = hold(pipeline);
    armFault('enter', AFTER);
    assertDefect(await rejection(pipeline.execute(() => assert.fail('must not run'))), 'enter');
    assert.equal((await rejection(pipeline.execute(() => assert.fail('must not run')))).reason, 'full');
    running.finish('a');
    assert.equal(await running.promise, 'a');
    await assertWorks(pipeline, 'ConcurrencyLimiter');`,
  'enter: a probe is let in': `
    const pipeline = builder().addCircuitBreaker(FRAGILE).addConcurrencyLimiter(1).build();
    const breaker = pipeline.getStrategy('CircuitBreaker');
    breaker.restoreState(HALF_OPEN);
    armFault('enter', AFTER);
    assertDefect(await rejection(pipeline.execute(() => assert.fail('must not run'))), 'enter');
    assert.equal(breaker.state, 'half-open');
    const probe = hold(pipeline);
    assert.equal(probe.running, true, 'the place came back');
    assert.equal((await rejection(pipeline.execute(() => 1))).code, 'CIRCUIT_OPEN');
    probe.finish();
    await probe.promise;
    assert.equal(breaker.state, 'closed');
    await assertWorks(pipeline, 'ConcurrencyLimiter');
    assert.deepEqual(warnings, []);`,
  'enter: it has to wait for a rate': `
    mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    const pipeline = builder().addRateLimiter({ permitLimit: 1, window: 1000, queueLimit: 1 }).build();
    const limiter = pipeline.getStrategy('RateLimiter');
    await pipeline.execute(() => 1);
    armFault('enter', AFTER);
    assertDefect(await rejection(pipeline.execute(() => assert.fail('must not run'))), 'enter');
    assert.equal(limiter.queued, 0);
    const waiting = pipeline.execute(() => 'waited');
    mock.timers.tick(1000);
    assert.equal(await waiting, 'waited');
    mock.timers.tick(1000);
    mock.timers.reset();
    assertIdle();
    assert.deepEqual(warnings, []);`,
  'giveBack: somebody waits for the permit': `
    const pipeline = builder().addConcurrencyLimiter(1, 1).build();
    const running = hold(pipeline);
    const waiting = hold(pipeline);
    armFault('giveBack', AFTER);
    running.finish('a');
    waiting.finish('b');
    assert.deepEqual(await Promise.all([running.promise, waiting.promise]), ['a', 'b']);
    await assertWarned('giveBack');
    await assertWorks(pipeline, 'ConcurrencyLimiter');`,
  'enter: permits are lent': `
    const pipeline = builder().addConcurrencyLimiter(2).build();
    armFault('enter', AFTER);
    assertDefect(await rejection(pipeline.execute(() => assert.fail('must not run'))), 'enter');
    const held = [hold(pipeline), hold(pipeline)];
    assert.deepEqual(held.map(({ running }) => running), [true, true]);
    assert.equal((await rejection(pipeline.execute(() => 1))).active, 2);
    for (const { finish } of held) finish();
    await Promise.all(held.map(({ promise }) => promise));
    await assertWorks(pipeline, 'ConcurrencyLimiter');
    assert.deepEqual(warnings, []);`,
  'leave: a failure is counted': `
    const told = [];
    const pipeline = builder()
      .addCircuitBreaker({ ...FRAGILE, consecutiveFailures: 2, onOpened: ({ outcome }) => told.push(outcome.error) })
      .build();
    const breaker = pipeline.getStrategy('CircuitBreaker');
    armFault('leave', AFTER);
    assert.equal((await rejection(pipeline.execute(failing))).message, 'boom');
    await assertWarned('leave');
    assert.equal(breaker.state, 'closed', 'counted once');
    const second = await rejection(pipeline.execute(failing));
    assert.deepEqual([breaker.state, told], ['open', [second]]);
    assertIdle();`,
  'closedEpoch: nobody knows whether the circuit is closed': `
    const pipeline = builder().addCircuitBreaker(FRAGILE).build();
    armFault('closedEpoch', AFTER);
    assert.equal(await pipeline.execute(() => 'the outcome'), 'the outcome');
    await assertWarned('closedEpoch');
    assert.equal((await rejection(pipeline.execute(failing))).message, 'boom');
    assert.equal((await rejection(pipeline.execute(() => 1))).code, 'CIRCUIT_OPEN');
    assertIdle();`,
  'exit: a probe is over': `
    const told = [];
    const pipeline = builder()
      .addCircuitBreaker({ ...FRAGILE, onClosed: () => told.push('closed') })
      .addConcurrencyLimiter(1)
      .build();
    const breaker = pipeline.getStrategy('CircuitBreaker');
    breaker.restoreState(HALF_OPEN);
    armFault('exit', AFTER);
    assert.equal(await pipeline.execute(() => 'a probe'), 'a probe');
    await assertWarned('exit');
    assert.deepEqual([breaker.state, told], ['closed', ['closed']]);
    await assertWorks(pipeline, 'ConcurrencyLimiter');`,
  'exit: the outcome opens a circuit': `
    const told = [];
    const pipeline = builder()
      .addConcurrencyLimiter(1)
      .addCircuitBreaker({ ...FRAGILE, onOpened: () => told.push('opened') })
      .build();
    armFault('exit', AFTER);
    assert.equal((await rejection(pipeline.execute(failing))).message, 'boom');
    await assertWarned('exit');
    assert.deepEqual([pipeline.getStrategy('CircuitBreaker').state, told], ['open', ['opened']]);
    assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));`,
  'exit: a waiter leaves the queue of a rate limiter': `
    const pipeline = builder().addRateLimiter({ permitLimit: 1, window: '1h', queueLimit: 2 }).build();
    const limiter = pipeline.getStrategy('RateLimiter');
    await pipeline.execute(() => 1);
    const controller = new AbortController();
    const waiting = hold(pipeline, { signal: controller.signal });
    armFault('exit', AFTER);
    controller.abort('gone');
    assert.equal(await rejection(waiting.promise), 'gone');
    await assertWarned('exit');
    assert.equal(limiter.queued, 0);
    assertIdle();`,
  'tick: a permit of a rate limiter is due': `
    const pipeline = builder().addRateLimiter({ permitLimit: 1, window: 5, queueLimit: 5 }).build();
    await pipeline.execute(() => 1);
    const waiting = [1, 2].map((index) => pipeline.execute(() => index));
    armFault('tick', AFTER);
    assert.deepEqual(await Promise.all(waiting), [1, 2]);
    await assertWarned('tick');
    assertIdle();`,
  'expire: a permit of a rate limiter is due': `
    mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    const pipeline = builder().addRateLimiter({ permitLimit: 1, window: 1000, queueLimit: 5 }).build();
    await pipeline.execute(() => 1);
    const waiting = [1, 2].map((index) => pipeline.execute(() => index));
    armFault('expire', AFTER);
    mock.timers.tick(1000);
    assert.equal(await waiting[0], 1);
    mock.timers.tick(1000);
    assert.equal(await waiting[1], 2);
    mock.timers.reset();
    await assertWarned('expire');
    assertIdle();`,
  'dispose: somebody waits for a rate': `
    const pipeline = builder().addRateLimiter({ permitLimit: 1, window: '1h', queueLimit: 2 }).build();
    await pipeline.execute(() => 1);
    const waiting = [hold(pipeline), hold(pipeline)];
    armFault('dispose', AFTER);
    pipeline.dispose();
    for (const { promise } of waiting) assert.equal((await rejection(promise)).reason, 'disposed');
    await assertWarned('dispose');
    assertIdle();`,
  sleep: `
    const pipeline = builder().addRetry({ delay: '1h' }).addConcurrencyLimiter(1).build();
    armFault('sleep', AFTER);
    assertDefect(await rejection(pipeline.execute(failing)), 'sleep');
    await turn();
    await assertWorks(pipeline, 'ConcurrencyLimiter');`,
  'sleep: a hedged attempt is to come': `
    const pipeline = builder().addHedging({ delay: '1h' }).addConcurrencyLimiter(1).build();
    armFault('sleep', AFTER);
    assertDefect(await rejection(pipeline.execute(() => new Promise(() => {}))), 'sleep');
    await turn();
    await assertWorks(pipeline, 'ConcurrencyLimiter');`,
  wake: `
    const pipeline = builder().addRetry({ delay: '1h' }).addConcurrencyLimiter(1).build();
    const controller = new AbortController();
    const promise = rejection(pipeline.execute(failing, { signal: controller.signal }));
    await turn();
    armFault('wake', AFTER);
    controller.abort('gone');
    assert.equal(await promise, 'gone');
    await assertWarned('wake');
    await assertWorks(pipeline, 'ConcurrencyLimiter');`,
  setBreak: `
    const errors = [];
    const pipeline = new ResiliencePipelineBuilder({
      telemetry: ({ name, args }) => name === 'CallbackError' && errors.push(args),
    })
      .addCircuitBreaker({ ...FRAGILE, breakDurationGenerator: () => '2h' })
      .build();
    const breaker = pipeline.getStrategy('CircuitBreaker');
    armFault('setBreak', AFTER);
    assert.equal((await rejection(pipeline.execute(failing))).message, 'boom');
    assert.equal(errors.length, 1);
    assertDefect(errors[0].error, 'setBreak');
    assert.equal(breaker.state, 'open');
    assert.equal(breaker.exportState().breakRemaining > 3_600_000, AFTER);
    assertIdle();`,
  isolate: `
    const manualControl = new CircuitBreakerManualControl();
    const pipeline = builder().addCircuitBreaker({ manualControl }).build();
    armFault('isolate', AFTER);
    assert.throws(() => manualControl.isolate(), (error) => (assertDefect(error, 'isolate'), true));
    assert.equal(pipeline.getStrategy('CircuitBreaker').state, AFTER ? 'isolated' : 'closed');
    manualControl.isolate();
    assert.equal((await rejection(pipeline.execute(() => 1))).code, 'CIRCUIT_ISOLATED');
    manualControl.close();
    await assertWorks(pipeline);`,
  close: `
    const manualControl = new CircuitBreakerManualControl(true);
    const pipeline = builder().addCircuitBreaker({ manualControl }).build();
    armFault('close', AFTER);
    assert.throws(() => manualControl.close(), (error) => (assertDefect(error, 'close'), true));
    assert.equal(pipeline.getStrategy('CircuitBreaker').state, AFTER ? 'closed' : 'isolated');
    manualControl.close();
    await assertWorks(pipeline);`,
  restore: `
    const pipeline = builder().addCircuitBreaker(FRAGILE).build();
    const breaker = pipeline.getStrategy('CircuitBreaker');
    armFault('restore', AFTER);
    assert.throws(() => breaker.restoreState(HALF_OPEN), (error) => (assertDefect(error, 'restore'), true));
    assert.equal(breaker.state, AFTER ? 'half-open' : 'closed');
    await assertWorks(pipeline);
    assert.equal(breaker.state, 'closed');`,
  'exit: an outcome is being delivered': `
    const pipeline = builder().addConcurrencyLimiter(1).addAdaptiveConcurrencyLimiter().addTimeout('1m').build();
    armFault('exit', AFTER);
    assert.equal(await pipeline.execute(() => 'the outcome'), 'the outcome');
    await assertWarned('exit');
    await assertWorks(pipeline, 'ConcurrencyLimiter', 'AdaptiveConcurrencyLimiter');`,
  'exit: somebody waits for the permit': `
    const pipeline = builder().addConcurrencyLimiter(1, 1).build();
    const running = hold(pipeline);
    const waiting = hold(pipeline);
    armFault('exit', AFTER);
    running.finish('a');
    waiting.finish('b');
    assert.deepEqual(await Promise.all([running.promise, waiting.promise]), ['a', 'b']);
    await assertWarned('exit');
    await assertWorks(pipeline, 'ConcurrencyLimiter');`,
  'exit: a waiter leaves the queue': `
    const pipeline = builder().addConcurrencyLimiter(1, 1).build();
    const running = hold(pipeline);
    const controller = new AbortController();
    const waiting = hold(pipeline, { signal: controller.signal });
    armFault('exit', AFTER);
    controller.abort('gone');
    assert.equal(await rejection(waiting.promise), 'gone');
    await assertWarned('exit');
    assert.equal(pipeline.getStrategy('ConcurrencyLimiter').queued, 0);
    running.finish('a');
    assert.equal(await running.promise, 'a');
    await assertWorks(pipeline, 'ConcurrencyLimiter');`,
  mark: `
    const { ResilienceContext } = require('../lib/context.js');
    const pipeline = builder().addAdaptiveConcurrencyLimiter().build();
    const running = hold(pipeline);
    armFault('mark', AFTER);
    ResilienceContext.markFirstByte(running.context, running.context);
    running.finish('a');
    assert.equal(await running.promise, 'a');
    await assertWarned('mark');
    await assertWorks(pipeline, 'AdaptiveConcurrencyLimiter');`,
  remaining: `
    const pipeline = builder().addTimeout('1h').build();
    const running = hold(pipeline);
    armFault('remaining', AFTER);
    assert.equal(running.context.remaining, undefined);
    await assertWarned('remaining');
    assert.ok(running.context.remaining > 3_590_000);
    running.finish('a');
    assert.equal(await running.promise, 'a');
    await assertWorks(pipeline);`,
  due: `
    const pipeline = builder().addConcurrencyLimiter(1).addTimeout(1).build();
    armFault('due', AFTER);
    assert.equal((await rejection(pipeline.execute(() => new Promise(() => {})))).code, 'TIMEOUT');
    await assertWarned('due');
    await assertWorks(pipeline, 'ConcurrencyLimiter');`,
  tick: `
    const pipeline = builder().addConcurrencyLimiter(1).addTimeout(1).build();
    armFault('tick', AFTER);
    assert.equal((await rejection(pipeline.execute(() => new Promise(() => {})))).code, 'TIMEOUT');
    await assertWarned('tick');
    await assertWorks(pipeline, 'ConcurrencyLimiter');`,
  expire: `
    mock.timers.enable({ apis: ['setTimeout'] });
    const pipeline = builder().addConcurrencyLimiter(1).addTimeout(1000).build();
    const running = hold(pipeline);
    armFault('expire', AFTER);
    mock.timers.tick(1000);
    assert.equal((await rejection(running.promise)).code, 'TIMEOUT');
    mock.timers.reset();
    await assertWarned('expire');
    await assertWorks(pipeline, 'ConcurrencyLimiter');`,
  applyLimit: `
    const algorithm = { onSample: ({ limit }) => limit + 1 };
    const pipeline = builder().addAdaptiveConcurrencyLimiter({ algorithm, initialLimit: 1 }).build();
    const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
    armFault('applyLimit', AFTER);
    assert.equal(await pipeline.execute(() => 'a'), 'a');
    await assertWarned('applyLimit');
    assert.equal(limiter.limit, AFTER ? 2 : 1);
    await assertWorks(pipeline, 'AdaptiveConcurrencyLimiter');
    assert.equal(limiter.limit, AFTER ? 3 : 2);`,
  drain: `
    // One raise of the limit admits more than the ring of effects holds.
    const algorithm = { onSample: () => 1000 };
    const pipeline = builder()
      .addAdaptiveConcurrencyLimiter({ algorithm, initialLimit: 1, queueLimit: 300 })
      .build();
    const running = hold(pipeline);
    const waiting = Array.from({ length: 300 }, (_, index) => pipeline.execute(() => index));
    armFault('drain', AFTER);
    running.finish('a');
    assert.equal(await running.promise, 'a');
    assert.deepEqual(await Promise.all(waiting), Array.from({ length: 300 }, (_, index) => index));
    await assertWarned('drain');
    await assertWorks(pipeline, 'AdaptiveConcurrencyLimiter');`,
  dispose: `
    const pipeline = builder().addConcurrencyLimiter(1, 1).build();
    const running = hold(pipeline);
    const waiting = hold(pipeline);
    armFault('dispose', AFTER);
    pipeline.dispose();
    assert.equal((await rejection(waiting.promise)).reason, 'disposed');
    await assertWarned('dispose');
    running.finish('a');
    assert.equal(await running.promise, 'a');
    assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
    await assertWorks(builder().addConcurrencyLimiter(1).build(), 'ConcurrencyLimiter');`,
  remove: `
    const before = thread.segments;
    (() => builder().addConcurrencyLimiter(1).build())();
    armFault('remove', AFTER);
    for (let turns = 0; turns < 1000 && faultIsArmed(); turns += 1) {
      await turn();
      globalThis.gc();
    }
    await assertWarned('remove');
    assert.equal(thread.segments, before);`,
};

/** What the gate of the event loop is asked: an answer that was lost leaves nothing behind. */
const LOOP = `
const loop = require('../lib/event-loop.js');
const { check } = require('../lib/native.js');
const door = loop.addDoor(100, 60_000);
const busy = () => { const until = performance.now() + 6; while (performance.now() < until); };
const fails = (entry, run) => {
  armFault(entry, AFTER);
  const answer = run();
  assert.ok(Number.isNaN(answer), String(answer));
  assert.throws(() => check(answer), (error) => (assertDefect(error, entry), true));
};
const offer = (idle = NaN) => loop.offer(door, 0, Infinity, idle);
/** Two that wait in a busy loop. */
const wait = (idle) => {
  loop.end(offer(idle));
  busy();
  return [-offer(), -offer()];
};
const turnUntilWork = () => {
  for (let answer = NaN; answer !== loop.TURN.WORK; busy()) answer = loop.turn(1, 0);
};
const serve = () => {
  const served = [];
  while (loop.queued() > 0) {
    turnUntilWork();
    for (let key = loop.next(); key !== 0; key = loop.next()) {
      served.push(key);
      loop.end(key);
    }
  }
  return served;
};
const isIdle = () => assert.deepEqual([thread.requests, loop.queued(), loop.read(door).inflight], [0, 0, 0]);
`;

const LOOP_CLOSURES = {
  'loopOffer: it starts': `
    fails('loopOffer', () => offer(1));
    isIdle();
    assert.ok(loop.end(offer(2)) === loop.END.NOTHING);
    isIdle();`,
  'loopOffer: it waits': `
    const waiting = wait(1);
    fails('loopOffer', () => offer());
    assert.equal(loop.queued(), 2);
    assert.deepEqual(serve(), waiting);
    isIdle();`,
  'loopTurn: somebody waits': `
    const waiting = wait(1);
    fails('loopTurn', () => loop.turn(1, 0));
    assert.deepEqual(serve(), waiting);
    isIdle();`,
  'loopNext: somebody waits': `
    const waiting = wait(1);
    turnUntilWork();
    fails('loopNext', loop.next);
    const rest = [];
    for (let key = loop.next(); key !== 0; key = loop.next()) {
      rest.push(key);
      loop.end(key);
    }
    rest.push(...serve());
    const turnedAway = [];
    for (let key = loop.takeRefused(); key !== 0; key = loop.takeRefused()) {
      turnedAway.push([key, loop.refusalReason()]);
    }
    // Of one that was started nobody knew: it is turned away.
    assert.deepEqual(turnedAway, AFTER ? [[waiting[0], 'dropped']] : []);
    assert.deepEqual(rest, AFTER ? [waiting[1]] : waiting);
    loop.turn(1, 0);
    isIdle();`,
  'loopEnd: it has started': `
    const key = offer(1);
    fails('loopEnd', () => loop.end(key));
    isIdle();`,
  'loopAcknowledge: nobody waits': `
    fails('loopAcknowledge', loop.acknowledge);
    isIdle();`,
  'loopRefused: somebody was turned away': `
    const waiting = wait(1);
    loop.closeDoor(door);
    fails('loopRefused', loop.takeRefused);
    const told = [loop.takeRefused(), loop.takeRefused(), loop.takeRefused()];
    assert.deepEqual(told, [...waiting, 0]);
    isIdle();`,
  'addDoor: an adapter is made': `
    armFault('addDoor', AFTER);
    assert.throws(() => loop.addDoor(1, 2), (error) => (assertDefect(error, 'addDoor'), true));
    isIdle();`,
  'closeDoor and removeDoor: nobody waits for an answer': `
    const waiting = wait(1);
    for (const entry of ['closeDoor', 'removeDoor']) {
      armFault(entry, AFTER);
      loop[entry](door);
      await assertWarned(entry);
      warnings.length = 0;
    }
    loop.closeDoor(door);
    const told = [loop.takeRefused(), loop.takeRefused(), loop.takeRefused()];
    assert.deepEqual(told, [...waiting, 0]);
    isIdle();`,
};

const READERS = {
  limit: `
    const limiter = builder().addAdaptiveConcurrencyLimiter({ initialLimit: 7 }).build()
      .getStrategy('AdaptiveConcurrencyLimiter');
    fails('limit', () => limiter.limit);
    assert.equal(limiter.limit, 7);`,
};
for (const reader of ['inflight', 'queued']) {
  READERS[reader] = `
    const pipeline = builder().addConcurrencyLimiter(1, 1).build();
    const held = [hold(pipeline), hold(pipeline)];
    const limiter = pipeline.getStrategy('ConcurrencyLimiter');
    fails('${reader}', () => limiter.${reader});
    assert.equal(limiter.${reader}, 1);
    for (const { finish } of held) finish();
    await Promise.all(held.map(({ promise }) => promise));
    await assertWorks(pipeline, 'ConcurrencyLimiter');`;
}

for (const [reader, read, value] of [
  ['circuit', 'breaker.state', "'closed'"],
  ['breakRemaining', 'breaker.exportState().breakRemaining', '0'],
  ['available', 'limiter.available', '2'],
  ['available', "limiter.availableFor('a')", '3'],
  ['keys', 'limiter.keys', '1'],
  ['evictions', 'limiter.evictions', '0'],
  ['queued', 'limiter.queued', '0'],
]) {
  READERS[`${reader} (${read})`] = `
    const pipeline = builder().addRateLimiter({ permitLimit: 3, window: '1h' }).addCircuitBreaker().build();
    const [limiter, breaker] = ['RateLimiter', 'CircuitBreaker'].map((name) => pipeline.getStrategy(name));
    await pipeline.execute(() => 1);
    fails('${reader}', () => ${read});
    assert.equal(${read}, ${value});
    await assertWorks(pipeline);`;
}

const CLASSES = {
  'a constructor': `
    const building = builder().addConcurrencyLimiter(1);
    fails('ResiliencePipelineBuilder', () => building.build());
    await assertWorks(building.build(), 'ConcurrencyLimiter');
    fails('AdaptiveLimitProvider', () => new AdaptiveLimitProvider());
    assert.equal(new AdaptiveLimitProvider().limit, 0);`,
  'a method': `
    const limitProvider = new AdaptiveLimitProvider();
    const building = builder()
      .addConcurrencyLimiter(1)
      .addAdaptiveConcurrencyLimiter({ limitProvider })
      .addRateLimiter({ permitLimit: 5, window: 1 })
      .addCircuitBreaker()
      .addTimeout(60_000);
    for (const method of [
      'addConcurrencyLimiter',
      'addAdaptiveConcurrencyLimiter',
      'addRateLimiter',
      'addCircuitBreaker',
      'addTimeout',
      'build',
    ]) {
      fails('ResiliencePipelineBuilder.' + method, () => building.build());
    }
    fails('Thread.attach', () => building.build());
    const pipeline = building.build();
    await assertWorks(pipeline, 'ConcurrencyLimiter', 'AdaptiveConcurrencyLimiter');
    const sample = { rtt: 10, inflight: 10, dropped: false, limit: 10, now: 10, startedAt: 0 };
    const algorithms = { Gradient2: gradient2(), Vegas: vegas(), Aimd: aimd(), Knee: knee() };
    for (const [name, algorithm] of Object.entries(algorithms)) {
      fails(name + '.sample', () => algorithm.onSample(sample));
      assert.ok(algorithm.onSample(sample) >= 10);
    }`,
  'a getter': `
    const limitProvider = new AdaptiveLimitProvider();
    const pipeline = builder().addAdaptiveConcurrencyLimiter({ limitProvider, initialLimit: 7 }).build();
    for (const [getter, value] of Object.entries({ limit: 7, inflight: 0, queued: 0 })) {
      fails('AdaptiveLimitProvider.read', () => limitProvider[getter]);
      assert.equal(limitProvider[getter], value);
    }
    await assertWorks(pipeline, 'AdaptiveConcurrencyLimiter');`,
  'what is told of the event loop': `
    const loop = require('../lib/event-loop.js');
    const door = loop.addDoor(100, 500);
    fails('Thread.eventLoop', () => loop.read(door));
    assert.equal(loop.read(door).queued, 0);
    fails('Thread.overload', () => loop.readOverload(door, 1));
    assert.equal(loop.readOverload(door, 1), null);`,
};
const FAILS = `
function fails(entry, run) {
  armFault(entry, false);
  assert.throws(run, (error) => (assertDefect(error, entry), true));
}
`;

describe('after a panic', () => {
  before(() => {
    const folder = path.join(root, 'target/fault-injection');
    // cargo itself knows whether anything is to be done.
    const build = cargo('build', '--features', 'fault-injection', '--target-dir', folder);
    assert.equal(build.status, 0, build.stderr ?? build.error?.message);
    const [file] = readdirSync(path.join(folder, 'debug')).filter((name) =>
      /^(lib)?resilience\.(so|dylib|dll)$/.test(name),
    );
    const addon = path.join(folder, 'resilience.node');
    copyFileSync(path.join(folder, 'debug', file), addon);
    process.env.NAPI_RS_NATIVE_LIBRARY_PATH = addon;
  });

  const lives = async (program) => {
    const { code, stdout, stderr } = await runChild(
      `${PRELUDE}${program}\nconsole.log('lives');`,
      '--expose-gc',
    );
    assert.deepEqual([code, stdout], [0, 'lives'], stderr);
  };
  for (const [situation, program] of Object.entries(CLOSURES)) {
    for (const after of [false, true]) {
      const moment = after ? 'after' : 'before';
      test(`${moment} the work of ${situation}`, () => lives(`const AFTER = ${after};\n${program}`));
    }
  }
  for (const [situation, program] of Object.entries(LOOP_CLOSURES)) {
    for (const after of [false, true]) {
      const moment = after ? 'after' : 'before';
      test(`${moment} the work of ${situation}`, () => lives(`const AFTER = ${after};\n${LOOP}${program}`));
    }
  }
  for (const [kind, programs] of Object.entries({ 'the reader': READERS, '': CLASSES })) {
    for (const [entry, program] of Object.entries(programs)) {
      test(`in ${kind} ${entry}`.replace('  ', ' '), () => lives(`${FAILS}${program}`));
    }
  }

  test('in what runs when the package is loaded', async () => {
    const { code, stdout, stderr } = await runChild(`
      import assert from 'node:assert/strict';
      import { createRequire } from 'node:module';
      const require = createRequire(process.cwd() + '/');
      const { armFault } = require('../binding.js');
      for (const entry of ['Thread', 'Thread.hot']) {
        armFault(entry, false);
        assert.throws(() => require('@ylcnfrht/resilience'), { name: 'InternalError', code: 'INTERNAL' });
      }
      const { ResiliencePipelineBuilder } = require('@ylcnfrht/resilience');
      const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).build();
      console.log(await pipeline.execute(() => 'lives'));`);
    assert.deepEqual([code, stdout], [0, 'lives'], stderr);
  });
});
