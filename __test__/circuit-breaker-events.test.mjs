import assert from 'node:assert/strict';
import test from 'node:test';
import { FRAGILE, boom, circuit, fails, openCircuit, succeeds } from './support/circuit.mjs';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';
import { listen } from './support/listen.mjs';

const EVENTS = { opened: 'OnCircuitOpened', 'half-opened': 'OnCircuitHalfOpened', closed: 'OnCircuitClosed' };
const isOfCircuit = ({ name }) => Object.values(EVENTS).includes(name);

test('each change is told once, with its outcome and context', async (t) => {
  simulate(t);
  const { pipeline, told } = circuit(FRAGILE);
  const failed = hold(pipeline, { operationKey: 'first' });
  failed.fail(boom);
  await rejection(failed.promise);
  await rejection(pipeline.execute(succeeds));
  t.mock.timers.tick(1000);
  const probe = hold(pipeline, { operationKey: 'probe' });
  await rejection(pipeline.execute(succeeds));
  probe.finish('fine');
  await probe.promise;
  const plain = told.map(([what, { outcome, ...args }]) => [what, outcome && { ...outcome }, args]);
  assert.deepEqual(plain, [
    ['opened', { ok: false, error: boom }, { context: failed.context, breakDuration: 1000, isManual: false }],
    ['half-opened', undefined, { context: probe.context }],
    ['closed', { ok: true, result: 'fine' }, { context: probe.context, isManual: false }],
  ]);
});

test('telemetry has the same arguments, once, with severity, names and the operation', async (t) => {
  simulate(t);
  const told = [];
  const note = (args) => void told.push(args);
  const { builder, events } = listen();
  const pipeline = builder
    .addCircuitBreaker({ ...FRAGILE, name: 'db', onOpened: note, onHalfOpened: note, onClosed: note })
    .build();
  await pipeline.settle(fails, { operationKey: 'a' });
  t.mock.timers.tick(1000);
  await pipeline.settle(fails, { operationKey: 'b' });
  t.mock.timers.tick(1000);
  await pipeline.settle(succeeds, { operationKey: 'c' });
  const heard = events.filter(isOfCircuit);
  assert.deepEqual(
    heard.map(({ args, ...event }) => event),
    [
      ['OnCircuitOpened', 'error', 'a'],
      ['OnCircuitHalfOpened', 'warning', 'b'],
      ['OnCircuitOpened', 'error', 'b'],
      ['OnCircuitHalfOpened', 'warning', 'c'],
      ['OnCircuitClosed', 'information', 'c'],
    ].map(([name, severity, operationKey]) => ({
      name,
      severity,
      pipelineName: 'search',
      strategyName: 'db',
      operationKey,
    })),
  );
  assert.deepEqual(
    heard.map(({ args }) => args),
    told,
  );
});

for (const [place, add] of [
  ['in one segment', (builder) => builder],
  ['in two segments', (builder) => builder.add(() => ({ name: 'Own', execute: (next, own) => next(own) }))],
]) {
  test(`two breakers that one execution moves are each told its outcome and context, ${place}`, async (t) => {
    simulate(t);
    const told = [];
    const note = (name) => ({
      ...FRAGILE,
      name,
      onOpened: ({ outcome, context }) => told.push([`${name} opened`, outcome.error, context.operationKey]),
      onHalfOpened: ({ context }) => told.push([`${name} half-opened`, undefined, context.operationKey]),
      onClosed: ({ outcome, context }) => told.push([`${name} closed`, outcome.result, context.operationKey]),
    });
    const { builder, events } = listen();
    const pipeline = add(builder.addCircuitBreaker(note('outer')))
      .addCircuitBreaker(note('inner'))
      .build();
    await pipeline.settle(fails, { operationKey: 'a' });
    t.mock.timers.tick(1000);
    await pipeline.settle(succeeds, { operationKey: 'b' });
    assert.deepEqual(
      events.filter(({ name }) => name === 'CallbackError'),
      [],
    );
    assert.deepEqual(told, [
      ['inner opened', boom, 'a'],
      ['outer opened', boom, 'a'],
      ['outer half-opened', undefined, 'b'],
      ['inner half-opened', undefined, 'b'],
      ['inner closed', 'fine', 'b'],
      ['outer closed', 'fine', 'b'],
    ]);
  });
}

test('the telemetry event comes before the callback, and both before the execution is over', async () => {
  const order = [];
  const { builder, events } = listen();
  const pipeline = builder
    .addCircuitBreaker({ ...FRAGILE, onOpened: () => order.push(events.at(-1).name) })
    .build();
  await pipeline.settle(fails).then(() => order.push('settled'));
  assert.deepEqual(order, ['OnCircuitOpened', 'settled']);
  assert.deepEqual(
    events.map(({ name }) => name),
    ['PipelineExecuting', 'OnCircuitOpened', 'PipelineExecuted'],
  );
});

