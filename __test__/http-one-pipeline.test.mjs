// Several middlewares over one pipeline: a request is taken into it once, by the first of them.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ResiliencePipelineBuilder, getResilienceContext } from '@ylcnfrht/resilience';
import { HTTP_REQUEST, protect, withResilience } from '@ylcnfrht/resilience/http';
import { allAdapters, forEachAdapter } from './support/http-adapters.mjs';
import { send as sendHttp1 } from './support/http-client.mjs';
import { nativeHeldRoute } from './support/http-native-route.mjs';
import { FULL, LATE, assertAnswer, listen, serve, until } from './support/http-server.mjs';

forEachAdapter((adapter) => {
  test('each request takes one permit, whoever stands over the pipeline', async (t) => {
    const pipeline = new ResiliencePipelineBuilder({ name: 'shared' })
      .addConcurrencyLimiter({ permitLimit: 1, queueLimit: 1 })
      .addTimeout('5s')
      .build();
    const { held, answers } = nativeHeldRoute();
    const { server, send, limiter } = await serve(t, adapter, {
      options: { pipeline },
      also: [{ pipeline }, { pipeline }],
      answers,
    });
    protect(server, { pipeline });
    protect(server, { pipeline });
    const first = send('/work');
    await until(() => held.length === 1);
    assert.deepEqual([limiter.inflight, limiter.queued], [1, 0]);
    const second = send('/work');
    await until(() => limiter.queued === 1);
    assertAnswer(await send('/work').response, 503, 'BULKHEAD_FULL', FULL);
    held[0].answer({ text: 'first' });
    assert.equal((await first.response).text, 'first');
    await until(() => held.length === 2);
    assert.deepEqual([limiter.inflight, limiter.queued], [1, 0]);
    const [{ req, subject, context }] = held.splice(1);
    assert.equal(context.properties.get(HTTP_REQUEST), req, 'what protect has seen');
    assert.equal(getResilienceContext(subject), context);
    second.request.destroy();
    await assert.rejects(second.response);
    await until(() => limiter.inflight === 0);
  });

  test('two middlewares alone over one pipeline have one deadline and one answer', async (t) => {
    const pipeline = new ResiliencePipelineBuilder({ name: 'shared' }).addConcurrencyLimiter(1).addTimeout(20).build();
    const rejected = [];
    const onRejected = ({ error }) => rejected.push(error.code);
    const { held, answers } = nativeHeldRoute();
    const { send, limiter } = await serve(t, adapter, {
      options: { pipeline, onRejected },
      also: [{ pipeline, onRejected }],
      answers,
    });
    assertAnswer(await send('/work').response, 504, 'TIMEOUT', LATE);
    assert.deepEqual([rejected, limiter.inflight], [['TIMEOUT'], 0]);
    held[0].answer({ text: 'late' });
  });

  test("a pipeline that was made of another adapter's options counts and hears as that one's", async (t) => {
    const { pipeline } = withResilience(() => {}, {
      rateLimit: { permitLimit: 2, window: '1h' },
      deadlineHeader: 'x-within',
    });
    const { held, answers } = nativeHeldRoute();
    const { server, send } = await serve(t, adapter, { options: { pipeline }, answers });
    const limiter = pipeline.getStrategy('RateLimiter');
    assertAnswer(await send('/work', { headers: { 'x-within': '20' } }).response, 504, 'TIMEOUT', LATE);
    held[0].answer({ text: 'late' });
    assert.equal(limiter.availableFor('127.0.0.1'), 1);
    protect(server, { pipeline });
    const second = send('/work');
    await until(() => held.length === 2);
    held[1].answer({ text: 'second' });
    assert.equal((await second.response).text, 'second');
    assert.equal(limiter.availableFor('127.0.0.1'), 0);
    assert.equal((await send('/work').response).status, 429);
  });
}, allAdapters);

test('a listener that fails inside of two over one pipeline is answered 500, and no process ends', async (t) => {
  const pipeline = new ResiliencePipelineBuilder({ name: 'shared' }).addConcurrencyLimiter(1).build();
  const inner = withResilience(() => Promise.reject(new Error('of the listener')), { pipeline });
  const outer = withResilience(inner, { pipeline });
  const { port } = (await listen(t, outer, outer)).address();
  assert.equal((await sendHttp1(port, '/').response).status, 500);
});

test('a pipeline made of the options of an adapter takes nothing but requests', async () => {
  const { pipeline } = withResilience(() => {}, { rateLimit: { permitLimit: 1, window: '1h' } });
  await assert.rejects(pipeline.execute(() => {}), {
    name: 'TypeError',
    message: 'a pipeline made of the options of an adapter takes requests only',
  });
});
