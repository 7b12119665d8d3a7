// What becomes of the responses of a resilientFetch: those that are discarded, and the one that is being read.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import test from 'node:test';
import { ResiliencePipelineBuilder, isTransient } from '@ylcnfrht/resilience';
import { resilientFetch } from '@ylcnfrht/resilience/http';
import { collected } from './support/collected.mjs';
import { deferred } from './support/deferred.mjs';
import { rejection, simulate, turn } from './support/hold.mjs';

const URL_OF = 'http://search.test/';
const builder = () => new ResiliencePipelineBuilder();

/** A response whose body goes on until somebody ends it, and says so. */
function streaming(status = 200) {
  const source = { cancelled: false };
  const body = new ReadableStream({
    start: (controller) => {
      source.controller = controller;
      controller.enqueue(Buffer.from('first'));
    },
    cancel: () => {
      source.cancelled = true;
    },
  });
  return Object.assign(new Response(body, { status }), { source });
}

/** As fetch does, a response whose body is ended by the signal of its request. */
function follows(signal, response = streaming()) {
  const { source } = response;
  signal.addEventListener('abort', () => source.controller.error(signal.reason));
  return response;
}

test('a retry cancels the body of a response before its delay, and lets its callbacks read it', async (t) => {
  simulate(t);
  const responses = [streaming(503), new Response('details', { status: 503 }), streaming(200)];
  const sent = [...responses];
  const read = [];
  const pipeline = builder()
    .addRetry({
      delay: 100,
      shouldHandle: isTransient,
      onRetry: async ({ outcome, attemptNumber }) => {
        assert.equal(responses[attemptNumber].source?.cancelled ?? false, false);
        if (attemptNumber === 1) read.push(await outcome.result.text());
      },
    })
    .build();
  const result = resilientFetch(pipeline, async () => sent.shift())(URL_OF);
  await turn();
  assert.equal(responses[0].source.cancelled, true);
  assert.equal(sent.length, 2);
  for (let delays = 0; delays < 2; delays += 1) {
    t.mock.timers.tick(100);
    await turn();
  }
  assert.deepEqual(read, ['details']);
  assert.equal(await result, responses[2]);
  assert.equal(responses[2].source.cancelled, false);
});

test('hedging: of two responses that both are handled, the last to end stays', async () => {
  const responses = [streaming(503), streaming(503)];
  const sent = [...responses];
  const pipeline = builder().addHedging({ delay: Infinity, shouldHandle: isTransient }).build();
  const result = await resilientFetch(pipeline, async () => sent.shift())(URL_OF);
  assert.equal(result, responses[1]);
  assert.deepEqual(responses.map(({ source }) => source.cancelled), [true, false]);
});

test('hedging: one that comes after the result is cancelled, whether or not fetch minds its signal', async (t) => {
  simulate(t);
  const answers = [deferred(), deferred()];
  const pipeline = builder().addHedging({ delay: 10 }).build();
  let calls = 0;
  const signals = [];
  const result = resilientFetch(pipeline, (_input, { signal }) => {
    signals.push(signal);
    return answers[calls++].promise;
  })(URL_OF);
  await turn();
  t.mock.timers.tick(10);
  await turn();
  const [late, fast] = [streaming(), streaming()];
  answers[1].resolve(fast);
  assert.equal(await result, fast);
  assert.deepEqual(signals.map(({ aborted }) => aborted), [true, false]);
  answers[0].resolve(late);
  await turn();
  assert.deepEqual([late, fast].map(({ source }) => source.cancelled), [true, false]);
});

test('hedging: a response whose verdict is out still may win', async (t) => {
  simulate(t);
  const verdict = deferred();
  const responses = [streaming(), streaming()];
  const sent = [...responses];
  const pipeline = builder()
    .addHedging({ delay: 10, shouldHandle: ({ attemptNumber }) => attemptNumber > 0 || verdict.promise })
    .build();
  const result = resilientFetch(pipeline, async () => sent.shift())(URL_OF);
  await turn();
  t.mock.timers.tick(10);
  await turn();
  assert.deepEqual(responses.map(({ source }) => source.cancelled), [false, true]);
  verdict.resolve(false);
  assert.equal(await result, responses[0]);
  assert.equal(responses[0].source.cancelled, false);
});

