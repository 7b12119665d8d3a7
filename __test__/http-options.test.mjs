import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder, standardPipeline } from '@ylcnfrht/resilience';
import fastify from 'fastify';
import {
  fastifyResilience,
  honoResilience,
  koaResilience,
  resilienceMiddleware,
  withResilience,
} from '@ylcnfrht/resilience/http';

const adapters = {
  fastifyResilience: (options) => fastifyResilience(fastify(), options),
  honoResilience,
  koaResilience,
  resilienceMiddleware,
  withResilience: (options) => withResilience(() => {}, options),
};

test('options that make no sense are errors', async () => {
  const pipeline = new ResiliencePipelineBuilder().addTimeout('5s').build();
  const concurrency = { permitLimit: 1 };
  const rateLimit = { permitLimit: 1, window: '1m' };
  const wrong = [
    [undefined, TypeError, /^the options of WHERE must be an object/],
    [{}, TypeError, /^WHERE needs timeout, concurrency, rateLimit, deadlineHeader, overload or pipeline/],
    [{ overload: false }, TypeError, /needs timeout, concurrency, rateLimit/],
    [{ overload: 'yes' }, TypeError, /overload must be a boolean or an object, not 'yes'/],
    [{ overload: null }, TypeError, /the options of overload must be an object/],
    [{ overload: { delay: 1 } }, TypeError, /overload has no option 'delay'/],
    [{ overload: { targetDelay: 0 } }, RangeError, /targetDelay/],
    [{ overload: { maxDelay: 'soon' } }, RangeError, /maxDelay/],
    [
      { overload: { targetDelay: '200ms', maxDelay: '100ms' } },
      RangeError,
      /maxDelay must be at least targetDelay \(200 ms\), not '100ms'/,
    ],
    [{ pipeline, overload: { priority: 1 } }, TypeError, /priority must be a function/],
    [{ name: 'inbound' }, TypeError, /needs timeout, concurrency, rateLimit/],
    [{ pipeline: new ResiliencePipelineBuilder().addRetry().build() }, TypeError, /without retry/],
    [{ pipeline: new ResiliencePipelineBuilder().addHedging().build() }, TypeError, /and hedging/],
    [{ pipeline, rateLimit }, TypeError, /not both/],
    [{ pipeline, deadlineHeader: 'x' }, TypeError, /not both/],
    [{ rateLimit: {} }, TypeError, /permitLimit/],
    [{ rateLimit: { permitLimit: 1 } }, TypeError, /window/],
    [{ rateLimit: { permitLimit: 0, window: '1m' } }, RangeError, /permitLimit/],
    [{ rateLimit: { ...rateLimit, window: 0 } }, RangeError, /window/],
    [{ rateLimit: { ...rateLimit, key: 'ip' } }, TypeError, /key must be a function/],
    [{ rateLimit: { ...rateLimit, burst: 1 } }, TypeError, /burst/],
    [{ rateLimit: { ...rateLimit, maxKeys: 0 } }, RangeError, /maxKeys/],
    [{ rateLimit: { ...rateLimit, queueLimit: 1 } }, TypeError, /no option 'queueLimit'/],
    [{ deadlineHeader: '' }, TypeError, /deadlineHeader must be the name of a header/],
    [{ deadlineHeader: 'a b' }, TypeError, /deadlineHeader must be the name of a header/],
    [{ deadlineHeader: true }, TypeError, /deadlineHeader must be the name of a header/],
    [{ rateLimit, headers: 'draft-9' }, RangeError, /headers/],
    [{ rateLimit, headers: true }, TypeError, /headers/],
    [{ rateLimit, problemDetails: 1 }, TypeError, /problemDetails must be a boolean/],
    [{ rateLimit, skip: true }, TypeError, /skip must be a function/],
    [{ rateLimit, onRejected: true }, TypeError, /onRejected must be a function/],
    [{ rateLimit, shouldDrop: true }, TypeError, /shouldDrop must be a function/],
    [{ pipeline, timeout: '5s' }, TypeError, /not both/],
    [{ pipeline, concurrency }, TypeError, /not both/],
    [{ pipeline, name: 'inbound' }, TypeError, /not both/],
    [{ pipeline: { execute() {} } }, TypeError, /pipeline must be a ResiliencePipeline/],
    [{ timeout: 0 }, RangeError, /timeout/],
    [{ timeout: 'soon' }, RangeError, /timeout/],
    [{ timeout: null }, TypeError, /timeout/],
    [{ timeout: {} }, RangeError, /timeout/],
    [{ timeout: { timeout: '5s', body: 1 } }, TypeError, /body must be a boolean/],
    [{ timeout: { timeout: '5s', whole: true } }, TypeError, /no option 'whole'/],
    [{ concurrency: 5 }, TypeError, /concurrency/],
    [{ concurrency: {} }, TypeError, /permitLimit/],
    [{ concurrency: { permitLimit: 0 } }, RangeError, /permitLimit/],
    [{ concurrency: { ...concurrency, priority: () => 0 } }, TypeError, /no option 'priority'/],
    [{ timeout: '5s', retry: {} }, TypeError, /no option 'retry'/],
    [{ timeout: '5s', name: '' }, RangeError, /name/],
  ];
  for (const [where, take] of Object.entries(adapters)) {
    for (const [options, type, { source }] of wrong) {
      await assert.rejects(
        async () => take(options),
        (error) => error instanceof type && new RegExp(source.replace('WHERE', where)).test(error.message),
        `${where}(${JSON.stringify(options)}) must throw a ${type.name} ${source}`,
      );
    }
  }
});

test('options of a class, with getters on its prototype, are options', async () => {
  class Options {
    get timeout() {
      return '5s';
    }

    get stallTimeout() {
      return 'soon';
    }
  }
  for (const [where, take] of Object.entries(adapters)) {
    const isRead = { name: 'RangeError', message: /^stallTimeout must be / };
    await assert.rejects(async () => take(new Options()), isRead, where);
  }
});

test('errors is an option of fastifyResilience alone', async () => {
  const withErrors = (errors) => adapters.fastifyResilience(Object.create({ timeout: '5s', errors }));
  await assert.rejects(withErrors(1), { name: 'TypeError', message: 'errors must be a boolean, not 1' });
  await assert.rejects(async () => adapters.fastifyResilience({ timeout: '5s', error: true }), {
    name: 'TypeError',
    message: /^fastifyResilience has no option 'error'; did you mean 'errors'\? it takes timeout, .*, errors$/,
  });
  for (const [where, take] of Object.entries(adapters)) {
    if (where === 'fastifyResilience') continue;
    assert.throws(() => take({ timeout: '5s', errors: true }), { name: 'TypeError', message: /no option 'errors'/ });
  }
});

test('withResilience needs a listener', () => {
  for (const listener of [undefined, null, {}, 'listener']) {
    assert.throws(() => withResilience(listener, { timeout: '5s' }), {
      name: 'TypeError',
      message: /^the listener of withResilience must be a function/,
    });
  }
});
