// Whatever a client of HTTP/2 sends, in whatever order and pieces: a request whose handler has answered, or whose
// client has reset it, holds nothing any more, also while the session goes on.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http2';
import { connect } from 'node:net';
import test from 'node:test';
import fc from 'fast-check';
import { getResilienceSignal } from '@ylcnfrht/resilience';
import { withResilience } from '@ylcnfrht/resilience/http';
import { turn } from './support/http-server.mjs';

const SEED = 20_260_402;
const RUNS = 60;
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const [DATA, HEADERS, RST_STREAM, SETTINGS, WINDOW_UPDATE] = [0, 1, 3, 4, 8];
const [END_STREAM, END_HEADERS] = [1, 4];

function frame(type, flags, id, payload = Buffer.alloc(0)) {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}
const number = (value) => {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(value);
  return payload;
};
const settings = (window) => Buffer.concat([Buffer.from([0, 4]), number(window)]);
/** POST of / over http, by the static table of HPACK, of the host x. */
const FIELDS = Buffer.from([0x83, 0x86, 0x84, 0x41, 1, 0x78]);

/** What a client sends on one of its streams. */
const acts = {
  open: (id) => frame(HEADERS, END_HEADERS, id, FIELDS),
  ask: (id) => frame(HEADERS, END_HEADERS | END_STREAM, id, FIELDS),
  data: (id) => frame(DATA, 0, id, Buffer.alloc(100)),
  end: (id) => frame(DATA, END_STREAM, id, Buffer.alloc(10)),
  leave: (id) => frame(RST_STREAM, 0, id, number(0)),
  cancel: (id) => frame(RST_STREAM, 0, id, number(8)),
  window: (id) => frame(WINDOW_UPDATE, 0, id, number(5000)),
};
const opening = fc.constantFrom('open', 'open', 'ask');
const further = fc.array(
  fc.constantFrom('data', 'data', 'end', 'leave', 'leave', 'cancel', 'window'),
  { maxLength: 4 },
);
const stream = fc.record({ opening, further, handler: fc.nat(), isApart: fc.boolean() });

const LARGE = Buffer.alloc(200_000);
const handlers = [
  (_req, res) => res.end('at once'),
  (_req, res) => res.end(LARGE),
  (_req, res) => setImmediate(() => res.end('soon')),
  (_req, res) => {
    res.write(LARGE);
    setImmediate(() => res.end());
  },
  (_req, res) => {
    res.stream.respond({ ':status': 200 });
    res.stream.end('by the stream');
  },
  (req, res) => req.resume().on('end', () => res.end('read')),
  async (req, res) => {
    try {
      for await (const _ of req);
    } catch {
      // Its client has left.
    }
    res.end('read');
  },
  (req, res) => {
    req.once('data', () => req.pause());
    res.end('held back');
  },
  (_req, res) => setImmediate(() => res.destroy()),
  (_req, res) => setImmediate(() => res.stream.close()),
];

for (const [name, options] of [
  ['no deadline', {}],
  ['a deadline', { timeout: '1m' }],
  ['a deadline of the body', { timeout: { timeout: 30, body: true } }],
]) {
  test(`random frames leave no permit behind, with ${name}`, { timeout: 60_000 }, async (t) => {
    const isWaiting = new Set();
    let next = 0;
    let program;
    const resilience = withResilience(
      (req, res) => {
        const waiting = { res };
        isWaiting.add(waiting);
        getResilienceSignal().addEventListener('abort', () => isWaiting.delete(waiting));
        return handlers[program[next++ % program.length].handler % handlers.length](req, res);
      },
      { concurrency: { permitLimit: 3, queueLimit: 3 }, ...options },
    );
    const limiter = resilience.pipeline.getStrategy('ConcurrencyLimiter');
    const server = createServer(resilience);
    const sessions = new Set();
    server.on('session', (session) => sessions.add(session.on('error', () => {})));
    server.on('stream', (each) => each.on('error', () => {}));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const programs = fc.array(stream, { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(programs, fc.constantFrom(0, 100, 65_535), async (streams, window) => {
        program = streams;
        next = 0;
        const socket = connect(server.address().port, '127.0.0.1').on('error', () => {});
        socket.setNoDelay().resume();
        await once(socket, 'connect');
        socket.write(Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, settings(window))]));
        await once(socket, 'data');
        let unsent = [];
        for (const [index, { opening, further, isApart }] of streams.entries()) {
          unsent.push(...[opening, ...further].map((act) => acts[act](2 * index + 1)));
          if (!isApart) continue;
          socket.write(Buffer.concat(unsent));
          unsent = [];
          await turn();
        }
        socket.write(Buffer.concat(unsent));
        await turn();
        // Whoever waits for a body that does not come answers now.
        const limit = performance.now() + 3000;
        while (limiter.inflight + limiter.queued > 0) {
          assert.ok(performance.now() < limit, `${limiter.inflight} in flight, ${limiter.queued} queued`);
          for (const { res } of isWaiting) if (!res.writableEnded) res.end();
          await turn();
        }
        socket.destroy();
      }),
      { seed: SEED, numRuns: RUNS },
    );
    for (const session of sessions) session.destroy();
  });
}
