// Requests and responses that are not Node's: of serverless adapters, of mocks, of engines with stubs.
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { IncomingMessage, ServerResponse, createServer } from 'node:http';
import { describe, mock, test } from 'node:test';
import { getResilienceContext } from '@ylcnfrht/resilience';
import {
  fastifyResilience,
  honoResilience,
  koaResilience,
  protect,
  resilienceMiddleware,
  withResilience,
} from '@ylcnfrht/resilience/http';
import { deferred, until } from './support/http-server.mjs';

const uncaught = [];
process.on('uncaughtException', (error) => uncaught.push(error));
process.on('unhandledRejection', (error) => uncaught.push(error));

/** A function that takes `(req, res, handler, failed)` through an adapter with options. */
const adapters = {
  async Express(options) {
    const middleware = resilienceMiddleware(options);
    const take = (req, res, handler, failed) =>
      middleware(req, res, (error) => (error === undefined ? handler() : failed(error)));
    return { take, pipeline: middleware.pipeline };
  },
  async Fastify(options) {
    const hooks = {};
    const fastify = {
      addHook: (name, hook) => (hooks[name] = hook),
      hasDecorator: () => false,
      decorate: (name, value) => (fastify[name] = value),
    };
    await fastifyResilience(fastify, options);
    const take = (req, res, handler, failed) => {
      const reply = { raw: res, getHeaders: () => ({ 'x-own': '1' }), hijack() {} };
      const request = { raw: req, ip: '127.0.0.1' };
      hooks.onRequest(request, reply, (error) => (error === undefined ? handler() : failed(error)));
    };
    return { take, pipeline: fastify.resilience.pipeline };
  },
  async Koa(options) {
    const middleware = koaResilience(options);
    const take = (req, res, handler, failed) => {
      middleware({ req, res, ip: '127.0.0.1' }, async () => handler()).catch(failed);
    };
    return { take, pipeline: middleware.pipeline };
  },
  async Hono(options) {
    const middleware = honoResilience(options);
    const take = (req, res, handler, failed) => {
      const c = { env: { incoming: req, outgoing: res }, res: { headers: new Headers() } };
      middleware(c, async () => handler()).catch(failed);
    };
    return { take, pipeline: middleware.pipeline };
  },
  async 'node:http'(options) {
    const handlers = new Map();
    const listener = withResilience((req) => handlers.get(req)(), options);
    const take = (req, res, handler, failed) => {
      handlers.set(req, handler);
      warnings.once('warning', failed);
      listener(req, res);
    };
    return { take, pipeline: listener.pipeline };
  },
  async protect(options) {
    const handlers = new Map();
    const server = createServer((req) => handlers.get(req)());
    const { pipeline } = protect(server, options);
    const take = (req, res, handler, failed) => {
      handlers.set(req, handler);
      warnings.once('warning', failed);
      server.emit('request', req, res);
    };
    return { take, pipeline };
  },
};
const warnings = new EventEmitter();
process.on('warning', (warning) => warnings.emit('warning', warning));

const HEADERS = { host: 'test', 'content-length': '100000' };

/** What is there of a request and its response, and the calls of the response's original `end`. */
const kinds = {
  'plain objects': () => {
    const res = { statusCode: 200, headers: {}, setHeader: (name, value) => (res.headers[name] = value) };
    const end = mock.fn();
    const socket = { remoteAddress: '127.0.0.1' };
    return { req: { method: 'POST', url: '/', headers: HEADERS, socket }, res: Object.assign(res, { end }), end };
  },
  'nothing but an end': () => {
    const end = mock.fn();
    return { req: {}, res: { end }, end };
  },
  'frozen requests': () => {
    const end = mock.fn();
    return { req: Object.freeze({ socket: Object.freeze({}) }), res: { end }, end };
  },
  'emitters that do nothing': () => {
    const none = Object.fromEntries(
      ['on', 'once', 'emit', 'listeners', 'prependListener', 'removeListener'].map((name) => [name, () => {}]),
    );
    const end = mock.fn();
    return { req: { ...none, method: 'GET', headers: {}, socket: { ...none } }, res: { ...none, end }, end };
  },
  'stubs that emit': () => {
    const end = mock.fn(() => res.emit('finish'));
    const res = Object.assign(new EventEmitter(), { end, setHeader() {}, removeHeader() {}, writeHead() {} });
    return { req: Object.assign(new EventEmitter(), { headers: {}, method: 'GET' }), res, end };
  },
  "Node's on a socket that is none": () => {
    const nothing = Function.prototype;
    const req = new IncomingMessage({ encrypted: true, readable: false, destroy: nothing, end: nothing });
    Object.assign(req, { method: 'POST', url: '/', headers: HEADERS, httpVersionMajor: 1, httpVersionMinor: 1 });
    const res = new ServerResponse(req);
    const socket = { _writableState: {}, writable: true, write: (_data, _encoding, done) => done?.() };
    for (const name of ['on', 'removeListener', 'destroy', 'cork', 'uncork']) socket[name] = nothing;
    res.assignSocket(socket);
    const end = mock.method(res, 'end').mock;
    return { req, res, end: { mock: end } };
  },
};

const turn = () => new Promise(setImmediate);

