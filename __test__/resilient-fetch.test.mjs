import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder, isTransient, standardPipeline } from '@ylcnfrht/resilience';
import { resilienceInterceptor, resilientFetch } from '@ylcnfrht/resilience/http';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const URL_OF = 'http://search.test/';
const builder = () => new ResiliencePipelineBuilder();
const retrying = () => builder().addRetry({ delay: 0, maxRetryAttempts: 2, shouldHandle: isTransient }).build();

/** A fetch that answers with one status after the other, the last one for ever, and records its calls. */
function answering(...statuses) {
  const calls = [];
  const fetch = async (input, init) => {
    const status = statuses[Math.min(calls.length, statuses.length - 1)];
    calls.push({ input, init, request: new Request(input, init) });
    return new Response(`status ${status}`, { status });
  };
  return Object.assign(fetch, { calls });
}

test('a call is one execution: 503, 503, 200', async () => {
  const fetch = answering(503, 503, 200);
  const response = await resilientFetch(retrying(), fetch)(URL_OF);
  assert.equal(response.status, 200);
  assert.equal(await response.text(), 'status 200');
  assert.equal(fetch.calls.length, 3);
});

test('the last response is the result when all attempts are used up, and its body can be read', async () => {
  const fetch = answering(503);
  const response = await resilientFetch(retrying(), fetch)(URL_OF);
  assert.equal(await response.text(), 'status 503');
  assert.equal(fetch.calls.length, 3);
});

test('it rejects with what the pipeline rejects with', async () => {
  const boom = new TypeError('fetch failed');
  const fetch = resilientFetch(builder().build(), async () => {
    throw boom;
  });
  assert.equal(await rejection(fetch(URL_OF)), boom);
  const pipeline = builder().addConcurrencyLimiter(1).build();
  const held = hold(pipeline);
  assert.equal((await rejection(resilientFetch(pipeline)(URL_OF))).code, 'BULKHEAD_FULL');
  held.finish();
  await held.promise;
  pipeline.dispose();
  assert.equal((await rejection(resilientFetch(pipeline)(URL_OF))).code, 'PIPELINE_DISPOSED');
});

test('the default fetch is looked up at each call', async (t) => {
  const fetch = resilientFetch(builder().build());
  const seen = [];
  for (const name of ['first', 'second']) {
    t.mock.method(globalThis, 'fetch', async (input) => {
      seen.push(name, input);
      return new Response();
    });
    await fetch(name);
  }
  assert.deepEqual(seen, ['first', 'first', 'second', 'second']);
});

for (const [method, calls] of [
  ['GET', 3],
  ['get', 3],
  ['HEAD', 3],
  ['OPTIONS', 3],
  ['PUT', 3],
  ['DELETE', 3],
  ['POST', 1],
  ['post', 1],
  ['PATCH', 1],
  ['PROPFIND', 1],
]) {
  test(`${method} is sent ${calls === 1 ? 'once' : 'again'}`, async () => {
    const fetch = answering(503);
    const response = await resilientFetch(retrying(), fetch)(URL_OF, { method });
    assert.equal(response.status, 503);
    assert.equal(fetch.calls.length, calls);
    const byRequest = answering(503);
    await resilientFetch(retrying(), byRequest)(new Request(URL_OF, { method }));
    assert.equal(byRequest.calls.length, calls);
  });
}

test('TRACE, which fetch itself refuses, is idempotent', async () => {
  let calls = 0;
  const fetch = async () => new Response('', { status: (calls += 1) < 3 ? 503 : 200 });
  await resilientFetch(retrying(), fetch)(URL_OF, { method: 'TRACE' });
  assert.equal(calls, 3);
});

test('an Idempotency-Key makes a POST one that is sent again', async () => {
  for (const headers of [
    { 'Idempotency-Key': 'a1' },
    [['idempotency-key', 'a1']],
    new Headers({ 'IDEMPOTENCY-KEY': 'a1' }),
  ]) {
    const fetch = answering(503, 200);
    const response = await resilientFetch(retrying(), fetch)(URL_OF, { method: 'POST', headers, body: '{}' });
    assert.equal(response.status, 200);
    for (const { request } of fetch.calls) {
      assert.equal(request.headers.get('idempotency-key'), 'a1');
      assert.equal(await request.text(), '{}');
    }
  }
  const fetch = answering(503, 200);
  await resilientFetch(retrying(), fetch)(
    new Request(URL_OF, { method: 'POST', headers: { 'Idempotency-Key': 'a1' } }),
  );
  assert.equal(fetch.calls.length, 2);
});

