// Servers whose event loop is the bottleneck: handlers that compute, and clients that come together.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { withResilience } from '@ylcnfrht/resilience/http';
import { rawConnection, send } from './http-client.mjs';
import { listen } from './http-server.mjs';

const require = createRequire(import.meta.url);
const { thread } = require('../../lib/native.js');

/** The time that a handler computes: more than the loop may be busy until requests are made to wait. */
export const COST_MS = 8;
export const OVERLOADED = 'The service is overloaded.';
/** Whoever waits for another is refused. */
export const STRICT = { targetDelay: 0.001, maxDelay: 7 };
/** Nobody is refused. */
export const PATIENT = { targetDelay: 60_000, maxDelay: 60_000 };

export function burn(ms = COST_MS) {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Requests that the gate of the loop has let in or queued, and that have not ended. */
export const open = () => thread.requests;

/** Resolves when all have ended. */
export async function nothingOpen() {
  const limit = performance.now() + 10_000;
  while (open() > 0) {
    assert.ok(performance.now() < limit, `${open()} requests have not ended`);
    await new Promise(setImmediate);
  }
}

/** Lets the gate learn what a request costs. On a busy machine it may refuse one. */
export async function warm(port, ask = () => send(port, '/')) {
  for (let tries = 0, served = 0; served < 3; tries += 1) {
    assert.ok(tries < 100, 'all are refused');
    const { status } = await ask().response;
    served += status === 200 ? 1 : 0;
  }
}

/**
 * Sends a request to each port, on connections of their own, all at once: `{ request, response }` each. The
 * connections are there before, so that the server reads the requests together.
 */
export async function sendTo(ports, path = (i) => `/?${i}`) {
  const sockets = ports.map((port) => connect(port, '127.0.0.1'));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets.map((socket, i) => send(ports[i], path(i), { socket }));
}

export const sendAll = (port, number, path) => sendTo(Array(number).fill(port), path);

/** How often each status came to those that were sent, or that a promise gives. */
export async function statuses(sent) {
  const counts = {};
  for (const { status } of await Promise.all((await sent).map(({ response }) => response))) {
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

/** A server behind the gate; `handle` is given the request, the response and what the gate knows. */
export async function serve(t, overload, handle, options = {}) {
  const listener = withResilience((req, res) => handle(req, res, listener.overload), { overload, ...options });
  const server = await listen(t, listener, listener);
  return { listener, server, port: server.address().port };
}

/** Clients that are connected, and write what a test wants. */
export async function rawConnections(t, port, number) {
  const clients = await Promise.all(Array.from({ length: number }, () => rawConnection(port)));
  t.after(() => clients.forEach(({ socket }) => socket.destroy()));
  return clients;
}
