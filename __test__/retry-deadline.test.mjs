import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import test from 'node:test';
import { Client } from 'undici';
import { ResiliencePipelineBuilder, retryBudget, standardPipeline } from '@ylcnfrht/resilience';
import { resilienceInterceptor, resilientFetch, withResilience } from '@ylcnfrht/resilience/http';
import { advance, attempted, scripted } from './support/attempts.mjs';
import { hold, simulate, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const builder = (options) => new ResiliencePipelineBuilder(options);
const boom = new Error('boom');
const late = Object.assign(new Error('busy'), { headers: { 'retry-after': '60' } });

/** Settles at once: no time passes in the test. */
async function atOnce(promise) {
  const missing = Symbol('pending');
  await turn();
  const outcome = await Promise.race([promise, Promise.resolve(missing)]);
  assert.notEqual(outcome, missing, 'it must not wait');
  return outcome;
}

for (const [what, error, options] of [
  ['Retry-After', late, { delay: 0 }],
  ['its own backoff', boom, { delay: '2s' }],
  ['its generator', boom, { delay: 0, delayGenerator: () => '1s' }],
  ['a delay as long as the deadline', boom, { delay: '1s' }],
]) {
  test(`a retry that ${what} puts behind the deadline is not made: the last outcome at once`, async (t) => {
    simulate(t);
    const retried = [];
    const told = [];
    const pipeline = builder({ telemetry: ({ name, args }) => name === 'OnRetrySkipped' && told.push(args) })
      .addConcurrencyLimiter(1)
      .addTimeout('1s')
      .addRetry({ ...options, onRetry: (args) => retried.push(args) })
      .build();
    const callback = scripted(error);
    const outcome = await atOnce(pipeline.settle(callback));
    assert.equal(outcome.error, error);
    assert.deepEqual([callback.calls, retried.length, told.length], [1, 0, 1]);
    assert.deepEqual([told[0].outcome.error, told[0].attemptNumber, told[0].remaining], [error, 0, 1000]);
    assert.ok(told[0].retryDelay >= 1000);
    assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
  });
}

test('a retry that fits is made, and the one after it that does not is not', async (t) => {
  simulate(t);
  const pipeline = builder().addTimeout('1s').addRetry({ delay: 400, backoffType: 'exponential' }).build();
  const callback = scripted(boom);
  const outcome = pipeline.settle(callback);
  await turn();
  assert.equal(callback.calls, 1);
  await advance(t, 400);
  assert.equal(callback.calls, 2);
  assert.equal((await atOnce(outcome)).error, boom);
  assertIdle();
});

test('a deadline inside of the retry, or none, is no reason to give up', async (t) => {
  simulate(t);
  const retry = { delay: '5s' };
  for (const chain of [builder().addRetry(retry).addTimeout('1s'), builder().addRetry(retry)]) {
    const result = chain.build().execute(scripted(boom, 'fine'));
    await turn();
    await advance(t, 5000);
    assert.equal(await result, 'fine');
  }
});

test('the deadlines of enclosing executions count, however far up, and of whatever pipeline', async (t) => {
  simulate(t);
  const outer = builder().addTimeout('3s').build();
  const kept = { fallbackValue: 'none', shouldHandle: () => false };
  const middle = builder().addFallback(kept).addConcurrencyLimiter(1).build();
  const inner = builder().addTimeout('1h').addRetry({ delay: '5s' }).build();
  const plain = builder().addRetry({ delay: '5s' }).build();
  for (const pipeline of [inner, plain]) {
    const callback = scripted(boom);
    const hedged = builder().addHedging({ delay: Infinity, shouldHandle: () => false }).build();
    const outcome = outer.settle(() => middle.execute(() => hedged.execute(() => pipeline.execute(callback))));
    for (let turns = 0; turns < 5; turns += 1) await turn();
    assert.equal((await atOnce(outcome)).error, boom);
    assert.equal(callback.calls, 1);
  }
  assertIdle(middle.getStrategy('ConcurrencyLimiter'));
});

test('a retry that is not made takes nothing of the budget', async (t) => {
  simulate(t);
  const budget = retryBudget({ ratio: 0, minPerSecond: 1 });
  const pipeline = builder().addTimeout('1s').addRetry({ delay: '2s', budget }).build();
  const before = budget.balance;
  await atOnce(pipeline.settle(scripted(boom)));
  assert.equal(budget.balance, before);
});

test('an onRetry that takes until the deadline is near ends it with the outcome as well', async (t) => {
  simulate(t);
  const gate = attempted();
  const pipeline = builder().addTimeout('1s').addRetry({ delay: 500, onRetry: gate }).build();
  const outcome = pipeline.settle(scripted(boom));
  await turn();
  await advance(t, 600);
  gate.attempts[0].finish();
  assert.equal((await atOnce(outcome)).error, boom);
  assertIdle();
});

test('an open circuit that stays open beyond the deadline is told at once', async (t) => {
  simulate(t);
  const pipeline = builder()
    .addTimeout('1s')
    .addRetry({ delay: 0 })
    .addCircuitBreaker({ consecutiveFailures: 1, breakDuration: '5s' })
    .build();
  const outcome = await atOnce(pipeline.settle(scripted(boom)));
  assert.equal(outcome.error.code, 'CIRCUIT_OPEN');
});

test('standardPipeline ends with the 503 of a server that asks for more time than there is', async (t) => {
  simulate(t);
  const pipeline = standardPipeline({ totalTimeout: '20s' });
  const busy = { status: 503, headers: { 'Retry-After': '30' } };
  assert.equal((await atOnce(pipeline.settle(scripted(busy)))).result, busy);
});

test('hedging has no outcome to keep: its attempt runs on to the deadline, and a failure hedges at once', async (t) => {
  simulate(t);
  const pipeline = builder().addTimeout('1s').addHedging({ delay: '5s' }).build();
  assert.equal(await atOnce(pipeline.execute(scripted(boom, 'fine'))), 'fine');
  const held = hold(pipeline);
  await advance(t, 999);
  held.finish('slow');
  assert.equal(await held.promise, 'slow');
});

/** A server that asks for more time than anybody has. */
async function busyServer(t) {
  const server = createServer((_req, res) => {
    server.requests = (server.requests ?? 0) + 1;
    res.writeHead(429, { 'Retry-After': '60' }).end('come back later');
  });
  await once(server.listen(0), 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, url: `http://localhost:${server.address().port}` };
}

const handles429 = ({ outcome }) => (outcome.result?.status ?? outcome.result?.statusCode) === 429;

test('resilientFetch gives the last response, whose body can be read', async (t) => {
  const { server, url } = await busyServer(t);
  const pipeline = builder().addConcurrencyLimiter(1).addTimeout('30s').addRetry({ shouldHandle: handles429 }).build();
  const response = await resilientFetch(pipeline)(url);
  assert.equal(await response.text(), 'come back later');
  assert.deepEqual([response.status, server.requests], [429, 1]);
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('so does the interceptor of undici', async (t) => {
  const { server, url } = await busyServer(t);
  const pipeline = builder().addConcurrencyLimiter(1).addTimeout('30s').addRetry({ shouldHandle: handles429 }).build();
  const client = new Client(url).compose(resilienceInterceptor(pipeline));
  t.after(() => client.close());
  const { statusCode, body } = await client.request({ path: '/', method: 'GET' });
  assert.equal(await body.text(), 'come back later');
  assert.deepEqual([statusCode, server.requests], [429, 1]);
  assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
});

test('the deadline of an inbound request counts, until its answer has begun', async (t) => {
  const { url } = await busyServer(t);
  const fetched = resilientFetch(builder().addRetry({ maxRetryAttempts: 1, shouldHandle: handles429 }).build());
  const listener = withResilience(
    async (req, res) => {
      if (req.url === '/streams') {
        res.writeHead(200).write('begun');
        const again = builder().addRetry({ delay: 1 }).build();
        res.end(`, ${await again.execute(scripted(boom, 'again'))}`);
        return;
      }
      const response = await fetched(url);
      res.writeHead(response.status).end(await response.text());
    },
    { timeout: '30s' },
  );
  const server = createServer(listener);
  await once(server.listen(0), 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const own = `http://localhost:${server.address().port}`;
  const response = await fetch(own);
  assert.deepEqual([response.status, await response.text()], [429, 'come back later']);
  assert.equal(await (await fetch(`${own}/streams`)).text(), 'begun, again');
});

test('behind the first byte of an inbound request nothing remains to count against', async (t) => {
  const remaining = [];
  const listener = withResilience(
    (_req, res) => {
      const pipeline = builder().build();
      pipeline.execute(({ remaining: before }) => remaining.push(before));
      res.write('begun');
      pipeline.execute(({ remaining: after }) => remaining.push(after));
      res.end();
    },
    { timeout: '30s' },
  );
  const server = createServer(listener);
  await once(server.listen(0), 'listening');
  t.after(() => server.close());
  await (await fetch(`http://localhost:${server.address().port}`)).text();
  assert.equal(typeof remaining[0], 'number');
  assert.equal(remaining[1], undefined);
});
