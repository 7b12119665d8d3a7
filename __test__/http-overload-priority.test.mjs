// Who goes first while requests wait for the event loop. In a process of its own: what was offered before counts.
import assert from 'node:assert/strict';
import test from 'node:test';
import { send } from './support/http-client.mjs';
import { until } from './support/http-server.mjs';
import { PATIENT, burn, nothingOpen, sendAll, serve, statuses, warm } from './support/overload.mjs';

test.afterEach(nothingOpen);

test('the more important start first, and the least important make room', async (t) => {
  const started = [];
  const priority = (req) => Number(new URL(req.url, 'http://x').searchParams.get('p'));
  const { port } = await serve(t, { ...PATIENT, priority }, (req, res, { queued }) => {
    started.push([priority(req), queued]);
    burn();
    res.end();
  });
  await warm(port);
  started.length = 0;
  assert.deepEqual(await statuses(sendAll(port, 24, (i) => `/?p=${i % 2 === 0 ? 7 : 0}`)), { 200: 24 });
  // From the one on that found all of them there.
  const from = started.reduce((most, [, queued], i) => (queued > started[most][1] ? i : most), 0);
  const order = started.slice(from + 1).map(([level]) => level);
  assert.ok(order.length > 10, `${order}`);
  assert.deepEqual(order, order.toSorted((a, b) => a - b));
});

test('what priority throws, and what is no number, is an error of that request', async (t) => {
  const warnings = [];
  const heard = (warning) => warnings.push(warning.message);
  process.on('warning', heard);
  t.after(() => process.off('warning', heard));
  const answers = {
    '/throws': () => JSON.parse('{'),
    '/text': () => 'high',
    '/nan': () => NaN,
    '/promise': async () => 1,
  };
  const priority = ({ url }) => answers[url]?.() ?? 0;
  const { port } = await serve(t, { priority }, (_req, res) => res.end());
  for (const url of Object.keys(answers)) assert.equal((await send(port, url).response).status, 500, url);
  assert.equal((await send(port, '/').response).status, 200);
  await until(() => warnings.length === 4);
  for (const message of warnings.slice(1)) assert.match(message, /the result of priority must be a number, not /);
});
