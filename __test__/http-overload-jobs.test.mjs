// What a start from the queue of the event loop waits for: the jobs of the one before.
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import test from 'node:test';
import { PATIENT, burn, nothingOpen, rawConnections, serve } from './support/overload.mjs';

test.afterEach(nothingOpen);

const tick = () => new Promise((resolve) => process.nextTick(resolve));
const microtask = () => new Promise((resolve) => queueMicrotask(resolve));

async function times(number, job) {
  for (let i = 0; i < number; i += 1) await job();
}

async function onceAuthorized(work) {
  await times(3, () => null);
  await work();
}

const REQUESTS = 30;
const BODY = '{"items":[1]}';
const POST = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

/** Requests that come together: what was logged of handlers that get to their work by `wait`, and how many waited. */
async function play(t, wait) {
  const log = [];
  let mostQueued = 0;
  const { port } = await serve(t, PATIENT, async (req, res, { queued }) => {
    mostQueued = Math.max(mostQueued, queued);
    log.push('start');
    await wait(req);
    burn(1);
    log.push('end');
    res.end();
  });
  const clients = await rawConnections(t, port, REQUESTS);
  for (const { socket } of clients) socket.write(POST);
  await Promise.all(clients.map((client) => client.receive('\r\n\r\n')));
  return { log, mostQueued };
}

/** Handlers that have begun while another's work was yet to come. */
const nested = (log) => log.filter((entry, i) => entry === 'start' && log[i + 1] !== 'end').length;

const WAITS = {
  'promises that are settled': () => times(100, () => null),
  'microtasks in microtasks': () => times(20, microtask),
  'ticks, and promises between': () => onceAuthorized(() => times(2, () => onceAuthorized(tick))),
  'ticks in microtasks in ticks': () =>
    new Promise((resolve) => process.nextTick(queueMicrotask, () => process.nextTick(queueMicrotask, resolve))),
  'a body, by events': (req) =>
    onceAuthorized(() => new Promise((resolve) => req.on('data', () => {}).on('end', resolve))),
  'a body, by for await': (req) =>
    onceAuthorized(async () => {
      for await (const chunk of req) assert.equal(chunk.length, BODY.length);
    }),
  'a body, as a text': (req) => onceAuthorized(async () => JSON.parse(await text(req))),
  'a body, through transforms': (req) =>
    onceAuthorized(() => pipeline(req, new PassThrough(), new PassThrough(), (source) => text(source))),
};
for (const [name, wait] of Object.entries(WAITS)) {
  test(`handlers start one after the other’s work, which they get to by ${name}`, async (t) => {
    const { log, mostQueued } = await play(t, wait);
    assert.ok(mostQueued > 0);
    assert.equal(nested(log), 0);
  });
}

test('whoever gets to its work by many ticks is served as well, once', async (t) => {
  const { log, mostQueued } = await play(t, () => times(50, tick));
  assert.ok(mostQueued > 0);
  assert.deepEqual([log.length, log.filter((entry) => entry === 'end').length], [2 * REQUESTS, REQUESTS]);
});
