// A request that the first gates turn away is answered before anything is made of it, and the answer does not tell.
import assert from 'node:assert/strict';
import test from 'node:test';
import { forEachAdapter } from './support/http-adapters.mjs';
import { heldRoute } from './support/http-held-route.mjs';
import { FULL, assertAnswer, serve, until } from './support/http-server.mjs';

const QUOTA_USED_UP = 'The client has used up its quota.';

/** What is not random in the headers of an answer. */
const comparable = ({ headers, status, text }) => {
  const { date, 'retry-after': retryAfter, connection, 'keep-alive': keepAlive, ...rest } = headers;
  return { status, text, rest, isSpread: retryAfter >= 1 && retryAfter <= 3 };
};

forEachAdapter((adapter) => {
  test('a refusal is the same whether somebody hears of it or not', async (t) => {
    const answers = [];
    for (const onRejected of [undefined, () => {}]) {
      const { held, routes } = heldRoute();
      const { send, resilience } = await serve(t, adapter, {
        options: { timeout: '5s', concurrency: { permitLimit: 1 }, onRejected },
        routes,
      });
      const { response } = send('/work');
      await until(() => held.length === 1);
      answers.push(comparable(await send('/work').response));
      assert.deepEqual({ ...resilience.rejected }, { BULKHEAD_FULL: { full: 1 } });
      held[0].answer();
      await response;
    }
    assert.equal(answers[0].isSpread, true);
    assert.deepEqual(answers[0], answers[1]);
  });

  test('what is heard of a refusal is the error of the gate, behind a quota as well', async (t) => {
    const heard = [];
    const { held, routes } = heldRoute();
    const { send, resilience } = await serve(t, adapter, {
      options: {
        timeout: '5s',
        concurrency: { permitLimit: 1 },
        rateLimit: { permitLimit: 2, window: '1h', key: () => 'one' },
        onRejected: ({ error }) => heard.push(error),
      },
      routes,
    });
    const { response } = send('/work');
    await until(() => held.length === 1);
    const full = await send('/work').response;
    assertAnswer(full, 503, 'BULKHEAD_FULL', FULL);
    // The permit of the quota is used, of the limiter none.
    assert.equal(full.headers['ratelimit-remaining'], '0');
    const usedUp = await send('/work').response;
    assert.deepEqual(usedUp.json, { statusCode: 429, error: 'RATE_LIMITED', message: QUOTA_USED_UP });
    assert.ok(usedUp.headers['retry-after'] > 3500);
    assert.deepEqual(
      heard.map((error) => [error.name, error.code, error.reason, error.strategyName, error.pipelineName]),
      [
        ['BulkheadRejectedError', 'BULKHEAD_FULL', 'full', 'ConcurrencyLimiter', 'http'],
        ['RateLimiterRejectedError', 'RATE_LIMITED', 'full', 'RateLimiter', 'http'],
      ],
    );
    assert.deepEqual([heard[0].active, heard[0].queued, heard[0].retryAfter], [1, 0, undefined]);
    assert.ok(heard[1].retryAfter > 3_500_000 && heard[1].retryAfter <= 3_600_000, String(heard[1].retryAfter));
    assert.deepEqual({ ...resilience.rejected }, { BULKHEAD_FULL: { full: 1 }, RATE_LIMITED: { full: 1 } });
    held[0].answer();
    await response;
  });

  test('a key that throws is the framework’s to answer, and takes no permit', async (t) => {
    let fails = true;
    const { send, limiter } = await serve(t, adapter, {
      options: {
        concurrency: { permitLimit: 1 },
        rateLimit: {
          permitLimit: 9,
          window: '1h',
          key() {
            if (fails) throw new Error('no key');
            return 'one';
          },
        },
      },
      routes: { 'GET /work': (_req, res) => res.end('done') },
    });
    assert.equal((await send('/work').response).status, 500);
    assert.deepEqual([limiter.inflight, limiter.queued], [0, 0]);
    fails = false;
    assert.equal((await send('/work').response).status, 200);
    await until(() => limiter.inflight === 0);
  });
});
