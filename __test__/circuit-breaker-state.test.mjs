import assert from 'node:assert/strict';
import test from 'node:test';
import {
  CircuitBreakerManualControl,
  CircuitBreakerStateProvider,
  ResiliencePipelineBuilder,
} from '@ylcnfrht/resilience';
import { FRAGILE, boom, circuit, fails, openCircuit, succeeds } from './support/circuit.mjs';
import { collected } from './support/collected.mjs';
import { rejection, simulate } from './support/hold.mjs';

test('a provider reads the state of its breaker, and closed before it has one', async (t) => {
  simulate(t);
  const stateProvider = new CircuitBreakerStateProvider();
  assert.equal(stateProvider.state, 'closed');
  const manualControl = new CircuitBreakerManualControl();
  const { pipeline } = circuit({ ...FRAGILE, stateProvider, manualControl });
  const states = [stateProvider.state];
  await pipeline.settle(fails);
  states.push(stateProvider.state);
  t.mock.timers.tick(1000);
  states.push(stateProvider.state);
  manualControl.isolate();
  states.push(stateProvider.state);
  assert.deepEqual(states, ['closed', 'open', 'half-open', 'isolated']);
  assert.throws(() => (stateProvider.state = 'closed'), TypeError);
});

test('a circuit can be read for as long as somebody holds its live form or its provider', async () => {
  const stateProvider = new CircuitBreakerStateProvider();
  const make = async (options) => {
    const { pipeline, breaker } = await openCircuit({ breakDuration: '1h', ...options });
    return { reference: new WeakRef(pipeline), breaker };
  };
  const [one, other] = [await make(), await make({ stateProvider })];
  other.breaker = undefined;
  assert.equal(await collected(one.reference), true);
  assert.equal(await collected(other.reference), true);
  for (let round = 0; round < 5; round += 1) await collected(new WeakRef({}));
  assert.deepEqual([one.breaker.state, stateProvider.state], ['open', 'open']);
  assert.ok(one.breaker.exportState().breakRemaining > 3_590_000);
});

test('a provider serves one breaker: the second build throws, and the first keeps it', async () => {
  const stateProvider = new CircuitBreakerStateProvider();
  const builder = new ResiliencePipelineBuilder().addCircuitBreaker({ ...FRAGILE, stateProvider });
  const pipeline = builder.build();
  assert.throws(() => builder.build(), {
    name: 'TypeError',
    message: /^stateProvider is attached to another/,
  });
  await pipeline.settle(fails);
  assert.equal(stateProvider.state, 'open');
});

test('an exported state is JSON: state, what is left of the break, and when', async (t) => {
  simulate(t);
  t.mock.timers.setTime(1_700_000_000_000);
  const manualControl = new CircuitBreakerManualControl();
  const { breaker } = await openCircuit({ breakDuration: '5s', manualControl });
  t.mock.timers.tick(1500);
  const exportedAt = 1_700_000_001_500;
  const saved = breaker.exportState();
  assert.deepEqual(saved, { state: 'open', breakRemaining: 3500, exportedAt });
  assert.deepEqual(JSON.parse(JSON.stringify(saved)), saved);
  t.mock.timers.tick(3500);
  const rest = { breakRemaining: 0, exportedAt: exportedAt + 3500 };
  assert.deepEqual(breaker.exportState(), { state: 'half-open', ...rest });
  manualControl.isolate();
  assert.deepEqual(breaker.exportState(), { state: 'isolated', ...rest });
  manualControl.close();
  assert.deepEqual(breaker.exportState(), { state: 'closed', ...rest });
});

for (const [gone, left] of [
  [0, 5000],
  [1, 4999],
  [4999, 1],
  [5000, 0],
  [1e9, 0],
  [-60_000, 5000],
]) {
  test(`restored ${gone} ms after the export, ${left} of 5000 ms are left of the break`, async (t) => {
    simulate(t);
    t.mock.timers.setTime(1e12);
    const saved = { state: 'open', breakRemaining: 5000, exportedAt: Date.now() - gone };
    // The breakDuration of its own counts from the next opening on.
    const { pipeline, breaker, told } = circuit(FRAGILE);
    breaker.restoreState(saved);
    if (left > 0) {
      assert.equal(breaker.state, 'open');
      assert.equal((await rejection(pipeline.execute(succeeds))).retryAfter, left);
      t.mock.timers.tick(left);
    }
    assert.equal(breaker.state, 'half-open');
    assert.deepEqual(told, [], 'a restored state is nobody’s news');
    assert.equal(await rejection(pipeline.execute(fails)), boom);
    assert.equal((await rejection(pipeline.execute(succeeds))).retryAfter, 1000);
  });
}

test('every state can be restored, into any state', async (t) => {
  simulate(t);
  const at = { breakRemaining: 500, exportedAt: 0 };
  const { pipeline, breaker, told } = circuit(FRAGILE);
  const states = ['open', 'isolated', 'half-open', 'closed', 'isolated', 'open', 'closed'];
  for (const state of states) {
    breaker.restoreState({ state, ...at });
    assert.equal(breaker.state, state);
    const { error } = await pipeline.settle(succeeds);
    const codes = { open: 'CIRCUIT_OPEN', isolated: 'CIRCUIT_ISOLATED' };
    assert.equal(error?.code, codes[state]);
  }
  assert.deepEqual(
    told.map(([what]) => what),
    ['half-opened', 'closed'],
  );
});

test('counts are not exported: a restored circuit begins anew', async () => {
  const from = circuit({ consecutiveFailures: 2 });
  await from.pipeline.settle(fails);
  const to = circuit({ consecutiveFailures: 2 });
  to.breaker.restoreState(from.breaker.exportState());
  await to.pipeline.settle(fails);
  assert.equal(to.breaker.state, 'closed');
});

test('what is no saved state is refused, and changes nothing', async () => {
  const { breaker } = await openCircuit({ breakDuration: '1h' });
  const saved = { state: 'closed', breakRemaining: 0, exportedAt: 0 };
  for (const [wrong, name, message] of [
    [undefined, 'TypeError', /options of restoreState/],
    [null, 'TypeError', /options of restoreState/],
    ['closed', 'TypeError', /options of restoreState/],
    [{}, 'TypeError', /^state must be one of/],
    [{ ...saved, state: 'Closed' }, 'RangeError', /^state must be one of/],
    [{ ...saved, state: 1 }, 'TypeError', /^state must be one of/],
    [{ ...saved, breakRemaining: undefined }, 'TypeError', /^breakRemaining/],
    [{ ...saved, breakRemaining: -1 }, 'RangeError', /^breakRemaining/],
    [{ ...saved, breakRemaining: NaN }, 'RangeError', /^breakRemaining/],
    [{ ...saved, breakRemaining: Infinity }, 'RangeError', /^breakRemaining/],
    [{ ...saved, breakRemaining: '5s' }, 'TypeError', /^breakRemaining/],
    [{ ...saved, exportedAt: new Date(0) }, 'TypeError', /^exportedAt/],
    [{ ...saved, exportedAt: -1 }, 'RangeError', /^exportedAt/],
    [{ ...saved, counts: [] }, 'TypeError', /no option 'counts'/],
  ]) {
    assert.throws(() => breaker.restoreState(wrong), { name, message });
    assert.equal(breaker.state, 'open');
  }
});
