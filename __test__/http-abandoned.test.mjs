// Handlers that run on although their client has left, or was answered in their place, in every framework.
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import { getResilienceSignal } from '@ylcnfrht/resilience';
import { http1Adapters, forEachAdapter } from './support/http-adapters.mjs';
import { nativeHeldRoute } from './support/http-native-route.mjs';
import { rawConnection } from './support/http-client.mjs';
import { serve, turn, until } from './support/http-server.mjs';

const warnings = [];
process.on('warning', ({ message }) => warnings.push(message));

/** What is told of abandoned handlers while the test runs. */
function listenToAbandoned(t) {
  const told = [];
  const listener = (event) => told.push(event);
  subscribe('ylcnfrht.resilience.OnAbandoned', listener);
  t.after(() => unsubscribe('ylcnfrht.resilience.OnAbandoned', listener));
  return told;
}

forEachAdapter((adapter) => {
  test('handlers whose clients have left are counted until they end', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const options = { concurrency: { permitLimit: 3 } };
    const { port, resilience, limiter } = await serve(t, adapter, { options, answers });
    const told = listenToAbandoned(t);
    for (let wave = 1; wave <= 3; wave++) {
      const connections = await Promise.all([1, 2, 3].map(() => rawConnection(port)));
      for (const connection of connections) connection.get('/work');
      await until(() => held.length === 3 * wave);
      for (const { socket } of connections) socket.destroy();
      await until(() => limiter.inflight === 0);
      assert.deepEqual([resilience.abandoned, limiter.abandoned], [3 * wave, 3 * wave]);
    }
    await until(() => told.length === 9);
    assert.deepEqual([told[0].args.reason.name, told[8].args.abandoned], ['AbortError', 9]);
    for (const { answer } of held.slice(1)) answer({ text: 'late' });
    await until(() => resilience.abandoned === 1);
    assert.equal(limiter.abandoned, 1);
    held[0].answer({ text: 'late' });
    await until(() => resilience.abandoned === 0);
    assert.equal(limiter.abandoned, 0);
    assert.throws(() => {
      resilience.abandoned = 1;
    }, TypeError);
  });

  test('handlers whose deadline has passed are counted until they end', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const options = { concurrency: { permitLimit: 3 }, timeout: 20 };
    const { send, resilience, limiter } = await serve(t, adapter, { options, answers });
    const told = listenToAbandoned(t);
    const timeout = resilience.pipeline.getStrategy('Timeout');
    assert.equal((await send('/work').response).status, 504);
    await until(() => limiter.inflight === 0);
    assert.deepEqual([resilience.abandoned, limiter.abandoned, timeout.abandoned], [1, 1, 1]);
    await until(() => told.length === 1);
    const [{ severity, pipelineName, args }] = told;
    assert.deepEqual([severity, pipelineName, args.reason.code], ['warning', 'http', 'TIMEOUT']);
    assert.equal(told[0].args.abandoned, 1);
    held[0].answer({ text: 'late' });
    await until(() => resilience.abandoned === 0);
    assert.deepEqual([limiter.abandoned, timeout.abandoned], [0, 0]);
  });

  test('a handler that heeds its signal is not among them', async (t) => {
    const ended = [];
    const answers = {
      'GET /work': async () => {
        const signal = getResilienceSignal();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        ended.push(signal);
        return { text: 'late' };
      },
    };
    const { send, resilience } = await serve(t, adapter, { options: { timeout: 20 }, answers });
    assert.equal((await send('/work').response).status, 504);
    await until(() => ended.length === 1 && resilience.abandoned === 0);
  });

  test('requests that are answered in time leave nothing behind', async (t) => {
    const answers = { 'GET /work': async () => ({ text: 'in time' }) };
    const options = { concurrency: { permitLimit: 3 }, timeout: '5s' };
    const { send, resilience, limiter } = await serve(t, adapter, { options, answers });
    for (let index = 0; index < 5; index++) assert.equal((await send('/work').response).status, 200);
    await turn();
    assert.deepEqual([resilience.abandoned, limiter.abandoned], [0, 0]);
  });
}, http1Adapters);

test('one process warning tells of more than the limit lets in', () => {
  const told = warnings.filter((message) => message.includes('run on although'));
  assert.equal(told.length, 1);
  assert.match(told[0], /^\d+ handlers of http run on .*getResilienceSignal/);
});
