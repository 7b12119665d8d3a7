// What an overload of the event loop is told by, and what else a request is counted by.
import assert from 'node:assert/strict';
import diagnostics from 'node:diagnostics_channel';
import { createRequire } from 'node:module';
import test from 'node:test';
import { ResiliencePipelineBuilder, isExecutionRejected } from '@ylcnfrht/resilience';
import { withResilience } from '@ylcnfrht/resilience/http';
import { deferred, listen } from './support/http-server.mjs';
import { PATIENT, STRICT, burn, nothingOpen, rawConnections, serve, warm } from './support/overload.mjs';

const { hot } = createRequire(import.meta.url)('../lib/native.js');

test.afterEach(nothingOpen);

const work = (_req, res) => {
  burn();
  res.end('fine');
};

/** Requests that come together: the statuses. */
async function rush(t, port, number, headers = '') {
  const clients = await rawConnections(t, port, number);
  for (const client of clients) client.get('/', headers);
  await Promise.all(clients.map((client) => client.receive('\r\n\r\n')));
  return clients.map(({ received }) => Number(received.slice(9, 12)));
}

test('OnOverload when it begins and while it lasts, OnOverloadEnded when it ends', { timeout: 30_000 }, async (t) => {
  const events = [];
  const ended = deferred();
  const pipeline = new ResiliencePipelineBuilder({
    name: 'front',
    telemetry: (event) => {
      if (event.name.startsWith('OnOverload')) events.push(event);
      if (event.name === 'OnOverloadEnded') ended.resolve();
    },
  })
    .addTimeout('1m')
    .build();
  const published = [];
  const heard = (event) => published.push(event);
  diagnostics.subscribe('ylcnfrht.resilience.OnOverload', heard);
  t.after(() => diagnostics.unsubscribe('ylcnfrht.resilience.OnOverload', heard));
  const { port, listener } = await serve(t, STRICT, work, { pipeline });
  await warm(port);
  events.length = published.length = 0;
  const before = performance.now();
  // Long enough to hear of it once more.
  let refused = 0;
  while (events.length < 2) refused += (await rush(t, port, 12)).filter((status) => status === 503).length;
  assert.ok(refused > 0);
  await ended.promise;
  const names = events.map(({ name }) => name);
  assert.deepEqual([names[0], names[1], names.at(-1)], ['OnOverload', 'OnOverload', 'OnOverloadEnded']);
  assert.equal(published[0], events[0]);
  const [first, second] = events;
  assert.deepEqual([first.severity, first.pipelineName, events.at(-1).severity], ['error', 'front', 'information']);
  const told = ['load', 'pace', 'delay', 'queued', 'refused', 'started', 'duration', 'cpuShare'];
  assert.deepEqual(Object.keys(second.args), told);
  assert.ok(second.args.duration >= 1000 && second.args.duration <= performance.now() - before + 1000);
  assert.ok(second.args.refused > 0 && second.args.started > 0 && second.args.pace > 1);
  const { cpuShare } = second.args;
  const isKnown = process.platform !== 'win32' && !('Bun' in globalThis) && !('Deno' in globalThis);
  assert.ok(isKnown ? cpuShare > 0 && cpuShare <= 1 : cpuShare === undefined, `${cpuShare}`);
  assert.equal(listener.overload.queued, 0);
});

test('a quota that is used up is refused first, and does not count as load', async (t) => {
  const { loopOffer } = hot;
  let offers = 0;
  hot.loopOffer = () => {
    offers += 1;
    return loopOffer();
  };
  t.after(() => (hot.loopOffer = loopOffer));
  const { port } = await serve(t, STRICT, work, {
    rateLimit: { permitLimit: 5, window: '1h', key: (req) => req.headers['x-client'] },
  });
  await rush(t, port, 5, 'x-client: greedy\r\n');
  offers = 0;
  assert.deepEqual(new Set(await rush(t, port, 20, 'x-client: greedy\r\n')), new Set([429]));
  assert.equal(offers, 0);
  const others = await rush(t, port, 1, 'x-client: modest\r\n');
  assert.equal(others.includes(429), false);
  assert.equal(offers, 1);
});

test('with key(request) asked once a request, and the client told what it has left', async (t) => {
  let asked = 0;
  const { port } = await serve(t, PATIENT, work, {
    rateLimit: { permitLimit: 100, window: '1h', key: () => void (asked += 1) },
  });
  const clients = await rawConnections(t, port, 10);
  for (const client of clients) client.get('/');
  await Promise.all(clients.map((client) => client.receive('fine')));
  assert.equal(asked, 10);
  const left = clients.map(({ received }) => Number(/^RateLimit-Remaining: (\d+)/im.exec(received)[1]));
  assert.equal(Math.min(...left), 90);
});

test('a deadline of the caller counts from the arrival, the wait included', async (t) => {
  const remaining = [];
  const { port } = await serve(
    t,
    PATIENT,
    (req, res) => {
      remaining.push(req.headers['x-timeout']);
      burn();
      res.end('fine');
    },
    { deadlineHeader: 'x-timeout' },
  );
  await warm(port);
  remaining.length = 0;
  const statuses = await rush(t, port, 30, 'x-timeout: 60\r\n');
  assert.ok(statuses.includes(200) && statuses.includes(503), statuses.join());
  // A wait of 60 ms leaves nothing.
  assert.ok(remaining.length <= 10, `${remaining.length} have started`);
  const [late] = await rush(t, port, 1, 'x-timeout: 0\r\n');
  assert.equal(late, 504);
});

test('a pipeline of one’s own, disposed: it tells, and nobody waits', async (t) => {
  const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(10).build();
  const { port } = await serve(t, PATIENT, work, { pipeline });
  await warm(port);
  pipeline.dispose();
  assert.deepEqual(await rush(t, port, 3), [503, 503, 503]);
});

test('false is as if it were not given', async (t) => {
  const listener = withResilience(work, { overload: false, timeout: '1m' });
  assert.equal(listener.overload, undefined);
  const server = await listen(t, listener, listener);
  assert.deepEqual(await rush(t, server.address().port, 2), [200, 200]);
});

test('OverloadRejectedError is known as a rejection, also when it was sent', async (t) => {
  const errors = [];
  const { port } = await serve(t, STRICT, work, { onRejected: ({ error }) => errors.push(error) });
  await warm(port);
  await rush(t, port, 12);
  const [error] = errors;
  assert.equal(error.name, 'OverloadRejectedError');
  assert.ok(isExecutionRejected(error) && isExecutionRejected(JSON.parse(JSON.stringify(error))));
  const cloned = structuredClone(error);
  assert.ok(isExecutionRejected(cloned));
  assert.deepEqual([cloned.code, cloned.statusCode], ['OVERLOADED', 503]);
});
