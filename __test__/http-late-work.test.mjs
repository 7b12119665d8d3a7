// What a handler has left behind, once its request has ended by a deadline or with its client.
import assert from 'node:assert/strict';
import { AsyncResource } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer } from 'node:http';
import test from 'node:test';
import { ResiliencePipelineBuilder, getResilienceContext } from '@ylcnfrht/resilience';
import { protect, withResilience } from '@ylcnfrht/resilience/http';
import { expressAdapters, forEachAdapter } from './support/http-adapters.mjs';
import { rawConnection, send as sendTo } from './support/http-client.mjs';
import { LATE, assertAnswer, deferred, listen, serve, turn, until } from './support/http-server.mjs';

const database = new ResiliencePipelineBuilder().addConcurrencyLimiter(5).addTimeout('1h').build();
/** Made inside of a request, as a pool is: runs functions in the stores of that. */
const leftBehind = () => {
  const resource = new AsyncResource('Left');
  return (fn) => resource.runInAsyncScope(fn);
};

forEachAdapter((adapter) => {
  const options = { timeout: 30, concurrency: { permitLimit: 2, queueLimit: 5 } };
  const isTold = !expressAdapters.includes(adapter);

  test('late work ends at once, and what it has left behind goes on for itself', async (t) => {
    const seen = deferred();
    const end = deferred();
    const { send } = await serve(t, adapter, {
      options,
      answers: {
        'GET /work': async () => {
          const run = leftBehind();
          await once(getResilienceContext().signal, 'abort');
          const late = await database.settle(() => assert.fail('must not charge'));
          seen.resolve({ run, late });
          await end.promise;
          return { text: 'too late' };
        },
      },
    });
    assertAnswer(await send('/work').response, 504, 'TIMEOUT', LATE);
    const { run, late } = await seen.promise;
    assert.equal(late.error.code, 'TIMEOUT');
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    assert.equal((await run(() => database.settle(() => 1))).ok, false);
    t.mock.timers.tick(29_000);
    assert.equal((await run(() => database.settle(() => 1))).ok, false);
    if (isTold) {
      t.mock.timers.tick(3_600_000);
      assert.equal((await run(() => database.settle(() => 1))).ok, false, 'its handler is still at work');
      end.resolve();
      await turn();
      await turn();
    } else {
      // Nothing tells of its end.
      t.mock.timers.tick(2_000);
    }
    assert.equal(await run(() => database.execute(() => 'fetched')), 'fetched');
    assert.equal(run(getResilienceContext).signal.aborted, true);
    end.resolve();
    t.mock.timers.reset();
  });

  test('what a handler has made serves later requests, although its client has left', async (t) => {
    let run;
    const contexts = [];
    const { send, port } = await serve(t, adapter, {
      options: { timeout: '5s', concurrency: { permitLimit: 2 } },
      answers: {
        'GET /first': async () => {
          run = leftBehind();
          contexts.push(getResilienceContext());
          await once(getResilienceContext().signal, 'abort');
          return { text: 'for nobody' };
        },
        // A client library that calls back in the context of whoever opened its connection.
        'GET /second': async () => ({ text: await run(() => database.execute(() => 'fetched')) }),
      },
    });
    const client = await rawConnection(port);
    client.get('/first');
    await until(() => contexts.length === 1);
    client.socket.destroy();
    await once(contexts[0].signal, 'abort');
    await turn();
    await turn();
    if (!isTold) {
      t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
      assert.equal((await run(() => database.settle(() => 1))).ok, false);
      t.mock.timers.tick(31_000);
    }
    assert.equal((await send('/second').response).text, 'fetched');
    t.mock.timers.reset();
  });

  test('requests to a server that was made inside of a request are no part of that', async (t) => {
    const made = deferred();
    const end = deferred();
    let count = 0;
    const { send } = await serve(t, adapter, {
      options,
      answers: {
        'GET /work': async () => {
          const inside = createServer(
            withResilience(async (_req, res) => {
              const { signal, remaining } = getResilienceContext();
              count += await database.execute(() => 1);
              res.end(JSON.stringify([signal.aborted, remaining > 1000]));
            }, { timeout: '5s', concurrency: { permitLimit: 1 } }),
          );
          const plain = createServer((_req, res) => res.end('plain'));
          protect(plain, { timeout: '5s', concurrency: { permitLimit: 1 } });
          for (const server of [inside, plain]) await once(server.listen(0, '127.0.0.1'), 'listening');
          made.resolve([inside, plain]);
          await end.promise;
          return { text: 'too late' };
        },
      },
    });
    const answer = send('/work').response;
    const servers = await made.promise;
    t.after(() => servers.forEach((server) => server.close()));
    assertAnswer(await answer, 504, 'TIMEOUT', LATE);
    const [inside, plain] = servers.map((server) => server.address().port);
    for (let round = 0; round < 2; round += 1) {
      assert.deepEqual((await sendTo(inside, '/').response).json, [false, true]);
      assert.equal((await sendTo(plain, '/').response).text, 'plain');
    }
    assert.equal(count, 2);
    end.resolve();
    await turn();
  });
});

test('all admissions of one request are parts of each other, behind whatever lies between them', async (t) => {
  const between = new ResiliencePipelineBuilder().addTimeout('1h').build();
  const outcome = deferred();
  const inner = withResilience(async () => {
    const { signal } = getResilienceContext();
    outcome.resolve(await once(signal, 'abort').then(() => signal.reason));
  }, { timeout: '5s' });
  const outer = withResilience(
    (req, res) => between.execute(() => inner(req, res), { properties: new Map() }),
    { timeout: 30 },
  );
  const server = await listen(t, outer, outer, inner);
  assertAnswer(await sendTo(server.address().port, '/').response, 504, 'TIMEOUT', LATE);
  assert.deepEqual([(await outcome.promise).code, (await outcome.promise).timeout], ['TIMEOUT', 30]);
});

test('a handler that has returned has no late work while its answer is on the way', async (t) => {
  let run;
  const listener = withResilience(async (_req, res) => {
    run = leftBehind();
    res.write('the beginning');
  }, { timeout: '5s' });
  const server = await listen(t, listener, listener);
  const client = await rawConnection(server.address().port);
  client.get('/work');
  await client.receive('the beginning', 1);
  const { signal } = run(getResilienceContext);
  client.socket.destroy();
  await once(signal, 'abort');
  assert.equal(await run(() => database.execute(() => 'fetched')), 'fetched');
});
