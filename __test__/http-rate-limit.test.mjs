// The quota of a client: 429, and what each answer tells of it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { allAdapters, forEachAdapter } from './support/http-adapters.mjs';
import { nativeHeldRoute } from './support/http-native-route.mjs';
import { FULL, assertAnswer, serve, until } from './support/http-server.mjs';

const QUOTA = 'The client has used up its quota.';
/** Long enough that no test sees it end. */
const window = '1h';
const answers = { 'GET /work': () => ({ text: 'work' }), 'GET /other': async () => ({ text: 'other' }) };

/** The headers about quotas, with the seconds that have passed in a test taken out. */
function quotaHeaders({ headers }) {
  const entries = Object.entries(headers).filter(([name]) => /^(x-)?ratelimit/.test(name));
  return Object.fromEntries(
    entries.map(([name, value]) => [
      name,
      name.includes('reset') ? seconds(value) : value.replace(/(?<=;t=|reset=)\d+/g, seconds),
    ]),
  );
}

/** The one hour of the window: as seconds, or as a time. */
function seconds(value) {
  assert.match(value, /^\d+$/);
  const left = Number(value) > 1e6 ? Number(value) - Date.now() / 1000 : Number(value);
  assert.ok(left > 3500 && left <= 3601, value);
  return 'hour';
}

