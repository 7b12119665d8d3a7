import assert from 'node:assert/strict';
import test from 'node:test';
import {
  CircuitBreakerManualControl,
  ExecutionRejectedError,
  IsolatedCircuitError,
  ResiliencePipelineBuilder,
} from '@ylcnfrht/resilience';
import { FRAGILE, boom, circuit, fails, openCircuit, succeeds } from './support/circuit.mjs';
import { collected } from './support/collected.mjs';
import { hold, rejection, simulate } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';
import { listen } from './support/listen.mjs';

const MANUAL = { outcome: undefined, context: undefined, isManual: true };

test('isolated it refuses everything, until it is closed; what runs goes on', async () => {
  const manualControl = new CircuitBreakerManualControl();
  const { pipeline, breaker, told } = circuit({ manualControl });
  const running = hold(pipeline);
  assert.equal(manualControl.isIsolated, false);
  manualControl.isolate();
  assert.deepEqual([manualControl.isIsolated, breaker.state], [true, 'isolated']);
  const error = await rejection(pipeline.execute(() => assert.fail('must not run')));
  assert.ok(error instanceof IsolatedCircuitError && error instanceof ExecutionRejectedError);
  assert.deepEqual(
    [error.name, error.code, error.statusCode, error.retryAfter, error.strategyName],
    ['IsolatedCircuitError', 'CIRCUIT_ISOLATED', 503, undefined, 'CircuitBreaker'],
  );
  running.finish('done');
  assert.equal(await running.promise, 'done');
  manualControl.close();
  assert.deepEqual([manualControl.isIsolated, breaker.state], [false, 'closed']);
  assert.equal(await pipeline.execute(succeeds), 'fine');
  assert.deepEqual(told, [
    ['opened', { ...MANUAL, breakDuration: Infinity }],
    ['closed', MANUAL],
  ]);
  assertIdle();
});

test('telemetry tells what happens by hand, which belongs to no operation', () => {
  const manualControl = new CircuitBreakerManualControl();
  const { builder, events } = listen();
  builder.addCircuitBreaker({ manualControl, name: 'db' }).build();
  manualControl.isolate();
  manualControl.close();
  const event = { pipelineName: 'search', strategyName: 'db', operationKey: undefined };
  assert.deepEqual(events, [
    { name: 'OnCircuitOpened', severity: 'error', ...event, args: { ...MANUAL, breakDuration: Infinity } },
    { name: 'OnCircuitClosed', severity: 'information', ...event, args: MANUAL },
  ]);
});

test('isolating twice and closing twice is told once', () => {
  const manualControl = new CircuitBreakerManualControl();
  const { names } = circuit({ manualControl });
  manualControl.close();
  for (const how of ['isolate', 'isolate', 'close', 'close']) manualControl[how]();
  assert.deepEqual(names(), ['opened', 'closed']);
});

test('no time ends an isolation', async (t) => {
  simulate(t);
  const manualControl = new CircuitBreakerManualControl();
  const { pipeline, breaker } = circuit({ ...FRAGILE, manualControl });
  manualControl.isolate();
  t.mock.timers.tick(365 * 86_400_000);
  assert.equal(breaker.state, 'isolated');
  assert.equal((await rejection(pipeline.execute(succeeds))).code, 'CIRCUIT_ISOLATED');
});

test('an open and a half-open circuit can be isolated and closed by hand', async (t) => {
  simulate(t);
  for (const [elapsed, state] of [
    [0, 'open'],
    [1000, 'half-open'],
  ]) {
    for (const how of ['isolate', 'close']) {
      const manualControl = new CircuitBreakerManualControl();
      const { breaker, pipeline } = await openCircuit({ manualControl });
      t.mock.timers.tick(elapsed);
      assert.equal(breaker.state, state);
      manualControl[how]();
      assert.equal(breaker.state, how === 'close' ? 'closed' : 'isolated');
      manualControl.close();
      assert.equal(await pipeline.execute(succeeds), 'fine');
    }
  }
});

test('an execution of before a change by hand decides nothing, a probe neither', async (t) => {
  simulate(t);
  const manualControl = new CircuitBreakerManualControl();
  const { pipeline, breaker, names } = await openCircuit({ manualControl });
  t.mock.timers.tick(1000);
  const probe = hold(pipeline);
  manualControl.isolate();
  probe.finish();
  await probe.promise;
  assert.equal(breaker.state, 'isolated');
  manualControl.close();
  const running = hold(pipeline);
  manualControl.isolate();
  manualControl.close();
  running.fail(boom);
  await rejection(running.promise);
  assert.equal(breaker.state, 'closed');
  assert.deepEqual(names(), ['opened', 'half-opened', 'opened', 'closed', 'opened', 'closed']);
});

test('closing by hand forgets the counts', async () => {
  const manualControl = new CircuitBreakerManualControl();
  const { pipeline, breaker } = circuit({ consecutiveFailures: 2, manualControl });
  await pipeline.settle(fails);
  manualControl.isolate();
  manualControl.close();
  await pipeline.settle(fails);
  assert.equal(breaker.state, 'closed');
  await pipeline.settle(fails);
  assert.equal(breaker.state, 'open');
});

