import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const { thread } = createRequire(import.meta.url)('../../lib/native.js');

/** Asserts that nothing is under way in the thread, and that every permit of the limiters is back. */
export function assertIdle(...limiters) {
  assert.equal(thread.open, 0, 'open tickets');
  for (const { name, inflight, queued } of limiters) {
    assert.deepEqual({ name, inflight, queued }, { name, inflight: 0, queued: 0 });
  }
}
