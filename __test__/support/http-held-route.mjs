import assert from 'node:assert/strict';
import { getResilienceContext } from '@ylcnfrht/resilience';
import { deferred } from './http-server.mjs';

/** A route whose requests wait until the test answers them, and tell when their signals abort. */
export function heldRoute() {
  const held = [];
  const handler = (req, res) => {
    const { signal } = getResilienceContext(req);
    const aborted = new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(signal.reason));
    });
    held.push({ req, res, signal, aborted, answer: () => res.end(req.url) });
  };
  return { held, handler, routes: { 'GET /work': handler } };
}

/** What `read()` gives right after everyone has heard that the server lost its connection number `index`. */
export async function countsAtClose(server, index, read) {
  const counts = deferred();
  let connections = 0;
  server.on('connection', (socket) => {
    if (connections++ !== index) return;
    socket.once('close', () => process.nextTick(() => counts.resolve(read())));
  });
  return counts.promise;
}

export function assertDisconnected(reason) {
  assert.ok(reason instanceof DOMException);
  assert.deepEqual([reason.name, reason.message], ['AbortError', 'the client disconnected']);
}
