// Several requests on one connection that do not wait for each other's responses.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { forEachAdapter } from './support/http-adapters.mjs';
import { rawConnection } from './support/http-client.mjs';
import { assertDisconnected, countsAtClose, heldRoute } from './support/http-held-route.mjs';
import { serve, until } from './support/http-server.mjs';

forEachAdapter((adapter) => {
  const options = { timeout: '5s', concurrency: { permitLimit: 1, queueLimit: 2 } };

  test('pipelined requests on one connection are served in order', async (t) => {
    const { held, routes } = heldRoute();
    const { port, limiter } = await serve(t, adapter, { options, routes });
    const client = await rawConnection(port);
    client.get('/work?1');
    client.get('/work?2');
    await until(() => held.length === 1 && limiter.queued === 1);
    held[0].answer();
    await until(() => held.length === 2);
    held[1].answer();
    const received = await client.receive('HTTP/1.1 200 OK', 2).then(() => client.receive('/work?2'));
    assert.ok(received.indexOf('/work?1') < received.indexOf('/work?2'));
    client.socket.destroy();
  });

  test('a pipelined request whose permit the one before it waits for', async (t) => {
    const { held, routes } = heldRoute();
    const pipeline = new ResiliencePipelineBuilder()
      .addConcurrencyLimiter({
        permitLimit: 1,
        queueLimit: 2,
        priority: ({ properties }) => adapter.requestOf([...properties.values()][0]).url.length,
      })
      .build();
    const { port, send, limiter } = await serve(t, adapter, {
      options: { pipeline },
      routes,
    });
    const running = send('/work');
    await until(() => held.length === 1);
    const client = await rawConnection(port);
    client.get('/work?unimportant');
    client.get('/work?2');
    await until(() => limiter.queued === 2);
    held[0].answer();
    await until(() => held.length === 2);
    held[1].answer();
    await until(() => held.length === 3);
    held[2].answer();
    const received = await client.receive('/work?2');
    assert.ok(received.indexOf('/work?unimportant') < received.indexOf('/work?2'));
    assert.equal((await running.response).status, 200);
    client.socket.destroy();
  });

  test('a client that leaves takes all of its pipelined requests along', async (t) => {
    const { held, routes } = heldRoute();
    const { server, port, limiter } = await serve(t, adapter, {
      options: { timeout: '5s', concurrency: { permitLimit: 2, queueLimit: 2 } },
      routes,
    });
    const counts = countsAtClose(server, 0, () => [limiter.inflight, limiter.queued]);
    const client = await rawConnection(port);
    for (let index = 0; index < 4; index++) client.get('/work');
    await until(() => held.length === 2 && limiter.queued === 2);
    client.socket.destroy();
    assert.deepEqual(await counts, [0, 0]);
    for (const { aborted } of held) assertDisconnected(await aborted);
    assert.equal(held.length, 2);
  });
});
