// Applications keep things of their own on requests and responses, under any name.
import assert from 'node:assert/strict';
import test from 'node:test';
import { getResilienceContext } from '@ylcnfrht/resilience';
import { protect } from '@ylcnfrht/resilience/http';
import { allAdapters, forEachAdapter } from './support/http-adapters.mjs';
import { nativeHeldRoute } from './support/http-native-route.mjs';
import { FULL, LATE, assertAnswer, serve, until } from './support/http-server.mjs';

/** Values that fail as soon as they are taken for a request, a response, a stream or a socket. */
const values = [null, 'text', {}];
const NAMES = ['raw', 'req', 'stream', 'env', 'incoming', 'outgoing', 'request', 'ctx', 'connectionId', 'upgraded'];

forEachAdapter((adapter) => {
  const isHttp2 = adapter.createServer !== undefined;

  /** Sets each name that is free to be set: of what is Node's or the framework's own, nothing. */
  const decorate = (target, value) => {
    for (const name of NAMES) {
      if (name in target && target[name] !== undefined) continue;
      if (isHttp2 && (name === 'stream' || name === 'req')) continue;
      target[name] = name === 'env' ? { incoming: value, outgoing: value } : value;
    }
  };

  for (const value of values) {
    test(`properties of the application's own such as ${JSON.stringify(value)} change nothing`, async (t) => {
      const { held, answers } = nativeHeldRoute();
      const { send, limiter, server } = await serve(t, adapter, {
        options: {
          timeout: { timeout: '5s', body: true },
          concurrency: { permitLimit: 1 },
          rateLimit: { permitLimit: 100, window: '1h' },
          deadlineHeader: 'x-within',
          skip: (subject) => {
            decorate(subject, value);
            return false;
          },
        },
        before: [
          (req, res, next) => {
            decorate(req, value);
            decorate(res, value);
            next();
          },
        ],
        answers,
      });
      protect(server, { rateLimit: { permitLimit: 100, window: '1h' } });
      const first = send('/work');
      await until(() => held.length === 1);
      const [{ req, subject, context, answer }] = held;
      assert.equal(getResilienceContext(req), context);
      assert.equal(getResilienceContext(subject), context);
      assert.equal(limiter.inflight, 1);
      assertAnswer(await send('/work').response, 503, 'BULKHEAD_FULL', FULL);
      answer({ text: 'served' });
      const { status, text, headers } = await first.response;
      assert.deepEqual([status, text], [200, 'served']);
      assert.equal(headers['ratelimit-policy'].split(',').length, 2);
      await until(() => limiter.inflight === 0);
      assertAnswer(await send('/work', { headers: { 'x-within': '20' } }).response, 504, 'TIMEOUT', LATE);
      held[1].answer({ text: 'late' });
    });
  }

  test("a request that stands on another's is not taken for it", async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { send } = await serve(t, adapter, { options: { concurrency: { permitLimit: 2 } }, answers });
    const first = send('/work');
    await until(() => held.length === 1);
    const { req, answer } = held[0];
    for (const other of [{ raw: req }, { req }, { env: { incoming: req } }, { stream: req }, {}]) {
      assert.equal(getResilienceContext(other), undefined);
    }
    answer({ text: 'served' });
    await first.response;
  });
}, allAdapters);