test('a fallback: the body is cancelled, unless the substitute reads it or is made of it', async () => {
  const call = (response, options) => {
    const pipeline = builder().addFallback({ shouldHandle: isTransient, ...options }).build();
    return resilientFetch(pipeline, async () => response)(URL_OF);
  };
  const substitute = new Response('substitute');
  const replaced = streaming(503);
  assert.equal(await call(replaced, { fallbackValue: substitute }), substitute);
  assert.equal(replaced.source.cancelled, true);

  const kept = streaming(503);
  const action = ({ outcome }) => outcome.result;
  assert.equal(await call(kept, { fallbackAction: action }), kept);
  assert.equal(kept.source.cancelled, false);

  const wrapped = streaming(503);
  const wrapping = ({ outcome }) => new Response(outcome.result.body, { status: 200 });
  const wrapper = await call(wrapped, { fallbackAction: wrapping });
  assert.equal(wrapped.source.cancelled, false);
  wrapped.source.controller.close();
  assert.equal(await wrapper.text(), 'first');

  const copied = new Response('copied', { status: 503 });
  const copying = async ({ outcome }) => new Response(await outcome.result.text());
  assert.equal(await (await call(copied, { fallbackAction: copying })).text(), 'copied');

  const failed = streaming(503);
  const failing = () => Promise.reject(new Error('no substitute'));
  assert.equal((await rejection(call(failed, { fallbackAction: failing }))).message, 'no substitute');
  assert.equal(failed.source.cancelled, true);
});

test('a response that comes after the deadline, or after the abort, is cancelled', async (t) => {
  simulate(t);
  for (const give of [
    () => t.mock.timers.tick(100),
    (controller) => controller.abort(new Error('enough')),
  ]) {
    const controller = new AbortController();
    const answer = deferred();
    const pipeline = builder().addTimeout(100).addRetry({ delay: 0 }).build();
    const result = resilientFetch(pipeline, () => answer.promise)(URL_OF, { signal: controller.signal });
    result.catch(() => {});
    await turn();
    give(controller);
    await rejection(result);
    const late = streaming();
    answer.resolve(late);
    await turn();
    assert.equal(late.source.cancelled, true);
  }
});

test('a response that is there when the deadline passes is cancelled, too', async (t) => {
  simulate(t);
  const response = streaming();
  const pipeline = builder()
    .addTimeout(100)
    .addRetry({ shouldHandle: () => new Promise(() => {}) })
    .build();
  const result = resilientFetch(pipeline, async () => response)(URL_OF);
  result.catch(() => {});
  await turn();
  assert.equal(response.source.cancelled, false);
  t.mock.timers.tick(100);
  assert.equal((await rejection(result)).code, 'TIMEOUT');
  assert.equal(response.source.cancelled, true);
});

test("a strategy of the user's own that runs it twice: what it does not return is cancelled", async () => {
  const responses = [streaming(), streaming()];
  const sent = [...responses];
  const twice = () => ({
    name: 'Twice',
    async execute(next, context) {
      const [first] = await Promise.all([next(context), next(context)]);
      return first;
    },
  });
  const result = await resilientFetch(builder().add(twice).build(), async () => sent.shift())(URL_OF);
  assert.equal(result, responses[0]);
  assert.deepEqual(responses.map(({ source }) => source.cancelled), [false, true]);
});

test('results that are no responses of fetch pass through', async () => {
  const boom = () => {
    throw new Error('not cancellable');
  };
  const odd = [undefined, null, 'text', {}, { body: 'text' }, { body: { cancel: boom } }, { body: {} }];
  for (const value of odd) {
    const { signal } = new AbortController();
    const pipeline = builder().addRetry({ delay: 0, maxRetryAttempts: 1, shouldHandle: () => true }).build();
    assert.equal(await resilientFetch(pipeline, async () => value)(URL_OF, { signal }), value);
  }
});

test("a success aborts nothing, and the pipeline's deadlines are over", async (t) => {
  simulate(t);
  let signal;
  const response = streaming();
  const pipeline = builder().addTimeout(100).addRetry().addHedging().addTimeout(50).build();
  await resilientFetch(pipeline, async (_input, init) => {
    signal = init.signal;
    return follows(signal, response);
  })(URL_OF);
  t.mock.timers.tick(10_000);
  await turn();
  assert.equal(signal.aborted, false);
  response.source.controller.close();
  assert.equal(await response.text(), 'first');
});