test('onHalfOpened runs before the callback of the probe', async (t) => {
  simulate(t);
  const order = [];
  const { pipeline } = await openCircuit({ onHalfOpened: () => order.push('half-opened') });
  t.mock.timers.tick(1000);
  await pipeline.execute(() => order.push('probe'));
  assert.deepEqual(order, ['half-opened', 'probe']);
});

for (const option of ['onOpened', 'onHalfOpened', 'onClosed']) {
  for (const [how, callback] of Object.entries({
    throws: () => {
      throw boom;
    },
    rejects: () => Promise.reject(boom),
  })) {
    test(`${option} that ${how} is a CallbackError and changes nothing`, async (t) => {
      simulate(t);
      const { builder, events } = listen();
      const pipeline = builder.addCircuitBreaker({ ...FRAGILE, [option]: callback }).build();
      const breaker = pipeline.getStrategy('CircuitBreaker');
      assert.equal(await rejection(pipeline.execute(fails)), boom);
      assert.equal(breaker.state, 'open');
      t.mock.timers.tick(1000);
      assert.equal(await pipeline.execute(succeeds), 'fine');
      assert.equal(breaker.state, 'closed');
      await turn();
      assert.deepEqual(
        events.filter(({ name }) => name === 'CallbackError').map(({ args }) => args),
        [{ callback: option, error: boom }],
      );
      assertIdle();
    });
  }
}

for (const [how, shouldHandle, check] of [
  [
    'throws',
    () => {
      throw boom;
    },
    (error) => error === boom,
  ],
  [
    'answers with a promise',
    async () => true,
    ({ name, message }) => name === 'TypeError' && /a boolean/.test(message),
  ],
]) {
  test(`shouldHandle that ${how} is a CallbackError, and the execution counts as nothing`, async () => {
    const { builder, events } = listen();
    const pipeline = builder.addCircuitBreaker({ ...FRAGILE, shouldHandle }).build();
    for (let call = 0; call < 5; call += 1) assert.equal(await rejection(pipeline.execute(fails)), boom);
    assert.equal(await pipeline.execute(succeeds), 'fine');
    assert.equal(pipeline.getStrategy('CircuitBreaker').state, 'closed');
    const errors = events.filter(({ name }) => name === 'CallbackError');
    assert.equal(errors.length, 6);
    for (const { args } of errors) assert.ok(args.callback === 'shouldHandle' && check(args.error));
  });
}

test('a probe whose shouldHandle throws gives its place back', async (t) => {
  simulate(t);
  let throws = false;
  const { pipeline, breaker } = await openCircuit({
    shouldHandle: ({ outcome }) => {
      if (throws) throw boom;
      return !outcome.ok;
    },
  });
  t.mock.timers.tick(1000);
  throws = true;
  // Without a listener it is a process warning, which is none of this test's.
  const quiet = t.mock.method(process, 'emitWarning', () => {});
  await pipeline.execute(succeeds);
  assert.equal(quiet.mock.callCount(), 1);
  assert.equal(breaker.state, 'half-open');
  throws = false;
  await pipeline.execute(succeeds);
  assert.equal(breaker.state, 'closed');
});

test('breakDurationGenerator computes each break, from the opening on', async (t) => {
  simulate(t);
  const seen = [];
  const { pipeline, breaker, told } = circuit({
    failureRatio: 0.5,
    minimumThroughput: 4,
    breakDuration: 7,
    breakDurationGenerator: ({ context, ...args }) => {
      seen.push([context.operationKey, args]);
      return `${args.halfOpenAttempts + 1}s`;
    },
  });
  const ends = [succeeds, fails, fails, fails];
  for (const [index, end] of ends.entries()) await pipeline.settle(end, { operationKey: `call ${index}` });
  for (const seconds of [1, 2, 3]) {
    t.mock.timers.tick(seconds * 1000 - 1);
    assert.equal(breaker.state, 'open');
    assert.equal((await rejection(pipeline.execute(succeeds))).retryAfter, 1);
    t.mock.timers.tick(1);
    assert.equal(breaker.state, 'half-open');
    await pipeline.settle(fails, { operationKey: `probe ${seconds}` });
  }
  assert.deepEqual(seen, [
    ['call 3', { failureRate: 0.75, failureCount: 3, halfOpenAttempts: 0 }],
    ['probe 1', { failureRate: 1, failureCount: 1, halfOpenAttempts: 1 }],
    ['probe 2', { failureRate: 1, failureCount: 1, halfOpenAttempts: 2 }],
    ['probe 3', { failureRate: 1, failureCount: 1, halfOpenAttempts: 3 }],
  ]);
  assert.deepEqual(
    told.filter(([what]) => what === 'opened').map(([, args]) => args.breakDuration),
    [1000, 2000, 3000, 4000],
  );
});