test('one control moves many breakers, also two of one pipeline and those that are built later', async () => {
  const manualControl = new CircuitBreakerManualControl();
  const first = circuit({ manualControl, name: 'CircuitBreaker' });
  const double = new ResiliencePipelineBuilder()
    .addCircuitBreaker({ manualControl, name: 'outer' })
    .addFallback({ fallbackValue: 1, shouldHandle: () => false })
    .addCircuitBreaker({ manualControl, name: 'inner' })
    .build();
  manualControl.isolate();
  const later = circuit({ manualControl });
  const breakers = [first.breaker, double.getStrategy('outer'), double.getStrategy('inner'), later.breaker];
  assert.deepEqual(
    breakers.map(({ state }) => state),
    Array(4).fill('isolated'),
  );
  assert.deepEqual(later.told, [['opened', { ...MANUAL, breakDuration: Infinity }]]);
  manualControl.close();
  assert.deepEqual(
    breakers.map(({ state }) => state),
    Array(4).fill('closed'),
  );
  assert.equal(await double.execute(succeeds), 'fine');
});

test('a control may begin isolated, and so do its breakers', async () => {
  const manualControl = new CircuitBreakerManualControl(true);
  const { pipeline, names } = circuit({ manualControl });
  assert.equal(manualControl.isIsolated, true);
  assert.equal((await rejection(pipeline.execute(succeeds))).code, 'CIRCUIT_ISOLATED');
  manualControl.close();
  assert.deepEqual(names(), ['opened', 'closed']);
  for (const wrong of [1, 'true', null, {}]) {
    assert.throws(() => new CircuitBreakerManualControl(wrong), {
      name: 'TypeError',
      message: /^isIsolated must be a boolean/,
    });
  }
});

test('a control may be used inside of the callbacks that it causes', () => {
  const manualControl = new CircuitBreakerManualControl();
  const order = [];
  const { breaker } = circuit({
    manualControl,
    onOpened: () => (order.push('opened'), manualControl.close()),
    onClosed: () => order.push('closed'),
  });
  manualControl.isolate();
  assert.deepEqual([order, breaker.state, manualControl.isIsolated], [['opened', 'closed'], 'closed', false]);
});

test('the last word counts: one that closes in onOpened closes all, and the other way round', () => {
  for (const [how, reply, state] of [
    ['isolate', 'close', 'closed'],
    ['close', 'isolate', 'isolated'],
  ]) {
    const manualControl = new CircuitBreakerManualControl(how === 'close');
    let answered = false;
    const answer = () => {
      if (answered) return;
      answered = true;
      manualControl[reply]();
    };
    const callback = how === 'isolate' ? 'onOpened' : 'onClosed';
    const breakers = Array.from({ length: 3 }, () => circuit({ manualControl, [callback]: answer }));
    manualControl[how]();
    assert.equal(manualControl.isIsolated, state === 'isolated');
    assert.deepEqual(
      breakers.map(({ breaker }) => breaker.state),
      [state, state, state],
    );
  }
});

test('a callback that throws at one breaker does not spare the next', async () => {
  const { builder, events } = listen();
  const manualControl = new CircuitBreakerManualControl();
  const throws = () => {
    throw boom;
  };
  builder.addCircuitBreaker({ manualControl, onOpened: throws }).build();
  const { breaker } = circuit({ manualControl });
  manualControl.isolate();
  assert.equal(breaker.state, 'isolated');
  assert.deepEqual(events.at(-1).args, { callback: 'onOpened', error: boom });
});

test('a control keeps no pipeline alive, and one that is gone does not trouble it', async () => {
  const manualControl = new CircuitBreakerManualControl();
  const told = [];
  const build = () =>
    new WeakRef(
      new ResiliencePipelineBuilder()
        .addCircuitBreaker({ manualControl, onOpened: () => told.push('gone') })
        .build(),
    );
  const { breaker } = circuit({ manualControl });
  assert.equal(await collected(build()), true);
  // The native side of the pipeline goes a turn after it.
  for (let round = 0; round < 5; round += 1) await collected(new WeakRef({}));
  manualControl.isolate();
  assert.equal(breaker.state, 'isolated');
  assert.deepEqual(told, []);
});

test('a control still moves the circuit of a disposed pipeline, which refuses as disposed', async () => {
  const manualControl = new CircuitBreakerManualControl();
  const { pipeline, breaker } = circuit({ manualControl });
  pipeline.dispose();
  manualControl.isolate();
  assert.equal(breaker.state, 'isolated');
  assert.equal((await rejection(pipeline.execute(succeeds))).code, 'PIPELINE_DISPOSED');
});

test('dispose lets executions of a circuit go on, whose ends change nothing for anyone', async (t) => {
  simulate(t);
  const { pipeline, breaker } = await openCircuit();
  t.mock.timers.tick(1000);
  const probe = hold(pipeline);
  pipeline.dispose();
  probe.finish('done');
  assert.equal(await probe.promise, 'done');
  assert.equal(breaker.state, 'closed');
  assertIdle();
});

test('controls and providers have to be such', () => {
  for (const option of ['manualControl', 'stateProvider']) {
    for (const wrong of [null, {}, true, Object.create(null), CircuitBreakerManualControl, 'x']) {
      assert.throws(() => circuit({ [option]: wrong }), {
        name: 'TypeError',
        message: new RegExp(`^${option} must be a Circuit`),
      });
    }
  }
});