test("the caller's signal aborts the reading of the body, as with plain fetch", async () => {
  for (const give of [
    (signal) => [URL_OF, { signal }],
    (signal) => [new Request(URL_OF, { signal })],
  ]) {
    const controller = new AbortController();
    const fetch = resilientFetch(builder().addTimeout('5s').build(), async (_i, init) => follows(init.signal));
    const response = await fetch(...give(controller.signal));
    const text = rejection(response.text());
    await turn();
    const reason = new Error('enough');
    controller.abort(reason);
    assert.equal(await text, reason);
  }
});

test('that holds for a reader of the body, after the response is gone', async () => {
  const controller = new AbortController();
  // The promises of a body made in an ambient context hold that.
  const pipeline = new ResiliencePipelineBuilder({ context: 'explicit' }).build();
  const fetch = resilientFetch(pipeline, async (_input, init) => follows(init.signal));
  const split = async () => {
    const response = await fetch(URL_OF, { signal: controller.signal });
    return [response.body.getReader(), new WeakRef(response)];
  };
  const [reader, response] = await split();
  assert.equal(await collected(response), true);
  const reason = new Error('enough');
  controller.abort(reason);
  assert.equal(await rejection(reader.read()), reason);
});

test('so does an enclosing execution, if the pipeline is ambient', async (t) => {
  simulate(t);
  const outer = builder().addTimeout(100).build();
  for (const [context, aborts] of [
    ['ambient', true],
    ['explicit', false],
  ]) {
    const inner = new ResiliencePipelineBuilder({ context }).addTimeout('5s').build();
    let signal;
    const fetch = resilientFetch(inner, async (_input, init) => {
      signal = init.signal;
      return follows(signal);
    });
    const result = outer.execute(async () => (await fetch(URL_OF)).text());
    result.catch(() => {});
    await turn();
    assert.equal(signal.aborted, false);
    t.mock.timers.tick(100);
    const error = await rejection(result);
    assert.equal(error.code, 'TIMEOUT');
    assert.equal(signal.aborted, aborts);
    if (aborts) assert.equal(signal.reason, error);
  }
});

test('a signal that aborts between the response and its receiver ends the body', async () => {
  const controller = new AbortController();
  const reason = new Error('enough');
  const telemetry = ({ name }) => {
    if (name === 'PipelineExecuted') controller.abort(reason);
  };
  const pipeline = new ResiliencePipelineBuilder({ telemetry }).build();
  const fetch = resilientFetch(pipeline, async (_input, init) => follows(init.signal));
  const response = await fetch(URL_OF, { signal: controller.signal });
  assert.equal(await rejection(response.text()), reason);
});

const listeners = (signal) => getEventListeners(signal, 'abort').length;

test('a long-lived signal has one listener for all bodies, gone with the last of them', async () => {
  const { signal } = new AbortController();
  const fetch = resilientFetch(builder().build(), async () => streaming());
  const responses = [];
  for (let calls = 0; calls < 20; calls += 1) responses.push(await fetch(URL_OF, { signal }));
  assert.equal(listeners(signal), 1);
  const last = responses.pop();
  for (const [index, { source, body }] of responses.entries()) {
    if (index % 3 === 0) source.controller.close();
    else if (index % 3 === 1) source.controller.error(new Error('broken'));
    else await body.cancel();
  }
  for (const response of responses) if (!response.bodyUsed) await response.text().catch(() => {});
  await turn();
  assert.equal(listeners(signal), 1);
  last.source.controller.close();
  assert.equal(await last.text(), 'first');
  await turn();
  assert.equal(listeners(signal), 0);
});

test('a response without a body takes no listener', async () => {
  const { signal } = new AbortController();
  const fetch = resilientFetch(builder().build(), async () => new Response(null, { status: 204 }));
  await fetch(URL_OF, { signal });
  assert.equal(listeners(signal), 0);
});

test('responses that nobody reads are collected, and the listener with them', async () => {
  const { signal } = new AbortController();
  const fetch = resilientFetch(builder().build(), async () => streaming());
  const weak = [];
  for (let calls = 0; calls < 20; calls += 1) weak.push(new WeakRef(await fetch(URL_OF, { signal })));
  assert.equal(listeners(signal), 1);
  for (const reference of weak) assert.equal(await collected(reference), true);
  for (let round = 0; round < 50 && listeners(signal) > 0; round += 1) {
    globalThis.gc();
    await turn();
  }
  assert.equal(listeners(signal), 0);
});
