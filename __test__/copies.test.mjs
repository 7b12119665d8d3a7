import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import * as ours from '@ylcnfrht/resilience';
import { resilientFetch, resilienceInterceptor, withResilience } from '@ylcnfrht/resilience/http';
import { hold, rejection, turn } from './support/hold.mjs';
import { assertIdle } from './support/idle.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const require = createRequire(import.meta.url);
const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'copies-')));
test.after(() => rmSync(folder, { recursive: true, force: true }));

/** Loads the package a second time, as a hot reload does. */
function reload() {
  const cached = { ...require.cache };
  for (const file of Object.keys(require.cache)) delete require.cache[file];
  try {
    return { ...require('@ylcnfrht/resilience'), http: require('@ylcnfrht/resilience/http') };
  } finally {
    for (const file of Object.keys(require.cache)) delete require.cache[file];
    Object.assign(require.cache, cached);
  }
}

/** Another installation, of a version of its own. */
function install(version) {
  const where = path.join(folder, version ?? 'same');
  for (const part of ['index.js', 'http.js', 'binding.js', 'lib', 'package.json']) {
    cpSync(path.join(root, part), path.join(where, part), { recursive: true });
  }
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const own = { ...manifest, version: version ?? manifest.version };
  writeFileSync(path.join(where, 'package.json'), JSON.stringify(own));
  writeFileSync(path.join(where, 'lib/version.js'), `module.exports = { version: '${own.version}' };`);
  const binding = `module.exports = require(${JSON.stringify(path.join(root, 'binding.js'))});`;
  writeFileSync(path.join(where, 'binding.js'), binding);
  return { where, ...require(path.join(where, 'index.js')), http: require(path.join(where, 'http.js')) };
}

const copies = { 'a hot reload': reload, 'another installation': () => install() };

