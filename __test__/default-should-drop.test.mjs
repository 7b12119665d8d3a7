import assert from 'node:assert/strict';
import test from 'node:test';
import {
  BulkheadRejectedError,
  Outcome,
  PipelineDisposedError,
  TimeoutRejectedError,
  defaultShouldDrop,
} from '@ylcnfrht/resilience';

const drops = (error) => defaultShouldDrop({ outcome: Outcome.failure(error) });
const withFields = (fields, cause) => Object.assign(new Error('failed', { cause }), fields);

for (const [name, error] of [
  ['a timeout', new TimeoutRejectedError(5)],
  ['a full bulkhead', new BulkheadRejectedError('full', { active: 1, queued: 0 })],
  ['a disposed pipeline', new PipelineDisposedError()],
  ['the reason of AbortSignal.timeout()', new DOMException('timed out', 'TimeoutError')],
  ['status 408', withFields({ status: 408 })],
  ['status 500', withFields({ status: 500 })],
  ['status 503', withFields({ status: 503 })],
  ['status 599', withFields({ status: 599 })],
  ['statusCode 502', withFields({ statusCode: 502 })],
  ['a thrown response of 503', { status: 503 }],
  ['ECONNREFUSED', withFields({ code: 'ECONNREFUSED' })],
  ['ECONNRESET', withFields({ code: 'ECONNRESET' })],
  ['ECONNABORTED', withFields({ code: 'ECONNABORTED' })],
  ['EPIPE', withFields({ code: 'EPIPE' })],
  ['ETIMEDOUT', withFields({ code: 'ETIMEDOUT' })],
  ['EAI_AGAIN', withFields({ code: 'EAI_AGAIN' })],
  ['UND_ERR_SOCKET', withFields({ code: 'UND_ERR_SOCKET' })],
  ['UND_ERR_CONNECT_TIMEOUT', withFields({ code: 'UND_ERR_CONNECT_TIMEOUT' })],
  [
    'fetch failed because of ECONNREFUSED',
    new TypeError('fetch failed', { cause: withFields({ code: 'ECONNREFUSED' }) }),
  ],
  ['a cause of a cause with status 503', withFields({}, withFields({}, { status: 503 }))],
  ['a timeout as a cause', withFields({}, new TimeoutRejectedError(5))],
  [
    'an error code beside a transient cause',
    withFields({ code: 'ERR_WRAPPED' }, withFields({ code: 'EPIPE' })),
  ],
]) {
  test(`a drop: ${name}`, () => assert.equal(drops(error), true));
}

for (const [name, error] of [
  ['a plain error', new Error('bug')],
  ['status 400', withFields({ status: 400 })],
  ['status 404', withFields({ status: 404 })],
  ['statusCode 413', withFields({ statusCode: 413 })],
  ['status 429', withFields({ status: 429 })],
  ['status 499', withFields({ status: 499 })],
  ['status 600', withFields({ status: 600 })],
  ['status 200', withFields({ status: 200 })],
  ['a status that is text', withFields({ status: '503' })],
  ['an abort', new DOMException('aborted', 'AbortError')],
  [
    'an abort because of a broken connection',
    withFields({ name: 'AbortError' }, withFields({ code: 'EPIPE' })),
  ],
  ['a client error because of a server error', withFields({ status: 404 }, withFields({ status: 503 }))],
  ['ENOENT', withFields({ code: 'ENOENT' })],
  ['ENOTFOUND', withFields({ code: 'ENOTFOUND' })],
  ['a code in the middle of another', withFields({ code: 'NOT_ECONNRESET' })],
  ['a code before another', withFields({ code: 'EPIPE_LATER' })],
  ['a code that is a number', withFields({ code: 503 })],
  ['text', '503'],
  ['a number', 503],
  ['null', null],
  ['undefined', undefined],
]) {
  test(`no drop: ${name}`, () => assert.equal(drops(error), false));
}

test("a success is no drop, even a response of 503: the dependency's own protocol is for shouldDrop", () => {
  assert.equal(defaultShouldDrop({ outcome: Outcome.success({ status: 503 }) }), false);
});

test('a chain of causes that bites its tail has an end', () => {
  const error = withFields({});
  error.cause = withFields({}, error);
  assert.equal(drops(error), false);
});
