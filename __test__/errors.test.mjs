import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import test from 'node:test';
import { inspect } from 'node:util';
import vm from 'node:vm';
import { Worker } from 'node:worker_threads';
import {
  BrokenCircuitError,
  BulkheadRejectedError,
  CircuitBreakerManualControl,
  ExecutionRejectedError,
  InternalError,
  IsolatedCircuitError,
  Outcome,
  PipelineDisposedError,
  RateLimiterRejectedError,
  ResiliencePipelineBuilder,
  TimeoutRejectedError,
  defaultShouldDrop,
  isExecutionRejected,
} from '@ylcnfrht/resilience';
import { hold, rejection } from './support/hold.mjs';

const require = createRequire(import.meta.url);

/** The package once more, as two dependencies with a copy each would load it. */
function loadSecondCopy() {
  const cached = { ...require.cache };
  for (const path of Object.keys(require.cache)) delete require.cache[path];
  try {
    return require('@ylcnfrht/resilience');
  } finally {
    for (const path of Object.keys(require.cache)) delete require.cache[path];
    Object.assign(require.cache, cached);
  }
}

test('a timeout rejects with TIMEOUT, 504 and its length', async () => {
  const pipeline = new ResiliencePipelineBuilder({ name: 'search' })
    .addTimeout({ timeout: 5, name: 'budget' })
    .build();
  const error = await rejection(pipeline.execute(() => new Promise(() => {})));
  assert.ok(error instanceof TimeoutRejectedError);
  assert.ok(error instanceof ExecutionRejectedError);
  assert.ok(error instanceof Error);
  assert.equal(error.name, 'TimeoutRejectedError');
  assert.equal(error.code, 'TIMEOUT');
  assert.equal(error.statusCode, 504);
  assert.equal(error.timeout, 5);
  assert.equal(error.retryAfter, undefined);
  assert.equal(error.pipelineName, 'search');
  assert.equal(error.strategyName, 'budget');
  assert.equal(error.cause, undefined);
  assert.equal(error.message, 'the execution did not end within 5 ms');
  assert.equal(String(error), 'TimeoutRejectedError: the execution did not end within 5 ms');
  assert.match(error.stack, /^TimeoutRejectedError: the execution did not end within 5 ms/);
});

test('a full limiter rejects with BULKHEAD_FULL, 503 and its counts', async () => {
  const pipeline = new ResiliencePipelineBuilder({ name: 'search' }).addConcurrencyLimiter(2, 1).build();
  const held = [hold(pipeline), hold(pipeline), hold(pipeline)];
  const error = await rejection(pipeline.execute(() => 1));
  assert.ok(error instanceof BulkheadRejectedError);
  assert.ok(error instanceof ExecutionRejectedError);
  assert.equal(error.name, 'BulkheadRejectedError');
  assert.equal(error.code, 'BULKHEAD_FULL');
  assert.equal(error.statusCode, 503);
  assert.equal(error.reason, 'full');
  assert.equal(error.active, 2);
  assert.equal(error.queued, 1);
  assert.equal(error.retryAfter, undefined);
  assert.equal(error.pipelineName, 'search');
  assert.equal(error.strategyName, 'ConcurrencyLimiter');
  assert.equal(error.message, 'the limit is reached and the queue is full (full)');
  for (const { finish } of held) finish();
  await Promise.all(held.map(({ promise }) => promise));
});

test('a disposed pipeline rejects with PIPELINE_DISPOSED and 503', async () => {
  const pipeline = new ResiliencePipelineBuilder({ name: 'search' }).addTimeout(5).build();
  pipeline.dispose();
  const error = await rejection(pipeline.execute(() => 1));
  assert.ok(error instanceof PipelineDisposedError);
  assert.ok(error instanceof ExecutionRejectedError);
  assert.equal(error.name, 'PipelineDisposedError');
  assert.equal(error.code, 'PIPELINE_DISPOSED');
  assert.equal(error.statusCode, 503);
  assert.equal(error.pipelineName, 'search');
  assert.equal(error.strategyName, undefined);
});

test('without names an error has none', async () => {
  const pipeline = new ResiliencePipelineBuilder().addTimeout(5).build();
  const error = await rejection(pipeline.execute(() => new Promise(() => {})));
  assert.equal(error.pipelineName, undefined);
  assert.equal(error.strategyName, 'Timeout');
});

test('name, message, code and status are seen by loggers and in JSON', () => {
  const error = new TimeoutRejectedError(5, { pipelineName: 'search', strategyName: 'budget' });
  assert.deepEqual(JSON.parse(JSON.stringify(error)), {
    name: 'TimeoutRejectedError',
    code: 'TIMEOUT',
    message: 'the execution did not end within 5 ms',
    statusCode: 504,
    timeout: 5,
    pipelineName: 'search',
    strategyName: 'budget',
  });
  const full = { ...new BulkheadRejectedError('full', { active: 1, queued: 0 }) };
  assert.deepEqual(
    [full.code, full.statusCode, full.reason, full.active, full.queued],
    ['BULKHEAD_FULL', 503, 'full', 1, 0],
  );
  assert.match(inspect(new PipelineDisposedError()), /code: 'PIPELINE_DISPOSED',\s+statusCode: 503/);
});

