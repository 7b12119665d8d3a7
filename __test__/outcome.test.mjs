import assert from 'node:assert/strict';
import test from 'node:test';
import {
  BulkheadRejectedError,
  Outcome,
  PipelineDisposedError,
  ResiliencePipelineBuilder,
  TimeoutRejectedError,
} from '@ylcnfrht/resilience';
import { hold } from './support/hold.mjs';

const cases = {
  ok: (result) => ['ok', result],
  TIMEOUT: (error) => ['TIMEOUT', error],
  BULKHEAD_FULL: (error) => ['BULKHEAD_FULL', error],
  PIPELINE_DISPOSED: (error) => ['PIPELINE_DISPOSED', error],
  error: (error) => ['error', error],
};
const plain = (outcome) => ({ ...outcome });

test('settle resolves with a success', async () => {
  const outcome = await new ResiliencePipelineBuilder().build().settle(async () => 5);
  assert.deepEqual(plain(outcome), { ok: true, result: 5 });
  assert.deepEqual(outcome.match(cases), ['ok', 5]);
});

test('settle resolves with what the callback threw, whatever it is', async () => {
  const pipeline = new ResiliencePipelineBuilder().build();
  for (const thrown of [new Error('boom'), 'text', 0, null, undefined]) {
    const outcome = await pipeline.settle(() => {
      throw thrown;
    });
    assert.deepEqual(plain(outcome), { ok: false, error: thrown });
    assert.deepEqual(outcome.match(cases), ['error', thrown]);
  }
});

test("match calls the case of the error's code with the error", async () => {
  const timed = await new ResiliencePipelineBuilder()
    .addTimeout(5)
    .build()
    .settle(() => new Promise(() => {}));
  assert.deepEqual(timed.match(cases), ['TIMEOUT', timed.error]);
  assert.ok(timed.error instanceof TimeoutRejectedError);

  const limited = new ResiliencePipelineBuilder().addConcurrencyLimiter(1).build();
  const held = hold(limited);
  const full = await limited.settle(() => 1);
  assert.deepEqual(full.match(cases), ['BULKHEAD_FULL', full.error]);
  assert.ok(full.error instanceof BulkheadRejectedError);
  held.finish();
  await held.promise;

  limited.dispose();
  const disposed = await limited.settle(() => 1);
  assert.deepEqual(disposed.match(cases), ['PIPELINE_DISPOSED', disposed.error]);
  assert.ok(disposed.error instanceof PipelineDisposedError);
});

test('match calls error for a code without a case', () => {
  const error = new TimeoutRejectedError(5);
  const { ok, BULKHEAD_FULL, error: other } = cases;
  assert.deepEqual(Outcome.failure(error).match({ ok, BULKHEAD_FULL, error: other }), ['error', error]);
  assert.deepEqual(Outcome.failure(error).match({ ok, TIMEOUT: undefined, error: other }), ['error', error]);
});

test("match does not take a stranger's code for one of ours", () => {
  const stranger = Object.assign(new Error('ETIMEDOUT'), { code: 'TIMEOUT' });
  assert.deepEqual(Outcome.failure(stranger).match(cases), ['error', stranger]);
});

test('match finds no case on the prototype', () => {
  const error = Object.assign(new TimeoutRejectedError(5), { code: 'toString' });
  assert.deepEqual(Outcome.failure(error).match(cases), ['error', error]);
});

test('match returns what the case returns and throws what it throws', async () => {
  const promise = Promise.resolve(1);
  assert.equal(Outcome.success(0).match({ ...cases, ok: () => promise }), promise);
  assert.throws(
    () =>
      Outcome.success(0).match({
        ...cases,
        ok: () => {
          throw new RangeError('mine');
        },
      }),
    {
      name: 'RangeError',
      message: 'mine',
    },
  );
});

test('Outcome makes outcomes', () => {
  assert.deepEqual(plain(Outcome.success(3)), { ok: true, result: 3 });
  assert.deepEqual(plain(Outcome.failure('no')), { ok: false, error: 'no' });
  assert.deepEqual(Outcome.success(undefined).match(cases), ['ok', undefined]);
  assert.ok(Object.isFrozen(Outcome));
});

test('settle never rejects: invalid arguments and a dead signal are outcomes too', async () => {
  const pipeline = new ResiliencePipelineBuilder().build();
  const noCallback = await pipeline.settle('callback');
  assert.equal(noCallback.ok, false);
  assert.equal(noCallback.error.name, 'TypeError');
  const noOptions = await pipeline.settle(() => 1, null);
  assert.equal(noOptions.error.name, 'TypeError');
  const reason = new Error('left');
  const aborted = await pipeline.settle(() => 1, { signal: AbortSignal.abort(reason) });
  assert.deepEqual(plain(aborted), { ok: false, error: reason });
});