test('a body that is there as a whole is sent again', async () => {
  const form = new FormData();
  form.set('name', 'value');
  for (const body of [
    undefined,
    null,
    '',
    'text',
    Buffer.from('bytes'),
    new Uint8Array([1]),
    new DataView(new ArrayBuffer(1)),
    new ArrayBuffer(1),
    new URLSearchParams('a=1'),
    form,
    new Blob(['blob']),
  ]) {
    const fetch = answering(503);
    await resilientFetch(retrying(), fetch)(URL_OF, { method: 'PUT', body });
    assert.equal(fetch.calls.length, 3, String(body));
  }
});

test('one that may be gone once sent is not', async () => {
  async function* iterate() {
    yield new Uint8Array(1);
  }
  for (const body of [new ReadableStream(), iterate(), [new Uint8Array(1)].values()]) {
    let calls = 0;
    const fetch = async () => new Response('', { status: (calls += 1) && 503 });
    await resilientFetch(retrying(), fetch)(URL_OF, { method: 'PUT', body, duplex: 'half' });
    assert.equal(calls, 1);
  }
  const fetch = answering(503);
  await resilientFetch(retrying(), fetch)(new Request(URL_OF, { method: 'PUT', body: 'text' }));
  assert.equal(fetch.calls.length, 1);
  assert.equal(await fetch.calls[0].request.text(), 'text');
});

test('what is not repeated is not hedged either', async (t) => {
  simulate(t);
  const pipeline = builder().addHedging({ delay: 10 }).build();
  for (const [method, expected] of [
    ['POST', 1],
    ['GET', 2],
  ]) {
    let calls = 0;
    const fetch = () => {
      calls += 1;
      return new Promise((resolve) => setTimeout(() => resolve(new Response()), 50));
    };
    const result = resilientFetch(pipeline, fetch)(URL_OF, { method });
    await turn();
    t.mock.timers.tick(20);
    await turn();
    assert.equal(calls, expected, method);
    t.mock.timers.tick(100);
    await result;
  }
});

test('everything else of a call reaches fetch as it was', async () => {
  const fetch = answering(200);
  const input = new URL(URL_OF);
  const headers = { accept: 'text/plain' };
  const init = { method: 'PUT', headers, body: 'text', redirect: 'manual', mine: 1 };
  await resilientFetch(builder().build(), fetch)(input, init);
  const [call] = fetch.calls;
  assert.equal(call.input, input);
  const { signal, ...rest } = call.init;
  assert.equal(signal instanceof AbortSignal, true);
  assert.deepEqual(rest, init);
  assert.equal(rest.headers, headers);
  assert.deepEqual(Object.keys(init), ['method', 'headers', 'body', 'redirect', 'mine']);
});

test('a Request serves as input, with and without init, and as init', async () => {
  const request = new Request(URL_OF, { method: 'PUT', headers: { accept: 'text/plain' }, body: 'text' });
  const pipeline = builder().addTimeout('5s').build();
  for (const args of [
    [request.clone()],
    [request.clone(), { headers: { accept: 'text/plain' } }],
    [URL_OF, request.clone()],
  ]) {
    const fetch = answering(200);
    await resilientFetch(pipeline, fetch)(...args);
    const sent = fetch.calls[0].request;
    assert.deepEqual([sent.url, sent.method, sent.headers.get('accept')], [URL_OF, 'PUT', 'text/plain']);
    assert.match(sent.headers.get('x-request-timeout-ms'), /^\d+$/);
    assert.equal(await sent.text(), 'text');
  }
});

test("each attempt has a signal of its own, and the caller's aborts the execution", async () => {
  const signals = [];
  const fetch = async (_input, { signal }) => {
    signals.push(signal);
    if (signals.length === 1) return new Response('', { status: 503 });
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  };
  for (const give of [
    (signal) => [URL_OF, { signal }],
    (signal) => [new Request(URL_OF, { signal })],
    (signal) => [new Request(URL_OF), { signal }],
  ]) {
    const controller = new AbortController();
    const result = resilientFetch(retrying(), fetch)(...give(controller.signal));
    result.catch(() => {});
    await turn();
    assert.equal(signals.length, 2);
    assert.notEqual(signals[0], signals[1]);
    const reason = new Error('enough');
    controller.abort(reason);
    assert.equal(await rejection(result), reason);
    assert.equal(signals[1].reason, reason);
    assert.equal(signals[0].aborted, false);
    signals.length = 0;
  }
  assertIdle();
});

test('a signal that has aborted already: nothing is sent', async () => {
  const fetch = answering(200);
  const reason = new Error('before');
  const signal = AbortSignal.abort(reason);
  assert.equal(await rejection(resilientFetch(retrying(), fetch)(URL_OF, { signal })), reason);
  assert.equal(fetch.calls.length, 0);
});

test('init.signal: null takes the signal of a Request away', async () => {
  const fetch = answering(200);
  const request = new Request(URL_OF, { signal: AbortSignal.abort(new Error('before')) });
  const response = await resilientFetch(retrying(), fetch)(request, { signal: null });
  assert.equal(response.status, 200);
});