const REJECTIONS = [
  new TimeoutRejectedError(1500, { pipelineName: 'search' }),
  ...['full', 'queue-timeout', 'dropped', 'disposed'].map(
    (reason) => new BulkheadRejectedError(reason, { active: 1, queued: 0 }),
  ),
  new RateLimiterRejectedError('full', { retryAfter: 1200 }),
  new RateLimiterRejectedError('disposed'),
  new BrokenCircuitError({ retryAfter: 300, cause: new Error('socket') }),
  new IsolatedCircuitError(),
  new PipelineDisposedError(),
];

for (const error of REJECTIONS) {
  const { name, code, message, statusCode, retryAfter } = error;

  test(`${name}, ${message}: JSON has all that it says, and never a stack`, () => {
    const json = error.toJSON();
    assert.deepEqual(Object.keys(json).slice(0, 3), ['name', 'code', 'message']);
    assert.deepEqual(json, { name, message, ...error });
    assert.equal('stack' in json || 'cause' in json, false);
    assert.deepEqual(Object.keys(error).filter((key) => key === 'toJSON'), []);
    const received = JSON.parse(JSON.stringify(error));
    assert.ok(isExecutionRejected(received));
    assert.deepEqual(
      [received.name, received.code, received.message, received.statusCode, received.retryAfter],
      [name, code, message, statusCode, retryAfter],
    );
  });

  test(`${name}, ${message}: a clone is known, and has its name, code and status again`, () => {
    const clone = structuredClone(error);
    assert.ok(isExecutionRejected(clone));
    assert.deepEqual([clone.name, clone.code, clone.statusCode, clone.message], [name, code, statusCode, message]);
    assert.ok(isExecutionRejected(clone));
    assert.ok(isExecutionRejected(structuredClone(error.toJSON())));
  });
}

test('what pipelines reject with is known after postMessage, whichever way it was made', async () => {
  const disposed = new ResiliencePipelineBuilder().addTimeout(5).build();
  disposed.dispose();
  const errors = [
    await rejection(new ResiliencePipelineBuilder().addTimeout(5).build().execute(() => new Promise(() => {}))),
    await rejection(disposed.execute(() => 1)),
  ];
  const builders = [
    new ResiliencePipelineBuilder().addConcurrencyLimiter(1),
    new ResiliencePipelineBuilder().addRateLimiter({ permitLimit: 1, window: '1h' }),
  ];
  for (const pipeline of builders.map((builder) => builder.build())) {
    const { finish, promise } = hold(pipeline);
    errors.push(await rejection(pipeline.execute(() => 1)));
    finish();
    await promise;
  }
  const control = new CircuitBreakerManualControl();
  const isolated = new ResiliencePipelineBuilder().addCircuitBreaker({ manualControl: control }).build();
  control.isolate();
  errors.push(await rejection(isolated.execute(() => 1)));
  const { port1, port2 } = new MessageChannel();
  const received = [];
  for (const error of errors) {
    port1.postMessage(error);
    const [event] = await once(port2, 'message');
    assert.ok(isExecutionRejected(event), error.name);
    received.push(event.code);
  }
  port1.close();
  const codes = ['TIMEOUT', 'PIPELINE_DISPOSED', 'BULKHEAD_FULL', 'RATE_LIMITED', 'CIRCUIT_ISOLATED'];
  assert.deepEqual(received, codes);
  assert.equal(Outcome.failure(received[0]).ok, false);
});

test('a worker that ends by a rejection tells it', async () => {
  const source = `
    const { TimeoutRejectedError } = require(${JSON.stringify(require.resolve('@ylcnfrht/resilience'))});
    throw new TimeoutRejectedError(5);
  `;
  const [error] = await once(new Worker(source, { eval: true }), 'error').catch((thrown) => [thrown]);
  assert.ok(isExecutionRejected(error));
  assert.equal(error.code, 'TIMEOUT');
});

test('the JSON of an InternalError has its name, code and message', () => {
  const error = new InternalError('unreachable', { cause: new Error('panic') });
  const { name, code, message } = error;
  assert.deepEqual(error.toJSON(), { name, code, message });
  assert.deepEqual(JSON.parse(JSON.stringify({ error })), { error: { name, code, message } });
  assert.equal(isExecutionRejected(structuredClone(error)), false);
});