test('the count of openings from half-open begins anew when the circuit has closed', async (t) => {
  simulate(t);
  const attempts = [];
  const { pipeline } = circuit({
    ...FRAGILE,
    breakDurationGenerator: ({ halfOpenAttempts }) => (attempts.push(halfOpenAttempts), 1000),
  });
  for (const end of [fails, fails, succeeds, fails, fails]) {
    await pipeline.settle(end);
    t.mock.timers.tick(1000);
  }
  assert.deepEqual(attempts, [0, 1, 0, 1]);
});

for (const [how, generate, name] of [
  [
    'throws',
    () => {
      throw boom;
    },
    'Error',
  ],
  ['answers 0', () => 0, 'RangeError'],
  ['answers NaN', () => NaN, 'RangeError'],
  ['answers Infinity', () => Infinity, 'RangeError'],
  ['answers nothing', () => {}, 'TypeError'],
  ['answers with a promise', async () => 5, 'TypeError'],
  [
    'answers with a promise that rejects',
    async () => {
      throw boom;
    },
    'TypeError',
  ],
]) {
  test(`breakDurationGenerator that ${how} is a CallbackError, and breakDuration counts`, async (t) => {
    simulate(t);
    const { builder, events } = listen();
    const pipeline = builder.addCircuitBreaker({ ...FRAGILE, breakDurationGenerator: generate }).build();
    assert.equal(await rejection(pipeline.execute(fails)), boom);
    const [error, ...more] = events.filter((event) => event.name === 'CallbackError').map(({ args }) => args);
    assert.deepEqual([more, error.callback, error.error.name], [[], 'breakDurationGenerator', name]);
    assert.equal(events.find((event) => event.name === 'OnCircuitOpened').args.breakDuration, 1000);
    t.mock.timers.tick(999);
    assert.equal((await rejection(pipeline.execute(succeeds))).retryAfter, 1);
    t.mock.timers.tick(1);
    assert.equal(await pipeline.execute(succeeds), 'fine');
  });
}

test('breakDurationGenerator is not asked for a circuit that is isolated', async () => {
  const { CircuitBreakerManualControl } = await import('@ylcnfrht/resilience');
  const manualControl = new CircuitBreakerManualControl();
  const { told } = circuit({ manualControl, breakDurationGenerator: () => assert.fail('must not run') });
  manualControl.isolate();
  assert.equal(told[0][1].breakDuration, Infinity);
});

test('a callback may execute: what it starts finds the circuit as it is by then', async (t) => {
  simulate(t);
  const seen = [];
  const { pipeline, breaker } = circuit({
    ...FRAGILE,
    onOpened: () => seen.push(breaker.state, pipeline.settle(succeeds)),
    onHalfOpened: () => seen.push(breaker.state, pipeline.settle(succeeds)),
    onClosed: () => seen.push(breaker.state, pipeline.settle(succeeds)),
  });
  await pipeline.settle(fails);
  t.mock.timers.tick(1000);
  await pipeline.settle(succeeds);
  const [open, refused, halfOpen, second, closed, fine] = await Promise.all(seen);
  assert.deepEqual([open, halfOpen, closed], ['open', 'half-open', 'closed']);
  assert.deepEqual(
    [refused.error.code, second.error.code, fine.result],
    ['CIRCUIT_OPEN', 'CIRCUIT_OPEN', 'fine'],
  );
  assertIdle();
});

test('onHalfOpened may abort the probe that it is told of, whose place comes back', async (t) => {
  simulate(t);
  const controller = new AbortController();
  const { pipeline, breaker } = await openCircuit({ onHalfOpened: () => controller.abort('no') });
  t.mock.timers.tick(1000);
  const { signal } = controller;
  assert.equal(await rejection(pipeline.execute(() => assert.fail('must not run'), { signal })), 'no');
  assert.equal(breaker.state, 'half-open');
  await pipeline.execute(succeeds);
  assert.equal(breaker.state, 'closed');
  assertIdle();
});

test('dispose in onOpened: later executions are refused as disposed', async () => {
  const { pipeline } = circuit({ ...FRAGILE, onOpened: () => pipeline.dispose() });
  assert.equal(await rejection(pipeline.execute(fails)), boom);
  assert.equal((await rejection(pipeline.execute(succeeds))).code, 'PIPELINE_DISPOSED');
  assertIdle();
});

test('without listeners and callbacks a circuit opens silently', async (t) => {
  const warnings = t.mock.method(process, 'emitWarning', () => {});
  const { pipeline, breaker } = circuit({ ...FRAGILE, onOpened: undefined });
  await pipeline.settle(fails);
  assert.deepEqual([breaker.state, warnings.mock.callCount()], ['open', 0]);
});
