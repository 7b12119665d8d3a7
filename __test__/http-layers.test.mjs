// An admission around a framework, and another one inside of it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { getResilienceContext } from '@ylcnfrht/resilience';
import { HTTP_REQUEST, withResilience } from '@ylcnfrht/resilience/http';
import { forEachAdapter } from './support/http-adapters.mjs';
import { send } from './support/http-client.mjs';
import { nativeHeldRoute } from './support/http-native-route.mjs';
import { FULL, LATE, assertAnswer, listen, turn, until } from './support/http-server.mjs';

forEachAdapter((adapter) => {
  /** The port of a server with one admission around the framework and one inside. */
  async function serve(t, around, inside, answers) {
    const { listener, resilience } = await adapter.create({ options: inside, answers });
    const outer = withResilience(listener, around);
    const { port } = (await listen(t, outer, outer, resilience)).address();
    const inflight = () =>
      [outer, resilience].map(({ pipeline }) => pipeline.getStrategy('ConcurrencyLimiter').inflight);
    return { ask: (options) => send(port, '/work', options).response, outer, inner: resilience, inflight };
  }

  const window = '1h';

  test('each knows the request by its own name, and both quotas are told', async (t) => {
    const { ask } = await serve(
      t,
      { name: 'server', rateLimit: { permitLimit: 9, window } },
      { name: 'app', rateLimit: { permitLimit: 5, window }, deadlineHeader: 'x-within' },
      {
        'GET /work': async ({ req, subject }) => {
          const context = getResilienceContext();
          await turn();
          return {
            json: [
              context.properties.get(HTTP_REQUEST) === subject,
              getResilienceContext(subject) === context,
              getResilienceContext(req) === context,
            ],
          };
        },
      },
    );
    const { json, headers } = await ask({ headers: { 'x-within': '5000' } });
    assert.deepEqual(json, [true, true, true]);
    assert.equal(headers['ratelimit-policy'], '"server";q=9;w=3600, "app";q=5;w=3600');
  });

  test('the inner one refuses, or is late, and both permits come back', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { ask, inflight } = await serve(
      t,
      { timeout: '5s', concurrency: { permitLimit: 2 } },
      { timeout: 300, concurrency: { permitLimit: 1 } },
      answers,
    );
    const first = ask();
    await until(() => held.length === 1);
    assertAnswer(await ask(), 503, 'BULKHEAD_FULL', FULL);
    await until(() => inflight()[0] === 1);
    assertAnswer(await first, 504, 'TIMEOUT', LATE);
    await until(() => inflight().every((count) => count === 0));
    held[0].answer({ text: 'late' });
  });

  test('a connection that was taken over and ends is no answer to the inner one', async (t) => {
    const held = [];
    const { listener, resilience } = await adapter.create({
      options: { timeout: '1h' },
      routes: { 'GET /work': (req, res) => void held.push({ req, res }) },
    });
    const outer = withResilience(listener, { timeout: '1h' });
    const { port } = (await listen(t, outer, outer, resilience)).address();
    const { request } = send(port, '/work');
    await until(() => held.length === 1);
    const [{ req, res }] = held;
    const { socket } = req;
    res.detachSocket(socket);
    const closed = once(socket, 'close');
    request.destroy();
    await closed;
    assert.deepEqual([res.statusCode, res.headersSent, res.writableEnded], [200, false, false]);
    assert.deepEqual([outer.swallowed, resilience.swallowed], [0, 0]);
    // Some frameworks wait for it.
    res.emit('close');
  });

  test('the outer one is late, and the handler of the framework is aborted', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { ask, inflight } = await serve(
      t,
      { timeout: 30, concurrency: { permitLimit: 2 } },
      { timeout: '5s', concurrency: { permitLimit: 1 } },
      answers,
    );
    assertAnswer(await ask(), 504, 'TIMEOUT', LATE);
    assert.equal((await held[0].aborted).timeout, 30);
    await until(() => inflight().every((count) => count === 0));
    held[0].answer({ text: 'late' });
    await turn();
  });
});