test('to know what it is, the stack of an error that is none of ours is not made', () => {
  const { prepareStackTrace } = Error;
  let made = 0;
  Error.prepareStackTrace = (error) => {
    made += 1;
    return String(error);
  };
  try {
    const errors = [new Error('the disk is full'), new TypeError('no'), Object.assign(new Error('x'), { code: 'EIO' })];
    for (const error of errors) assert.equal(isExecutionRejected(error), false);
    assert.equal(made, 0);
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
  }
});

test('users may make the errors themselves, with a cause', () => {
  const cause = new Error('socket');
  const options = { pipelineName: 'p', strategyName: 's', cause };
  const timeout = new TimeoutRejectedError(250, options);
  assert.deepEqual(
    [timeout.timeout, timeout.pipelineName, timeout.strategyName, timeout.cause],
    [250, 'p', 's', cause],
  );
  const bulkhead = new BulkheadRejectedError('dropped', { active: 3, queued: 4, ...options });
  assert.deepEqual(
    [bulkhead.reason, bulkhead.active, bulkhead.queued, bulkhead.cause],
    ['dropped', 3, 4, cause],
  );
  assert.equal(new PipelineDisposedError(options).cause, cause);
  assert.equal(Object.hasOwn(new TimeoutRejectedError(1), 'cause'), false);
});

test('a class made by a user from an error of the package keeps code and status', () => {
  class SlowUpstreamError extends TimeoutRejectedError {
    name = 'SlowUpstreamError';
  }
  const error = new SlowUpstreamError(5);
  assert.deepEqual([error.name, error.code, error.statusCode], ['SlowUpstreamError', 'TIMEOUT', 504]);
  assert.ok(isExecutionRejected(error));
});

test('an InternalError is no rejection, asks for a report and keeps its cause', () => {
  const cause = new Error('panic');
  const error = new InternalError('unreachable', { cause });
  assert.deepEqual([error.name, error.code, error.cause], ['InternalError', 'INTERNAL', cause]);
  assert.match(error.message, /^unreachable \(a defect of @ylcnfrht\/resilience: please report it\)$/);
  assert.equal(isExecutionRejected(error), false);
});

test('isExecutionRejected knows the rejections and nothing else', () => {
  assert.ok(isExecutionRejected(new TimeoutRejectedError(1)));
  assert.ok(isExecutionRejected(new BulkheadRejectedError('full', { active: 1, queued: 0 })));
  assert.ok(isExecutionRejected(new PipelineDisposedError()));
  const lookAlike = Object.assign(new Error('no'), {
    name: 'TimeoutRejectedError',
    code: 'TIMEOUT',
    statusCode: 504,
  });
  for (const other of [
    lookAlike,
    new Error('no'),
    new Error('the circuit is open'),
    structuredClone(new Error('the circuit is open')),
    { name: 'TimeoutRejectedError', message: 'late', code: 'BULKHEAD_FULL', statusCode: 504 },
    { name: 'TimeoutRejectedError', code: 'TIMEOUT', statusCode: 504 },
    { name: 'hasOwnProperty', message: 'late' },
    'TIMEOUT',
    504,
    null,
    undefined,
    {},
    [],
    () => {},
    Symbol('x'),
  ]) {
    assert.equal(isExecutionRejected(other), false);
  }
});

test("two copies of the package in one process know each other's errors", async () => {
  const copy = loadSecondCopy();
  assert.notEqual(copy.TimeoutRejectedError, TimeoutRejectedError);
  const ours = new TimeoutRejectedError(5);
  const theirs = await rejection(
    new copy.ResiliencePipelineBuilder()
      .addTimeout(5)
      .build()
      .execute(() => new Promise(() => {})),
  );
  assert.equal(theirs instanceof TimeoutRejectedError, false);
  assert.ok(isExecutionRejected(theirs));
  assert.ok(copy.isExecutionRejected(ours));
  assert.ok(defaultShouldDrop({ outcome: Outcome.failure(theirs) }));
  assert.equal(
    Outcome.failure(theirs).match({ ok: () => 0, TIMEOUT: ({ timeout }) => timeout, error: () => 1 }),
    5,
  );
});

test('an error from another realm is known, where instanceof fails', () => {
  const path = require.resolve('../lib/errors.js');
  const module = { exports: {} };
  const load = vm.runInNewContext(`(function (module) {${readFileSync(path, 'utf8')}\n})`);
  load(module);
  const foreign = new module.exports.TimeoutRejectedError(7);
  assert.equal(foreign instanceof Error, false);
  assert.equal(foreign instanceof ExecutionRejectedError, false);
  assert.ok(isExecutionRejected(foreign));
  assert.ok(module.exports.isExecutionRejected(new TimeoutRejectedError(7)));
  assert.equal(
    Outcome.failure(foreign).match({ ok: () => 0, TIMEOUT: ({ timeout }) => timeout, error: () => 1 }),
    7,
  );
});