test('Retry-After is waited for', async (t) => {
  simulate(t);
  const calls = [];
  const fetch = async () => {
    calls.push(Date.now());
    if (calls.length > 1) return new Response();
    return new Response('', { status: 429, headers: { 'Retry-After': '3' } });
  };
  const pipeline = standardPipeline({ retry: { delay: 1 } });
  const result = resilientFetch(pipeline, fetch)(URL_OF);
  await turn();
  t.mock.timers.tick(2999);
  await turn();
  assert.equal(calls.length, 1);
  t.mock.timers.tick(1);
  await turn();
  assert.equal(calls.length, 2);
  assert.equal((await result).status, 200);
});

test('the remaining budget is sent in whole milliseconds, anew with each attempt', async (t) => {
  simulate(t);
  const fetch = answering(503, 503, 503, 200);
  const pipeline = builder()
    .addTimeout(1000.9)
    .addRetry({ delay: 400, shouldHandle: isTransient })
    .build();
  const result = resilientFetch(pipeline, fetch)(URL_OF);
  await turn();
  for (const ms of [400, 400]) {
    t.mock.timers.tick(ms);
    await turn();
  }
  const budgets = fetch.calls.map(({ request }) => request.headers.get('x-request-timeout-ms'));
  assert.equal(budgets.length, 3);
  assert.deepEqual(budgets, ['1000', '600', '200']);
  assert.equal((await result).status, 503);
});

test('it is the nearest deadline of all executions around, and at least 1', async (t) => {
  simulate(t);
  const outer = builder().addTimeout(50).build();
  const inner = builder().addTimeout('5s').build();
  const fetch = answering(200);
  await outer.execute(() => resilientFetch(inner, fetch)(URL_OF));
  const brief = builder().addTimeout(0.5).build();
  await resilientFetch(brief, fetch)(URL_OF);
  await resilientFetch(builder().build(), fetch)(URL_OF);
  const budgets = fetch.calls.map(({ request }) => request.headers.get('x-request-timeout-ms'));
  assert.deepEqual(budgets, ['50', '1', null]);
});

test('deadlineHeader names another header, or none; one that the caller has set stays', async (t) => {
  simulate(t);
  const pipeline = builder().addTimeout(1000).build();
  const sent = async (options, headers) => {
    const fetch = answering(200);
    await resilientFetch(pipeline, fetch, options)(URL_OF, { headers });
    return [...fetch.calls[0].request.headers];
  };
  assert.deepEqual(await sent({ deadlineHeader: 'X-Budget' }, { accept: '*/*' }), [
    ['accept', '*/*'],
    ['x-budget', '1000'],
  ]);
  assert.deepEqual(await sent({ deadlineHeader: false }), []);
  assert.deepEqual(await sent({ deadlineHeader: undefined }), [['x-request-timeout-ms', '1000']]);
  assert.deepEqual(await sent({}, { 'X-Request-Timeout-Ms': '7' }), [['x-request-timeout-ms', '7']]);
});

test('wrong arguments are named, for both', async () => {
  const pipeline = builder().build();
  for (const make of [
    (given, options) => resilientFetch(given, undefined, options),
    (given, options) => resilienceInterceptor(given, options),
  ]) {
    for (const value of [undefined, null, {}, builder(), () => {}, 'x']) {
      assert.throws(() => make(value), { name: 'TypeError', message: /^pipeline must be a ResiliencePipeline, / });
    }
    for (const deadlineHeader of [true, '', 'a b', 'a:', 5, null, {}]) {
      assert.throws(() => make(pipeline, { deadlineHeader }), {
        name: 'TypeError',
        message: /^deadlineHeader must be the name of a header, or false, not /,
      });
    }
    assert.throws(() => make(pipeline, { header: 'x' }), {
      name: 'TypeError',
      message: /^resilien\w+ has no option 'header'; it takes deadlineHeader$/,
    });
    assert.throws(() => make(pipeline, null), { name: 'TypeError', message: /^the options of resilien\w+ must / });
  }
  for (const fetch of [null, 'fetch', {}, { deadlineHeader: false }]) {
    assert.throws(() => resilientFetch(pipeline, fetch), {
      name: 'TypeError',
      message: /^fetch must be a function, not /,
    });
  }
  const fetch = resilientFetch(pipeline, answering(200));
  const refused = await rejection(fetch(URL_OF, 'POST'));
  assert.equal(refused.name, 'TypeError');
  assert.equal(refused.message, "the init of fetch must be an object, not 'POST'");
  assert.equal((await rejection(fetch(URL_OF, { signal: 5 }))).message, 'signal must be an AbortSignal, not 5');
  assert.equal((await fetch(URL_OF, null)).status, 200);
});
