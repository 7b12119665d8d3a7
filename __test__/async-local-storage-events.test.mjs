// What a timer, or the release of another execution, brings about is told in the AsyncLocalStorage stores of the
// caller whose execution it is about.

import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { withResilience } from '@ylcnfrht/resilience/http';
import { hold, rejection, simulate, turn } from './support/hold.mjs';

const user = new AsyncLocalStorage();
const never = () => new Promise(() => {});
const unique = (seen) => [...new Set(seen.map(([what, store]) => `${what}: ${store}`))].sort();

/** The names that the cases below listen to. */
const EVENTS = ['OnTimeout', 'OnRateLimiterRejected', 'OnCircuitOpened', 'OnCircuitHalfOpened', 'OnCircuitClosed'];

for (const context of ['ambient', 'explicit']) {
  for (const by of ['a listener', 'diagnostics_channel', 'callbacks']) {
    /** A builder and what it told, with the stores of that moment. */
    const prepare = (t) => {
      simulate(t);
      const seen = [];
      const note = (what) => () => void seen.push([what, user.getStore()]);
      const telemetry = by === 'a listener' ? ({ name }) => EVENTS.includes(name) && note(name)() : undefined;
      if (by === 'diagnostics_channel') {
        for (const name of EVENTS) {
          const hear = note(name);
          subscribe(`ylcnfrht.resilience.${name}`, hear);
          t.after(() => unsubscribe(`ylcnfrht.resilience.${name}`, hear));
        }
      }
      const heard = by === 'callbacks' ? note : () => undefined;
      return { builder: new ResiliencePipelineBuilder({ context, telemetry }), seen, heard };
    };
    const named = (event, option) => (by === 'callbacks' ? option : event);

    test(`a deadline is told in the stores of its caller: ${by}, ${context}`, async (t) => {
      const { builder, seen, heard } = prepare(t);
      const pipeline = builder
        .addCircuitBreaker({
          consecutiveFailures: 1,
          onOpened: heard('onOpened'),
          shouldHandle: by === 'callbacks' ? ({ outcome }) => (heard('shouldHandle')(), !outcome.ok) : undefined,
        })
        .addAdaptiveConcurrencyLimiter({
          shouldDrop: by === 'callbacks' ? () => (heard('shouldDrop')(), true) : undefined,
        })
        .addTimeout({ timeout: 30, onTimeout: heard('onTimeout') })
        .build();
      const late = user.run('caller', () => rejection(pipeline.execute(never)));
      user.run('the timer', () => t.mock.timers.tick(30));
      assert.equal((await late).code, 'TIMEOUT');
      const expected = [named('OnTimeout', 'onTimeout'), named('OnCircuitOpened', 'onOpened')];
      if (by === 'callbacks') expected.push('shouldDrop', 'shouldHandle');
      assert.deepEqual(unique(seen), expected.map((what) => `${what}: caller`).sort());
    });

    test(`a deadline further out is told further in in the stores of its caller: ${by}, ${context}`, async (t) => {
      const { builder, seen, heard } = prepare(t);
      const inner = builder
        .addCircuitBreaker({ consecutiveFailures: 1, onOpened: heard('onOpened') })
        .addAdaptiveConcurrencyLimiter()
        .build();
      const outer = new ResiliencePipelineBuilder({ context }).addTimeout(30).build();
      const late = user.run('outer', () =>
        rejection(outer.execute((own) => user.run('inner', () => inner.execute(never, { signal: own.signal })))),
      );
      user.run('the timer', () => t.mock.timers.tick(30));
      assert.equal((await late).code, 'TIMEOUT');
      await turn();
      if (by !== 'diagnostics_channel') {
        assert.deepEqual(unique(seen), [`${named('OnCircuitOpened', 'onOpened')}: inner`]);
      } else {
        assert.ok(seen.some(([what, store]) => what === 'OnCircuitOpened' && store === 'inner'));
      }
    });

    test(`a wait that ends by its time is told in the stores of its caller: ${by}, ${context}`, async (t) => {
      const { builder, seen, heard } = prepare(t);
      const pipeline = builder
        .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 1, queueTimeout: 30, onRejected: heard('onRejected') })
        .build();
      const running = user.run('holder', () => hold(pipeline));
      const waiting = user.run('waiter', () => rejection(pipeline.execute(never)));
      user.run('the timer', () => t.mock.timers.tick(30));
      assert.equal((await waiting).reason, 'queue-timeout');
      assert.deepEqual(unique(seen), [`${named('OnRateLimiterRejected', 'onRejected')}: waiter`]);
      running.finish();
      await running.promise;
    });

    test(`a wait that another ends is told in the stores of its caller: ${by}, ${context}`, async (t) => {
      const { builder, seen, heard } = prepare(t);
      const pipeline = builder
        .addConcurrencyLimiter({
          permitLimit: 1,
          queueLimit: 1,
          overflow: 'drop-oldest',
          onRejected: heard('onRejected'),
        })
        .build();
      const running = user.run('holder', () => hold(pipeline));
      const dropped = user.run('waiter', () => rejection(pipeline.execute(never)));
      const next = user.run('another', () => pipeline.execute(() => 'ok'));
      assert.equal((await dropped).reason, 'dropped');
      assert.deepEqual(unique(seen), [`${named('OnRateLimiterRejected', 'onRejected')}: waiter`]);
      running.finish();
      assert.equal(await next, 'ok');
    });

    test(`a probe that another's release lets in is told in the stores of its caller: ${by}, ${context}`, async (t) => {
      const { builder, seen, heard } = prepare(t);
      const pipeline = builder
        .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 1 })
        .addCircuitBreaker({
          consecutiveFailures: 1,
          breakDuration: 20,
          onHalfOpened: heard('onHalfOpened'),
          onClosed: heard('onClosed'),
        })
        .build();
      const running = user.run('holder', () => hold(pipeline));
      const waiting = user.run('prober', () => pipeline.execute(() => 'ok'));
      await turn();
      // The holder's failure opens the circuit, and lets the waiter in when the break is over.
      seen.length = 0;
      const breaker = pipeline.getStrategy('CircuitBreaker');
      breaker.restoreState({ state: 'open', breakRemaining: 20, exportedAt: Date.now() });
      t.mock.timers.tick(20);
      user.run('holder', () => running.finish());
      assert.equal(await waiting, 'ok');
      const expected = [named('OnCircuitHalfOpened', 'onHalfOpened'), named('OnCircuitClosed', 'onClosed')];
      assert.deepEqual(unique(seen), expected.map((what) => `${what}: prober`).sort());
    });
  }
}

test('a deadline of an inbound request is told in the stores of the request', async (t) => {
  const seen = [];
  const server = createServer();
  const handler = withResilience(() => {}, { timeout: 20, onRejected: () => void seen.push(user.getStore()) });
  server.on('request', (request, response) => user.run(request.url, () => handler(request, response)));
  await once(server.listen(0), 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${server.address().port}`;
  const statuses = await Promise.all(['/a', '/b'].map(async (path) => (await fetch(url + path)).status));
  assert.deepEqual([statuses, seen.sort()], [[504, 504], ['/a', '/b']]);
});
