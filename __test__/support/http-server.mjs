// A server on the loopback interface whose test fails if anything is left behind: a permit, a waiter, an open
// ticket, an uncaught error.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { send } from './http-client.mjs';
import { sendHttp2 } from './http2-client.mjs';

const { thread } = createRequire(import.meta.url)('../../lib/native.js');

const uncaught = [];
process.on('uncaughtException', (error) => uncaught.push(error));
process.on('unhandledRejection', (error) => uncaught.push(error));

/** A promise with its `resolve` and `reject`. */
export function deferred() {
  let settle;
  const promise = new Promise((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...settle };
}

/** All microtasks and `nextTick` callbacks that are due have run. */
export const turn = () => new Promise(setImmediate);

/** Resolves as soon as `condition()` holds, looked at once per turn of the event loop. */
export async function until(condition) {
  while (!condition()) await turn();
}

/**
 * Serves what an adapter makes of `config` until the test has ended, and then checks that nothing is left.
 *
 * @param {import('node:test').TestContext} t
 */
export async function serve(t, adapter, config) {
  const { app, listener, resilience, others } = await adapter.create(config);
  const server = await listenOn(t, (adapter.createServer ?? createServer)(listener), resilience, ...others);
  const { port } = server.address();
  const limiter =
    resilience.pipeline.getStrategy('ConcurrencyLimiter') ??
    resilience.pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  const ask = adapter.createServer === undefined ? send : sendHttp2;
  return { app, server, port, resilience, others, limiter, send: (path, options) => ask(port, path, options) };
}

/** The same with a listener that is already made. */
export const listen = (t, listener, ...resiliences) => listenOn(t, createServer(listener), ...resiliences);

async function listenOn(t, server, ...resiliences) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    try {
      await until(() => thread.open === 0);
      for (const { pipeline } of resiliences) assertIdle(pipeline);
    } finally {
      server.closeAllConnections?.();
      server.close();
      await once(server, 'close');
    }
    await turn();
    assert.deepEqual(uncaught.splice(0), [], 'uncaught errors');
  });
  return server;
}

function assertIdle(pipeline) {
  for (const name of ['ConcurrencyLimiter', 'AdaptiveConcurrencyLimiter']) {
    const limiter = pipeline.getStrategy(name);
    if (limiter !== undefined) assert.deepEqual([limiter.inflight, limiter.queued], [0, 0], name);
  }
}

/** Checks an answer that was given in the handler's place. */
export function assertAnswer({ status, headers, json }, statusCode, error, message) {
  assert.equal(status, statusCode);
  assert.deepEqual(json, { statusCode, error, message });
  assert.deepEqual(Object.keys(json), ['statusCode', 'error', 'message']);
  assert.match(headers['content-type'], /^application\/json/);
  if (statusCode === 503) assert.match(headers['retry-after'], /^[1-9]\d*$/);
  else assert.equal(headers['retry-after'], undefined);
}

export const FULL = 'The service is at capacity and its queue is full.';
export const QUEUE_TIMEOUT = 'The service is at capacity: the request reached the queue-timeout.';
export const DROPPED = 'The service is at capacity: the request was dropped from the queue.';
export const DISPOSED = 'The service is shutting down: the request was disposed of.';
export const LATE = 'The request was not completed in time.';