for (const [what, load] of Object.entries(copies)) {
  test(`${what}: strategies, budgets, controls and providers work in pipelines of the other copy`, async () => {
    const theirs = load();
    assert.notEqual(theirs.ResiliencePipeline, ours.ResiliencePipeline);
    const budget = theirs.retryBudget({ ratio: 0, minPerSecond: 0.1 });
    const manualControl = new theirs.CircuitBreakerManualControl();
    const stateProvider = new theirs.CircuitBreakerStateProvider();
    const limitProvider = new theirs.AdaptiveLimitProvider();
    let calls = 0;
    const pipeline = new ours.PipelineBuilder()
      .add(theirs.retryStrategy({ maxRetryAttempts: 5, delay: 0, budget }))
      .add(theirs.circuitBreakerStrategy({ manualControl, stateProvider }))
      .add(theirs.adaptiveConcurrencyLimiterStrategy({ initialLimit: 7, limitProvider }))
      .add(theirs.rateLimiterStrategy({ permitLimit: 100, window: '1m' }))
      .add(theirs.concurrencyLimiterStrategy(3, 1))
      .add(theirs.hedgingStrategy({ delay: Infinity, shouldHandle: () => false }))
      .add(theirs.timeoutStrategy('10s'))
      .add(theirs.fallbackStrategy({ fallbackValue: 'none', shouldHandle: () => false }))
      .build();
    const failing = () => {
      calls += 1;
      throw new Error('down');
    };
    await rejection(pipeline.execute(failing));
    assert.deepEqual([calls, budget.balance], [2, 0]);
    const held = hold(pipeline);
    await turn();
    assert.deepEqual([limitProvider.limit, limitProvider.inflight], [7, 1]);
    assert.equal(pipeline.getStrategy('ConcurrencyLimiter').inflight, 1);
    held.finish('fine');
    assert.equal(await held.promise, 'fine');
    manualControl.isolate();
    assert.equal(stateProvider.state, 'isolated');
    assert.equal((await rejection(pipeline.execute(() => 'no'))).code, 'CIRCUIT_ISOLATED');
    manualControl.close();
    assert.equal(await pipeline.execute(() => 'fine'), 'fine');
    const again = () => new ours.ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter({ limitProvider }).build();
    assert.throws(again, /attached to another limiter already/);
    assertIdle(pipeline.getStrategy('ConcurrencyLimiter'));
  });

  test(`${what}: its pipelines send requests`, async (t) => {
    const theirs = load();
    const server = createServer((req, res) => {
      server.requests = (server.requests ?? 0) + 1;
      res.writeHead(server.requests < 2 ? 503 : 200).end(req.headers['x-request-timeout-ms']);
    });
    await once(server.listen(0), 'listening');
    t.after(() => server.close());
    const pipeline = new theirs.ResiliencePipelineBuilder()
      .addTimeout('30s')
      .addRetry({ delay: 0, shouldHandle: ours.isTransient })
      .build();
    const controller = new AbortController();
    const fetch = resilientFetch(pipeline);
    const response = await fetch(`http://localhost:${server.address().port}`, { signal: controller.signal });
    assert.deepEqual([response.status, server.requests], [200, 2]);
    assert.match(await response.text(), /^29\d{3}$|^30000$/);
    const post = await fetch(`http://localhost:${server.address().port}`, { method: 'POST', body: 'x' });
    controller.abort();
    assert.equal(post.status, 200);
    await post.text();
    assert.equal(typeof resilienceInterceptor(pipeline), 'function');
    server.closeAllConnections();
  });

  test(`${what}: its pipelines take requests in, and their context is known there`, async (t) => {
    const theirs = load();
    const pipeline = new theirs.ResiliencePipelineBuilder().addConcurrencyLimiter(2).addTimeout(50).build();
    const limiter = pipeline.getStrategy('ConcurrencyLimiter');
    const seen = [];
    const listener = withResilience(
      (req, res) => {
        const context = theirs.getResilienceContext();
        seen.push(typeof context.remaining, limiter.inflight);
        req.on('end', () => seen.push(theirs.getResilienceContext() === context));
        req.resume();
        if (req.url === '/hangs') context.signal.addEventListener('abort', () => seen.push('aborted'));
        else req.on('close', () => res.end('fine'));
      },
      { pipeline },
    );
    const server = createServer(listener);
    await once(server.listen(0), 'listening');
    t.after(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://localhost:${server.address().port}`;
    assert.equal(await (await fetch(url)).text(), 'fine');
    assert.deepEqual(seen.splice(0), ['number', 1, true]);
    assert.equal((await fetch(`${url}/hangs`)).status, 504);
    assert.deepEqual(seen, ['number', 1, true, 'aborted']);
    assertIdle(limiter);
  });
}

test('of another version: an error that says that there are two copies, and where', () => {
  const theirs = install('0.0.9');
  const pipeline = new theirs.ResiliencePipelineBuilder().addTimeout(5).build();
  const builder = () => new ours.ResiliencePipelineBuilder();
  const attempts = {
    'resilientFetch': () => resilientFetch(pipeline),
    'resilienceInterceptor': () => resilienceInterceptor(pipeline),
    'an adapter': () => withResilience(() => {}, { pipeline }),
    'a strategy': () => builder().add(theirs.retryStrategy()),
    'a budget': () => builder().addRetry({ budget: theirs.retryBudget() }),
    'a control': () => builder().addCircuitBreaker({ manualControl: new theirs.CircuitBreakerManualControl() }),
    'a state provider': () => builder().addCircuitBreaker({ stateProvider: new theirs.CircuitBreakerStateProvider() }),
    'a limit provider': () =>
      builder().addAdaptiveConcurrencyLimiter({ limitProvider: new theirs.AdaptiveLimitProvider() }),
    'the other way round': () => theirs.http.resilientFetch(builder().addTimeout(5).build()),
  };
  for (const [what, attempt] of Object.entries(attempts)) {
    assert.throws(attempt, (error) => {
      assert.equal(error.name, 'TypeError', what);
      assert.match(error.message, /another copy of @ylcnfrht\/resilience: there are two in this process/, what);
      assert.ok(error.message.includes(`0.0.9 in ${theirs.where}`), error.message);
      assert.ok(error.message.includes(path.dirname(fileURLToPath(new URL('../lib', import.meta.url)))), error.message);
      return true;
    });
  }
});

test('the version that the copies compare is that of the package', () => {
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  assert.equal(require(path.join(root, 'lib/version.js')).version, version);
});

test('what only looks like one of ours is still none', () => {
  const pipeline = new ours.ResiliencePipelineBuilder().addTimeout(5).build();
  for (const fake of [new Proxy(pipeline, {}), Object.create(pipeline), { ...pipeline }, {}]) {
    assert.throws(() => resilientFetch(fake), /^TypeError: pipeline must be a ResiliencePipeline, not /);
  }
});
