// The interceptor between a handler and a dispatcher that the test plays itself.
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import test from 'node:test';
import { ResiliencePipelineBuilder, isTransient } from '@ylcnfrht/resilience';
import { resilienceInterceptor } from '@ylcnfrht/resilience/http';
import { hold, rejection, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const builder = () => new ResiliencePipelineBuilder();
const GET = { origin: 'http://search.test', path: '/', method: 'GET' };

/** What undici gives an attempt to control it by. */
class Controller {
  did = [];
  rawHeaders = null;
  rawTrailers = null;
  pause = () => this.did.push('pause');
  resume = () => this.did.push('resume');
  abort = (reason) => {
    this.did.push('abort');
    this.abortedBy = reason;
  };
}

/**
 * Sends a request through the interceptor.
 *
 * @returns The attempts, each with its `handler` and `controller`, and what was told to the request's handler.
 */
function send(pipeline, { overrides = {}, answer = true, start = true, request = GET } = {}) {
  const attempts = [];
  const told = [];
  const dispatch = (options, handler) => {
    const controller = new Controller();
    const attempt = { options, handler, controller };
    attempt.start = () => handler.onRequestStart(controller, { attempt: attempts.length });
    attempt.head = (statusCode, headers = {}) => handler.onResponseStart(controller, statusCode, headers, 'text');
    attempt.data = (text) => handler.onResponseData(controller, text);
    attempt.end = () => handler.onResponseEnd(controller, { trailer: '1' });
    attempt.fail = (error) => handler.onResponseError(controller, error);
    attempts.push(attempt);
    if (typeof answer === 'function') return answer();
    if (start) attempt.start();
    return answer;
  };
  const sent = { attempts, told };
  const names = ['Start', 'Data', 'End', 'Error'].map((part) => `onResponse${part}`);
  const handler = {
    onRequestStart(controller, context) {
      told.push('onRequestStart');
      Object.assign(sent, { controller, context });
      overrides.onRequestStart?.(controller);
    },
  };
  for (const name of names) {
    handler[name] = (controller, ...args) => {
      assert.equal(controller, sent.controller);
      told.push(name, ...args);
      overrides[name]?.(controller, ...args);
    };
  }
  sent.answered = resilienceInterceptor(pipeline)(dispatch)(request, handler);
  return sent;
}

test('the handler hears one request, whatever the attempts', async () => {
  const pipeline = builder().addRetry({ delay: 0, shouldHandle: isTransient }).build();
  const { attempts, told, context } = send(pipeline);
  assert.deepEqual(told, ['onRequestStart']);
  attempts[0].head(503);
  attempts[0].data('busy');
  await turn();
  assert.deepEqual(attempts[0].controller.did, ['pause', 'resume', 'abort']);
  assert.equal(attempts[0].controller.abortedBy.name, 'AbortError');
  attempts[0].fail(attempts[0].controller.abortedBy);
  const lost = Object.assign(new Error('connection lost'), { code: 'UND_ERR_SOCKET' });
  attempts[1].fail(lost);
  await turn();
  attempts[2].head(200, { a: '1' });
  assert.deepEqual(told, ['onRequestStart']);
  await turn();
  assert.deepEqual(attempts[2].controller.did, ['pause', 'resume']);
  attempts[2].data('all');
  attempts[2].end();
  assert.deepEqual(told, [
    'onRequestStart',
    ...['onResponseStart', 200, { a: '1' }, 'text'],
    ...['onResponseData', 'all'],
    ...['onResponseEnd', { trailer: '1' }],
  ]);
  assert.deepEqual(context, { attempt: 3 });
  assert.equal(attempts.length, 3);
});

test('a response that ends while it is resumed is not aborted', async () => {
  const pipeline = builder().addRetry({ delay: 0, shouldHandle: isTransient }).build();
  const { attempts } = send(pipeline);
  attempts[0].controller.resume = () => {
    attempts[0].data('busy');
    attempts[0].end();
  };
  attempts[0].head(503);
  await turn();
  assert.deepEqual(attempts[0].controller.did, ['pause']);
  assert.equal(attempts.length, 2);
});

test('one that has ended already is left alone', async () => {
  const pipeline = builder().addRetry({ delay: 0, shouldHandle: isTransient }).build();
  const { attempts } = send(pipeline);
  attempts[0].head(503);
  attempts[0].data('busy');
  attempts[0].end();
  await turn();
  assert.deepEqual(attempts[0].controller.did, ['pause']);
  assert.equal(attempts.length, 2);
});

test('what no strategy lets go of goes at the end', async () => {
  const pipeline = builder().addFallback({ fallbackValue: 'value', shouldHandle: isTransient }).build();
  const { attempts, told } = send(pipeline);
  attempts[0].head(503);
  await turn();
  assert.deepEqual(attempts[0].controller.did, ['pause', 'resume', 'abort']);
  assert.equal(told.at(-1).name, 'TypeError');
});

test('an enclosing execution is not followed by a response that has ended, or that comes too late', async () => {
  const outer = builder().build();
  const controller = new AbortController();
  const reason = new Error('enough');
  const telemetry = ({ name }) => {
    if (name === 'PipelineExecuted') controller.abort(reason);
  };
  await outer.execute(async ({ signal }) => {
    const { attempts, told } = send(builder().build());
    attempts[0].head(200);
    attempts[0].end();
    await turn();
    assert.equal(told.includes('onResponseEnd'), true);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });
  let late;
  const result = outer.execute(
    async () => {
      late = send(new ResiliencePipelineBuilder({ telemetry }).build());
      late.attempts[0].head(200);
      await turn();
    },
    { signal: controller.signal },
  );
  assert.equal(await rejection(result), reason);
  await turn();
  assert.equal(late.attempts[0].controller.abortedBy, reason);
});

test('what comes before the decision is told in its order', async () => {
  for (const last of ['end', 'fail']) {
    const { attempts, told } = send(builder().build());
    attempts[0].head(103, { link: 'x' });
    attempts[0].head(200);
    attempts[0].data('first');
    attempts[0].data('second');
    attempts[0][last]('broken');
    await turn();
    assert.deepEqual(told, [
      'onRequestStart',
      ...['onResponseStart', 103, { link: 'x' }, 'text'],
      ...['onResponseStart', 200, {}, 'text'],
      ...['onResponseData', 'first', 'onResponseData', 'second'],
      ...(last === 'end' ? ['onResponseEnd', { trailer: '1' }] : ['onResponseError', 'broken']),
    ]);
    // It is over: whoever has the connection now is left alone.
    assert.deepEqual(attempts[0].controller.did, ['pause']);
  }
});

test('so is what the telling brings about', async () => {
  const { attempts, told } = send(builder().build(), {
    overrides: {
      onResponseStart: () => attempts[0].data('second'),
    },
  });
  attempts[0].head(200);
  attempts[0].data('first');
  await turn();
  assert.deepEqual(told.slice(4), ['text', 'onResponseData', 'first', 'onResponseData', 'second']);
});

test('a handler that pauses keeps the response paused', async () => {
  const { attempts, controller } = send(builder().build(), {
    overrides: { onResponseStart: (control) => control.pause() },
  });
  attempts[0].head(200);
  await turn();
  assert.deepEqual(attempts[0].controller.did, ['pause', 'pause']);
  assert.equal(controller.paused, true);
  controller.resume();
  assert.deepEqual(attempts[0].controller.did, ['pause', 'pause', 'resume']);
  assert.equal(controller.paused, false);
});

test('a handler that throws ends the response with its error', async () => {
  const boom = new Error('boom');
  const overrides = {
    onResponseStart: () => {
      throw boom;
    },
  };
  const open = send(builder().build(), { overrides });
  open.attempts[0].head(200);
  await turn();
  assert.equal(open.attempts[0].controller.abortedBy, boom);
  open.attempts[0].fail(boom);
  assert.deepEqual(open.told.slice(-2), ['onResponseError', boom]);

  const ended = send(builder().build(), { overrides });
  ended.attempts[0].head(200);
  ended.attempts[0].end();
  await turn();
  assert.equal(ended.attempts[0].controller.abortedBy, undefined);
  assert.deepEqual(ended.told.slice(-2), ['onResponseError', boom]);
});

test('an abort reaches the attempt: at once, as soon as it starts, and after the decision', async () => {
  const reason = new Error('enough');
  const running = send(builder().build());
  running.controller.abort(reason);
  assert.equal(running.attempts[0].controller.abortedBy, reason);
  assert.deepEqual([running.controller.aborted, running.controller.reason], [true, reason]);
  await turn();
  assert.deepEqual(running.told, ['onRequestStart', 'onResponseError', reason]);
  // What undici says about it is known already.
  running.attempts[0].fail(reason);
  assert.equal(running.told.length, 3);

  const queued = send(builder().build(), { start: false });
  queued.controller.abort(reason);
  await turn();
  assert.deepEqual(queued.told, ['onRequestStart', 'onResponseError', reason]);
  queued.attempts[0].start();
  assert.equal(queued.attempts[0].controller.abortedBy, reason);

  const reading = send(builder().build());
  assert.deepEqual([reading.controller.aborted, reading.controller.reason], [false, null]);
  reading.attempts[0].head(200);
  await turn();
  reading.controller.abort(reason);
  assert.equal(reading.attempts[0].controller.abortedBy, reason);
  reading.attempts[0].fail(reason);
  assert.deepEqual(reading.told.slice(-2), ['onResponseError', reason]);

  const never = send(builder().build(), { overrides: { onRequestStart: (control) => control.abort(reason) } });
  await turn();
  assert.deepEqual([never.attempts.length, never.told.slice(1)], [0, ['onResponseError', reason]]);
  assertIdle();
});

test('a response that comes after the end is let go of', async (t) => {
  simulate(t);
  const first = () => ({
    name: 'First',
    execute: (next, context) => Promise.race([next(context), next(context)]),
  });
  const both = send(builder().add(first).build());
  both.attempts[0].head(200);
  await turn();
  both.attempts[1].head(200);
  assert.deepEqual(both.attempts[1].controller.did, ['pause', 'resume', 'abort']);
  assert.deepEqual(both.attempts[0].controller.did, ['pause', 'resume']);

  const timed = send(builder().addTimeout(100).build());
  t.mock.timers.tick(100);
  await turn();
  assert.equal(timed.told.at(-1).code, 'TIMEOUT');
  assert.deepEqual(timed.attempts[0].controller.did, ['abort']);
  // A dispatcher that does not mind being told to stop.
  timed.attempts[0].head(200);
  timed.attempts[0].data('late');
  timed.attempts[0].end();
  assert.equal(timed.told.length, 3);
});

test('what the dispatcher throws is the failure of the attempt', async () => {
  const boom = new Error('boom');
  const pipeline = builder().addRetry({ delay: 0, maxRetryAttempts: 2 }).build();
  const { attempts, told } = send(pipeline, {
    answer: () => {
      throw boom;
    },
  });
  await turn();
  assert.equal(attempts.length, 3);
  assert.deepEqual(told, ['onRequestStart', 'onResponseError', boom]);
});

test("the answer is the dispatcher's if the attempt began at once, and otherwise true", async () => {
  assert.equal(send(builder().build(), { answer: false }).answered, false);
  assert.equal(send(builder().build(), { answer: true }).answered, true);
  const pipeline = builder().addConcurrencyLimiter(1, 1).build();
  const held = hold(pipeline);
  const waiting = send(pipeline, { answer: false });
  assert.equal(waiting.answered, true);
  held.finish();
  await turn();
  waiting.attempts[0].head(200);
  await turn();
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('the raw headers are those of the attempt that was taken, to read and to write', async () => {
  const { attempts, controller } = send(builder().build());
  controller.rawHeaders = controller.rawTrailers = ['nowhere'];
  assert.deepEqual([controller.rawHeaders, controller.rawTrailers], [null, null]);
  attempts[0].controller.rawHeaders = ['a', '1'];
  attempts[0].controller.rawTrailers = ['b', '2'];
  attempts[0].head(200);
  await turn();
  assert.deepEqual([controller.rawHeaders, controller.rawTrailers], [['a', '1'], ['b', '2']]);
  controller.rawHeaders = ['c', '3'];
  controller.rawTrailers = ['d', '4'];
  assert.deepEqual(attempts[0].controller.rawHeaders, ['c', '3']);
  assert.deepEqual(attempts[0].controller.rawTrailers, ['d', '4']);
});

test('the options of the request reach the dispatcher as they were, but for the budget', async (t) => {
  simulate(t);
  const plain = send(builder().build());
  assert.equal(plain.attempts[0].options, GET);
  for (const [headers, expected] of [
    [undefined, { 'x-request-timeout-ms': '100' }],
    [null, { 'x-request-timeout-ms': '100' }],
    [{ a: ['1', '2'] }, { a: ['1', '2'], 'x-request-timeout-ms': '100' }],
    [['a', '1'], ['a', '1', 'x-request-timeout-ms', '100']],
    [[['a', '1']], ['a', '1', 'x-request-timeout-ms', '100']],
    [new Map([['a', ['1', '2']]]), ['a', ['1', '2'], 'x-request-timeout-ms', '100']],
    [new Headers({ a: '1' }), ['a', '1', 'x-request-timeout-ms', '100']],
  ]) {
    const request = { ...GET, query: { q: 1 }, headers };
    const { attempts } = send(builder().addTimeout(100).build(), { request });
    assert.deepEqual(attempts[0].options, { ...request, headers: expected });
    assert.equal(request.headers, headers);
    attempts[0].head(200);
  }
  await turn();
});