forEachAdapter((adapter) => {
  test('past its quota a client is answered 429, and every answer tells what is left', async (t) => {
    const { send } = await serve(t, adapter, { options: { rateLimit: { permitLimit: 2, window } }, answers });
    const told = (remaining) => ({
      'ratelimit-policy': '"http";q=2;w=3600',
      ratelimit: `"http";r=${remaining};t=hour`,
      'ratelimit-limit': '2',
      'ratelimit-remaining': String(remaining),
      'ratelimit-reset': 'hour',
    });
    for (const [path, remaining] of [['/work', 1], ['/other', 0]]) {
      const answer = await send(path).response;
      assert.deepEqual([answer.status, answer.headers['retry-after']], [200, undefined]);
      assert.deepEqual(quotaHeaders(answer), told(remaining));
    }
    const refused = await send('/work').response;
    const { status, headers, json } = refused;
    assert.deepEqual([status, json], [429, { statusCode: 429, error: 'RATE_LIMITED', message: QUOTA }]);
    assert.deepEqual(Object.keys(json), ['statusCode', 'error', 'message']);
    assert.match(headers['content-type'], /^application\/json/);
    assert.deepEqual(quotaHeaders(refused), told(0));
    assert.match(headers['retry-after'], /^\d+$/);
    assert.ok(Number(headers['retry-after']) >= Number(/t=(\d+)/.exec(headers.ratelimit)[1]));
    assert.equal(Number(headers['retry-after']), Number(headers['ratelimit-reset']));
  });

  for (const [form, told] of [
    ['draft-8', { 'ratelimit-policy': '"api";q=5;w=3600', ratelimit: '"api";r=4;t=hour' }],
    ['draft-7', { 'ratelimit-policy': '5;w=3600', ratelimit: 'limit=5, remaining=4, reset=hour' }],
    [
      'draft-6',
      {
        'ratelimit-policy': '5;w=3600',
        'ratelimit-limit': '5',
        'ratelimit-remaining': '4',
        'ratelimit-reset': 'hour',
      },
    ],
    [
      'legacy',
      { 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4', 'x-ratelimit-reset': 'hour' },
    ],
    [false, {}],
  ]) {
    test(`headers: ${form}`, async (t) => {
      const { send } = await serve(t, adapter, {
        options: { name: 'api', headers: form, rateLimit: { permitLimit: 5, window } },
        answers,
      });
      assert.deepEqual(quotaHeaders(await send('/work').response), told);
    });
  }

  test('without headers, a refused client still hears when to come back', async (t) => {
    const { send } = await serve(t, adapter, {
      options: { headers: false, rateLimit: { permitLimit: 1, window } },
      answers,
    });
    await send('/work').response;
    const refused = await send('/work').response;
    assert.equal(refused.status, 429);
    assert.deepEqual(quotaHeaders(refused), {});
    assert.equal(seconds(refused.headers['retry-after']), 'hour');
  });

  test('each key has a quota of its own, undefined among them', async (t) => {
    const { send } = await serve(t, adapter, {
      options: {
        rateLimit: {
          key: (subject) => adapter.requestOf(subject).headers['x-api-key'],
          permitLimit: 1,
          window,
        },
      },
      answers,
    });
    for (const key of ['a', 'b', undefined]) {
      const headers = key === undefined ? {} : { 'x-api-key': key };
      assert.equal((await send('/work', { headers }).response).status, 200);
      assert.equal((await send('/work', { headers }).response).status, 429);
    }
  });

  test("a key that throws, or is none, is the framework's error", async (t) => {
    for (const key of [
      () => {
        throw Object.assign(new Error('no key'), { status: 500 });
      },
      () => ({}),
    ]) {
      const { send } = await serve(t, adapter, {
        options: { rateLimit: { key, permitLimit: 1, window } },
        answers,
      });
      const warned = adapter.catchesErrors === false ? once(process, 'warning') : undefined;
      assert.equal((await send('/work').response).status, 500);
      await warned;
    }
  });

  test('two admissions on one route: both policies are in the headers', async (t) => {
    const { send } = await serve(t, adapter, {
      options: { name: 'client', rateLimit: { permitLimit: 9, window } },
      also: [{ name: 'route', rateLimit: { permitLimit: 2, window } }],
      answers,
    });
    const told = (client, route) => ({
      'ratelimit-policy': '"client";q=9;w=3600, "route";q=2;w=3600',
      ratelimit: `"client";r=${client};t=hour, "route";r=${route};t=hour`,
      'ratelimit-limit': '2',
      'ratelimit-remaining': String(route),
      'ratelimit-reset': 'hour',
    });
    assert.deepEqual(quotaHeaders(await send('/work').response), told(8, 1));
    assert.deepEqual(quotaHeaders(await send('/work').response), told(7, 0));
    const refused = await send('/work').response;
    assert.equal(refused.status, 429);
    assert.deepEqual(quotaHeaders(refused), told(6, 0));
  });

  test('a client that has nothing left of two quotas is told to wait for both', async (t) => {
    const { send } = await serve(t, adapter, {
      options: { name: 'client', headers: 'draft-6', rateLimit: { permitLimit: 2, window } },
      also: [{ name: 'route', headers: 'draft-6', rateLimit: { permitLimit: 1, window: '1m' } }],
      answers,
    });
    assert.equal((await send('/work').response).status, 200);
    const refused = await send('/work').response;
    assert.equal(refused.status, 429);
    assert.equal(seconds(refused.headers['retry-after']), 'hour');
    const { 'ratelimit-limit': limit, 'ratelimit-reset': reset } = refused.headers;
    assert.deepEqual([limit, reset], ['2', refused.headers['retry-after']]);
  });

  test('a request refused for want of capacity tells of the cap as well, and is counted', async (t) => {
    const { held, answers } = nativeHeldRoute();
    const { send } = await serve(t, adapter, {
      options: { concurrency: { permitLimit: 1 }, rateLimit: { permitLimit: 9, window } },
      answers,
    });
    const first = send('/work');
    await until(() => held.length === 1);
    const refused = await send('/work').response;
    assertAnswer(refused, 503, 'BULKHEAD_FULL', FULL);
    assert.deepEqual(
      [refused.headers['ratelimit-policy'], quotaHeaders(refused).ratelimit],
      ['"http";q=9;w=3600, "http";q=1;qu="concurrent-requests"', '"http";r=7;t=hour'],
    );
    held[0].answer({ text: 'first' });
    assert.equal((await first.response).status, 200);
  });

  test('a 404, a HEAD, an OPTIONS and a failed request are each counted once', async (t) => {
    const { send } = await serve(t, adapter, {
      options: { rateLimit: { permitLimit: 9, window } },
      answers: {
        ...answers,
        'GET /fail': () => Promise.reject(Object.assign(new Error('failed'), { status: 500, statusCode: 500 })),
      },
    });
    let left = 9;
    for (const [method, path] of [
      ['GET', '/work'],
      ['HEAD', '/work'],
      ['OPTIONS', '/work'],
      ['GET', '/unknown'],
      ['POST', '/unknown'],
      ['GET', '/fail'],
    ]) {
      const warned = adapter.catchesErrors === false && path === '/fail' ? once(process, 'warning') : undefined;
      const { headers } = await send(path, { method }).response;
      await warned;
      left -= 1;
      // Koa takes all headers from a response before it answers an error.
      const told = adapter.Koa !== undefined && path === '/fail' ? undefined : String(left);
      assert.equal(headers['ratelimit-remaining'], told, `${method} ${path}`);
    }
  });

  test('a skipped request is not counted, nor told anything', async (t) => {
    const { send } = await serve(t, adapter, {
      options: {
        rateLimit: { permitLimit: 1, window },
        skip: (subject) => adapter.requestOf(subject).url === '/other',
      },
      answers,
    });
    for (let index = 0; index < 3; index++) {
      const answer = await send('/other').response;
      assert.deepEqual([answer.text, quotaHeaders(answer)], ['other', {}]);
    }
    assert.equal((await send('/work').response).status, 200);
  });
}, allAdapters);
