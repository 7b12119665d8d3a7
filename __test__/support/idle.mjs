import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { executions } = require('../../lib/dispatch.js');
const { WAKE, channel, thread } = require('../../lib/native.js');

/** Asserts that nothing is under way in the thread, and that every permit of the limiters is back. */
export function assertIdle(...limiters) {
  assert.equal(thread.open, 0, 'open tickets');
  assert.equal(executions.findIndex((execution) => execution !== undefined), -1, 'an execution that is held');
  // Zero until the first call into the core.
  assert.ok(channel[WAKE] === Infinity || channel[WAKE] === 0, 'no deadline is armed');
  for (const { name, inflight, queued } of limiters) {
    assert.deepEqual({ name, inflight, queued }, { name, inflight: 0, queued: 0 });
  }
}
