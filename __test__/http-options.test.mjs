import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';

test('options that make no sense are errors', () => {
  const pipeline = new ResiliencePipelineBuilder().addTimeout('5s').build();
  const concurrency = { permitLimit: 1 };
  const wrong = [
    [undefined, TypeError, /the options of resilienceMiddleware must be an object/],
    [{}, TypeError, /needs timeout, concurrency, rateLimit/],
    [{ name: 'inbound' }, TypeError, /needs timeout, concurrency, rateLimit/],
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
  for (const [options, type, message] of wrong) {
    assert.throws(
      () => resilienceMiddleware(options),
      (error) => error instanceof type && message.test(error.message),
      `${JSON.stringify(options)} must throw a ${type.name} ${message}`,
    );
  }
});