for (const [name, make] of Object.entries(adapters)) {
  describe(name, { timeout: 20_000 }, () => {
    for (const [kind, makeUp] of Object.entries(kinds)) {
      for (const timeout of [undefined, '5s']) {
        test(`${kind}: served and refused, with ${timeout ?? 'no'} deadline`, async () => {
          const { take, pipeline } = await make({
            timeout,
            concurrency: { permitLimit: 1 },
            rateLimit: { permitLimit: 10, window: '1h' },
            deadlineHeader: 'x-within',
          });
          const limiter = pipeline.getStrategy('ConcurrencyLimiter');
          const failed = mock.fn();
          const first = makeUp();
          const started = deferred();
          take(first.req, first.res, () => started.resolve(getResilienceContext(first.req)), failed);
          const context = await started.promise;
          assert.equal(context, getResilienceContext(first.req));
          assert.notEqual(context, undefined);
          assert.equal(limiter.inflight, 1);

          const second = makeUp();
          take(second.req, second.res, () => assert.fail('refused'), failed);
          await until(() => second.end.mock.callCount() > 0);
          assert.equal(second.res.statusCode, 503);
          assert.equal(JSON.parse(second.end.mock.calls[0].arguments[0]).error, 'BULKHEAD_FULL');

          first.res.end('served');
          assert.equal(limiter.inflight, 0);
          assert.equal(context.signal.aborted, false);
          assert.equal(first.end.mock.calls[0].arguments[0], 'served');
          const third = makeUp();
          take(third.req, third.res, () => third.res.end('next'), failed);
          await until(() => third.end.mock.callCount() > 0);
          await until(() => limiter.inflight === 0);
          assert.equal(failed.mock.callCount(), 0);
          warnings.removeAllListeners();
        });
      }

      test(`${kind}: late`, async () => {
        const { take, pipeline } = await make({ timeout: 20, concurrency: { permitLimit: 1 } });
        const failed = mock.fn();
        const { req, res, end } = makeUp();
        const aborted = deferred();
        take(
          req,
          res,
          () => {
            getResilienceContext().signal.addEventListener('abort', aborted.resolve);
          },
          failed,
        );
        await aborted.promise;
        assert.equal(res.statusCode, 504);
        assert.equal(end.mock.callCount(), 1);
        assert.equal(JSON.parse(end.mock.calls[0].arguments[0]).error, 'TIMEOUT');
        assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 0);
        res.end('late');
        await turn();
        assert.equal(end.mock.callCount(), 1, 'what is written later has no effect');
        assert.equal(failed.mock.callCount(), 0);
        warnings.removeAllListeners();
      });
    }

    for (const [what, req, res, message] of [
      [
        'nothing tells the end',
        {},
        { json() {} },
        /^the response of a request must be an emitter, or have a function /,
      ],
      ['the end cannot be told', {}, Object.freeze({ end() {} }), /^the response of a request must be an emitter, or/],
      ['there is no response', {}, undefined, /^the response must be an object, not undefined|^c\.env of honoRes/],
      ['there is no request', undefined, { end() {} }, /^the request must be an object, not und|^c\.env of honoRes/],
    ]) {
      test(`if ${what}, the request fails with an error that says so`, async () => {
        const { take, pipeline } = await make({ timeout: 20, concurrency: { permitLimit: 1 } });
        const failed = deferred();
        take(req, res, () => assert.fail('started'), failed.resolve);
        const error = await failed.promise;
        assert.equal(error.name, 'TypeError');
        assert.match(error.message, message);
        assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 0);
      });
    }

    test('a response that can be ended by nobody has its permit back at its deadline', async () => {
      const { take, pipeline } = await make({ timeout: 20, concurrency: { permitLimit: 1 } });
      const res = new EventEmitter();
      const warned = once(process, 'warning');
      take({ headers: {} }, res, () => {}, () => {});
      const [{ message }] = await warned;
      assert.match(message, /^the response of a request must be one with a function end/);
      assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 0);
      warnings.removeAllListeners();
    });

    test('a response that closes without an end was left by its client', async () => {
      const { take, pipeline } = await make({ concurrency: { permitLimit: 1 } });
      const res = Object.assign(new EventEmitter(), { end() {} });
      const aborted = deferred();
      const handler = () => getResilienceContext().signal.addEventListener('abort', aborted.resolve);
      take({ headers: {} }, res, handler, () => {});
      await until(() => pipeline.getStrategy('ConcurrencyLimiter').inflight === 1);
      res.emit('close');
      await aborted.promise;
      assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 0);
      warnings.removeAllListeners();
    });
  });
}

for (const end of ['close', 'destroy']) {
  test(`a made-up response that ends by ${end} is answered by none of several middlewares`, async () => {
    const options = { timeout: '5s', concurrency: { permitLimit: 1 } };
    const ends = mock.fn();
    const res = Object.assign(new EventEmitter(), { end: ends, destroy() {} });
    const req = { headers: {} };
    const inner = withResilience(() => {}, options);
    const outer = withResilience(inner, options);
    outer(req, res);
    const limiters = [inner, outer].map(({ pipeline }) => pipeline.getStrategy('ConcurrencyLimiter'));
    assert.deepEqual(limiters.map(({ inflight }) => inflight), [1, 1]);
    if (end === 'close') res.emit('close');
    else res.destroy();
    assert.deepEqual(limiters.map(({ inflight }) => inflight), [0, 0]);
    assert.equal(ends.mock.callCount(), 0);
  });
}

test.after(() => assert.deepEqual(uncaught, [], 'uncaught errors'));
