// Middlewares that patch the response, before and after the admission.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { getResilienceSignal } from '@ylcnfrht/resilience';
import { compress } from './support/compress.mjs';
import { forEachAdapter } from './support/http-adapters.mjs';
import { rawConnection } from './support/http-client.mjs';
import { heldRoute } from './support/http-held-route.mjs';
import { LATE, assertAnswer, serve, turn, until } from './support/http-server.mjs';

forEachAdapter((adapter) => {
  test('a middleware that waits for the head hears of it once, also of a 504', async (t) => {
    const heads = [];
    const patchWriteHead = (_req, res, next) => {
      const { writeHead } = res;
      res.writeHead = (...args) => {
        res.writeHead = writeHead;
        heads.push(res.statusCode);
        res.setHeader('x-patched', '1');
        return Reflect.apply(res.writeHead, res, args);
      };
      next();
    };
    for (const place of ['before', 'after']) {
      const { send } = await serve(t, adapter, {
        [place]: [patchWriteHead],
        options: { timeout: 30 },
        routes: { 'GET /work': (_req, res) => res.end('work'), 'GET /slow': () => {} },
      });
      const { text, headers } = await send('/work').response;
      assert.deepEqual([text, headers['x-patched']], ['work', '1']);
      const late = await send('/slow').response;
      assertAnswer(late, 504, 'TIMEOUT', LATE);
      assert.equal(late.headers['x-patched'], '1');
      assert.deepEqual(heads.splice(0), [200, 504]);
    }
  });

  for (const [name, middleware, decoded] of [
    ['compresses', compress, 'gzip'],
    ['ends later', endLater, undefined],
  ]) {
    test(`a middleware that ${name} works before and after, for answers of every kind`, async (t) => {
      for (const place of ['before', 'after']) {
        const { send, limiter, resilience } = await serve(t, adapter, {
          [place]: [middleware],
          options: { timeout: 30, concurrency: { permitLimit: 1 } },
          routes: {
            'GET /work': (_req, res) => {
              res.write('wo');
              res.end('rk');
            },
            'GET /slow': async (_req, res) => {
              await once(getResilienceSignal(), 'abort');
              await turn();
              res.end('late');
            },
          },
        });
        const served = await send('/work').response;
        assert.deepEqual([served.status, served.headers['content-encoding']], [200, decoded]);
        const late = await send('/slow').response;
        assert.deepEqual([late.status, late.headers['content-encoding']], [504, decoded]);
        await until(() => limiter.inflight === 0 && resilience.swallowed <= 1);
      }
    });
  }

  for (const [what, requestOptions] of [
    ['rejected', { concurrency: { permitLimit: 1 } }],
    ['late', { timeout: 20, concurrency: { permitLimit: 1 } }],
  ]) {
    test(`a middleware that throws while a ${what} request is answered costs its connection`, async (t) => {
      const { held, routes } = heldRoute();
      const { port, limiter } = await serve(t, adapter, {
        before: [
          (_req, res, next) => {
            const { writeHead } = res;
            res.writeHead = (status, ...rest) => {
              if (status >= 500) throw new Error('a defect in a middleware');
              return Reflect.apply(writeHead, res, [status, ...rest]);
            };
            next();
          },
        ],
        options: requestOptions,
        routes,
      });
      const first = await rawConnection(port);
      first.get('/work');
      await until(() => held.length === 1);
      if (what === 'rejected') {
        const second = await rawConnection(port);
        second.get('/work');
        await once(second.socket, 'close');
        held[0].answer();
        await first.receive('/work');
        first.socket.destroy();
      } else {
        const closed = once(first.socket, 'close');
        assert.equal((await held[0].aborted).code, 'TIMEOUT');
        await closed;
      }
      assert.equal(limiter.inflight, 0);
    });
  }
});

/** Ends every response a turn later, as middlewares do that have to store something first. */
function endLater(_req, res, next) {
  const { end } = res;
  let ended = false;
  res.end = (...args) => {
    if (ended) return res;
    ended = true;
    setImmediate(() => Reflect.apply(end, res, args));
    return res;
  };
  next();
}
