// An overload of the event loop, in every framework alike.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allAdapters, forEachAdapter } from './support/http-adapters.mjs';
import { assertAnswer, serve, until } from './support/http-server.mjs';
import { OVERLOADED, PATIENT, STRICT, burn, nothingOpen, warm } from './support/overload.mjs';

const work = (_req, res) => {
  burn();
  res.end('fine');
};
const routes = { 'GET /work': work };

forEachAdapter((adapter) => {
  /** Sends requests that come together, once the gate knows what one costs. */
  async function rush(t, options, number, config = {}) {
    const served = await serve(t, adapter, { options, routes, ...config });
    await warm(served.port, () => served.send('/work'));
    const sent = Array.from({ length: number }, () => served.send('/work'));
    return { ...served, answers: await Promise.all(sent.map(({ response }) => response)) };
  }
  const of = (answers, status) => answers.filter((answer) => answer.status === status);

  test('who would wait too long is refused, and all others are served', async (t) => {
    const rejected = [];
    const onRejected = ({ request, error }) => rejected.push([request, error.code]);
    const { answers, resilience } = await rush(t, { overload: STRICT, onRejected }, 12);
    await nothingOpen();
    const refused = of(answers, 503);
    assert.ok(refused.length > 0, 'some are refused');
    assert.equal(of(answers, 200).length + refused.length, 12);
    for (const answer of refused) {
      assertAnswer(answer, 503, 'OVERLOADED', OVERLOADED);
      assert.equal(answer.headers['cache-control'], 'no-store');
      assert.match(answer.headers['retry-after'], /^[123]$/);
    }
    assert.equal(rejected.length, refused.length);
    for (const [request, code] of rejected) {
      assert.equal(code, 'OVERLOADED');
      assert.ok(adapter.requestOf(request) !== undefined);
    }
    assert.deepEqual(Object.keys(resilience.overload), ['queued', 'delay', 'pace', 'load', 'limit']);
    assert.equal(resilience.overload.queued, 0);
    assert.ok(resilience.overload.pace > 1);
  });

  test('all of those that may wait are served, beside limits and a pipeline', async (t) => {
    const limits = {
      overload: PATIENT,
      concurrency: { permitLimit: 50 },
      timeout: '1m',
      rateLimit: { permitLimit: 1000, window: '1m' },
      deadlineHeader: 'x-timeout',
    };
    const { answers, limiter } = await rush(t, limits, 12);
    assert.equal(of(answers, 200).length, 12);
    assert.equal(limiter.inflight, 0);
    // Each is counted once against its quota.
    const left = answers.map(({ headers }) => Number(headers['ratelimit-remaining']));
    assert.equal(Math.min(...left), 1000 - 15);
    await nothingOpen();
  });

  test('as problem details', async (t) => {
    const { answers } = await rush(t, { overload: STRICT, problemDetails: true }, 12);
    const [{ headers, json }] = of(answers, 503);
    assert.match(headers['content-type'], /^application\/problem\+json/);
    const { type, status, detail, code } = json;
    assert.match(type, /#temporary-reduced-capacity$/);
    assert.deepEqual([status, detail, code], [503, OVERLOADED, 'OVERLOADED']);
    await nothingOpen();
  });

  test('a request that has come through one gate passes the next', async (t) => {
    const { answers, others } = await rush(t, { overload: PATIENT }, 12, { also: [{ overload: STRICT }] });
    assert.equal(of(answers, 200).length, 12);
    for (const { overload } of others) assert.equal(overload.queued, 0);
    await nothingOpen();
  });

  test('a client that leaves while it waits: its request never starts', async (t) => {
    let begun = 0;
    let sent = [];
    const { server, port, send } = await serve(t, adapter, {
      options: { overload: PATIENT },
      routes: {
        'GET /work': (req, res) => {
          begun += 1;
          for (const { request } of sent.splice(0)) request.destroy();
          work(req, res);
        },
      },
    });
    let closed = 0;
    server.on('connection', (socket) => socket.on('close', () => (closed += 1)));
    assert.ok(port > 0);
    const all = Array.from({ length: 16 }, () => send('/work'));
    sent = all.slice(8);
    await Promise.allSettled(all.map(({ response }) => response));
    await until(() => closed === 16);
    await nothingOpen();
    assert.ok(begun >= 8 && begun < 16, `${begun} have begun`);
  });
}, allAdapters);

