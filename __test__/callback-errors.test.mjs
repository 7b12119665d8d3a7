import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';
import { ResiliencePipelineBuilder, gradient2 } from '@ylcnfrht/resilience';
import { FRAGILE, boom, fails } from './support/circuit.mjs';
import { hold, rejection, turn } from './support/hold.mjs';

const mine = new Error('mine');
const unshowable = Object.create(null);
const hostile = new Error('hostile');
Object.defineProperty(hostile, 'message', {
  get: () => {
    throw new Error('no');
  },
});
const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();
/** Everything that a callback can throw. */
const THROWN = [mine, 'text', undefined, null, 0, Symbol('s'), unshowable, hostile, revoked];

/** Closes a half-open circuit. */
async function probe(options, telemetry) {
  const pipeline = new ResiliencePipelineBuilder({ telemetry })
    .addConcurrencyLimiter(1)
    .addCircuitBreaker({ ...FRAGILE, ...options })
    .build();
  const breaker = pipeline.getStrategy('CircuitBreaker');
  breaker.restoreState({ state: 'half-open', breakRemaining: 0, exportedAt: 0 });
  assert.equal(await pipeline.execute(async () => 'mine'), 'mine');
  assert.equal(breaker.state, 'closed');
  return pipeline.getStrategy('ConcurrencyLimiter').inflight;
}

/** Fails under a strategy that may run it again; `expected` is how often it has run. */
async function repeated(builder, expected) {
  const pipeline = builder.addConcurrencyLimiter(1).build();
  let calls = 0;
  const failing = () => {
    calls += 1;
    return fails();
  };
  assert.equal(await rejection(pipeline.execute(failing)), boom);
  assert.equal(calls, expected);
  return pipeline.getStrategy('ConcurrencyLimiter').inflight;
}
const retried = (options, telemetry, expected) => {
  const builder = new ResiliencePipelineBuilder({ telemetry });
  return repeated(builder.addRetry({ maxRetryAttempts: 1, delay: 0, ...options }), expected);
};
const hedged = (options, telemetry, expected) => {
  const builder = new ResiliencePipelineBuilder({ telemetry });
  return repeated(builder.addHedging({ delay: Infinity, ...options }), expected);
};

/** Runs a pipeline in a way that calls the callback, and tells what is left in flight. */
const SITUATIONS = {
  onTimeout: async (onTimeout, telemetry) => {
    const pipeline = new ResiliencePipelineBuilder({ telemetry })
      .addConcurrencyLimiter(1)
      .addTimeout({ timeoutGenerator: () => 0, onTimeout })
      .build();
    assert.equal((await rejection(pipeline.execute(() => 1))).code, 'TIMEOUT');
    return pipeline.getStrategy('ConcurrencyLimiter').inflight;
  },
  onRejected: async (onRejected, telemetry) => {
    const pipeline = new ResiliencePipelineBuilder({ telemetry })
      .addConcurrencyLimiter({ permitLimit: 1, onRejected })
      .build();
    const held = hold(pipeline);
    assert.equal((await rejection(pipeline.execute(() => 1))).code, 'BULKHEAD_FULL');
    held.finish('mine');
    assert.equal(await held.promise, 'mine');
    return pipeline.getStrategy('ConcurrencyLimiter').inflight;
  },
  onLimitChanged: async (onLimitChanged, telemetry) => {
    const pipeline = new ResiliencePipelineBuilder({ telemetry })
      .addAdaptiveConcurrencyLimiter({ initialLimit: 1, algorithm: { onSample: () => 5 }, onLimitChanged })
      .build();
    assert.equal(await pipeline.execute(() => 'mine'), 'mine');
    assert.equal(pipeline.getStrategy('AdaptiveConcurrencyLimiter').limit, 5);
    return pipeline.getStrategy('AdaptiveConcurrencyLimiter').inflight;
  },
  onFallback: async (onFallback, telemetry) => {
    const pipeline = new ResiliencePipelineBuilder({ telemetry })
      .addFallback({ fallbackValue: 'substitute', onFallback })
      .addConcurrencyLimiter(1)
      .build();
    assert.equal(await pipeline.execute(() => Promise.reject(mine)), 'substitute');
    return pipeline.getStrategy('ConcurrencyLimiter').inflight;
  },
  shouldHandle: async (shouldHandle, telemetry) => {
    const pipeline = new ResiliencePipelineBuilder({ telemetry })
      .addFallback({ fallbackValue: 'substitute', shouldHandle })
      .addConcurrencyLimiter(1)
      .build();
    assert.equal(await pipeline.execute(() => 'mine'), 'mine');
    return pipeline.getStrategy('ConcurrencyLimiter').inflight;
  },
  shouldDrop: async (shouldDrop, telemetry) => {
    const pipeline = new ResiliencePipelineBuilder({ telemetry })
      .addAdaptiveConcurrencyLimiter({ shouldDrop, algorithm: 'aimd' })
      .build();
    assert.equal(await pipeline.execute(async () => 'mine'), 'mine');
    assert.equal(pipeline.getStrategy('AdaptiveConcurrencyLimiter').limit, 20);
    return pipeline.getStrategy('AdaptiveConcurrencyLimiter').inflight;
  },
  algorithm: async (onSample, telemetry) => {
    const pipeline = new ResiliencePipelineBuilder({ telemetry })
      .addAdaptiveConcurrencyLimiter({ algorithm: { onSample }, initialLimit: 1 })
      .build();
    assert.equal(await pipeline.execute(() => 'mine'), 'mine');
    assert.equal(pipeline.getStrategy('AdaptiveConcurrencyLimiter').limit, 1);
    return pipeline.getStrategy('AdaptiveConcurrencyLimiter').inflight;
  },
  'onRejected of a rate limiter': async (onRejected, telemetry) => {
    const pipeline = new ResiliencePipelineBuilder({ telemetry })
      .addRateLimiter({ permitLimit: 1, window: '1h', onRejected })
      .build();
    assert.equal(await pipeline.execute(() => 'mine'), 'mine');
    assert.equal((await rejection(pipeline.execute(() => 1))).code, 'RATE_LIMITED');
    return pipeline.getStrategy('RateLimiter').available;
  },
  onOpened: async (onOpened, telemetry) => {
    const pipeline = new ResiliencePipelineBuilder({ telemetry })
      .addConcurrencyLimiter(1)
      .addCircuitBreaker({ ...FRAGILE, onOpened })
      .build();
    assert.equal(await rejection(pipeline.execute(fails)), boom);
    assert.equal(pipeline.getStrategy('CircuitBreaker').state, 'open');
    return pipeline.getStrategy('ConcurrencyLimiter').inflight;
  },
  onHalfOpened: (onHalfOpened, telemetry) => probe({ onHalfOpened }, telemetry),
  onClosed: (onClosed, telemetry) => probe({ onClosed }, telemetry),
  breakDurationGenerator: async (breakDurationGenerator, telemetry) => {
    const pipeline = new ResiliencePipelineBuilder({ telemetry })
      .addConcurrencyLimiter(1)
      .addCircuitBreaker({ ...FRAGILE, breakDurationGenerator })
      .build();
    assert.equal(await rejection(pipeline.execute(fails)), boom);
    assert.equal(pipeline.getStrategy('CircuitBreaker').state, 'open');
    return pipeline.getStrategy('ConcurrencyLimiter').inflight;
  },
  'shouldHandle of a circuit breaker': async (shouldHandle, telemetry) => {
    const pipeline = new ResiliencePipelineBuilder({ telemetry })
      .addConcurrencyLimiter(1)
      .addCircuitBreaker({ ...FRAGILE, shouldHandle })
      .build();
    assert.equal(await rejection(pipeline.execute(fails)), boom);
    assert.equal(pipeline.getStrategy('CircuitBreaker').state, 'closed');
    return pipeline.getStrategy('ConcurrencyLimiter').inflight;
  },
  onRetry: (onRetry, telemetry) => retried({ onRetry }, telemetry, 2),
  delayGenerator: (delayGenerator, telemetry) => retried({ delayGenerator }, telemetry, 2),
  'shouldHandle of a retry': (shouldHandle, telemetry) => retried({ shouldHandle }, telemetry, 1),
  onHedging: (onHedging, telemetry) => hedged({ onHedging }, telemetry, 2),
  actionGenerator: (actionGenerator, telemetry) => hedged({ actionGenerator }, telemetry, 1),
  'shouldHandle of hedging': (shouldHandle, telemetry) => hedged({ shouldHandle }, telemetry, 1),
};
const AWAITED = [
  'onTimeout',
  'onRejected',
  'onRejected of a rate limiter',
  'onLimitChanged',
  'onFallback',
  'shouldHandle',
  'onOpened',
  'onHalfOpened',
  'onClosed',
  'onRetry',
  'delayGenerator',
  'shouldHandle of a retry',
  'onHedging',
  'shouldHandle of hedging',
];
/** The option's name. */
const optionOf = (situation) => situation.split(' of ')[0];

/** The CallbackError events of one situation. */
async function errorsOf(name, callback) {
  const events = [];
  const inflight = await SITUATIONS[name](callback, (event) => {
    if (event.name === 'CallbackError') events.push(event);
  });
  await turn();
  assert.equal(inflight, 0);
  return events;
}

for (const name of Object.keys(SITUATIONS)) {
  test(`${name} that throws anything is a CallbackError and costs no permit and no outcome`, async () => {
    for (const thrown of THROWN) {
      const events = await errorsOf(name, () => {
        throw thrown;
      });
      assert.equal(events.length, 1);
      assert.equal(events[0].args.callback, optionOf(name));
      assert.ok(Object.is(events[0].args.error, thrown));
      assert.equal(events[0].severity, 'error');
    }
  });

  test(`${name} that throws anything, and nobody hears it, is a process warning`, async () => {
    for (const [thrown, expected] of [
      [mine, 'Error: mine'],
      ['text', 'Error: a callback threw text'],
      [undefined, 'Error: a callback threw undefined'],
      [Symbol('s'), 'Error: a callback threw Symbol(s)'],
      [unshowable, 'Error: a callback threw something that has no text'],
      [hostile, 'Error: a callback threw something that has no text'],
      [revoked, 'Error: a callback threw something that has no text'],
    ]) {
      const warning = once(process, 'warning');
      assert.equal(
        await SITUATIONS[name](() => {
          throw thrown;
        }, undefined),
        0,
      );
      assert.equal(String((await warning)[0]), expected);
    }
  });
}

for (const name of AWAITED) {
  test(`${name} that rejects later is a CallbackError, and its rejection is handled`, async () => {
    for (const callback of [
      async () => {
        throw mine;
      },
      () => ({ then: (_, reject) => reject(mine) }),
      () => ({
        get then() {
          throw mine;
        },
      }),
    ]) {
      const events = await errorsOf(name, callback);
      assert.deepEqual(
        events.map(({ args }) => args),
        [{ callback: optionOf(name), error: mine }],
      );
    }
  });
}

for (const [name, accepted] of [
  ['shouldDrop', 'a boolean'],
  ['shouldHandle of a circuit breaker', 'a boolean'],
  ['breakDurationGenerator', 'a duration'],
  ['algorithm', 'a number'],
]) {
  test(`${name} that is asynchronous counts as nothing: it is a CallbackError with a TypeError`, async () => {
    for (const callback of [
      async () => false,
      async () => true,
      async () => {
        throw mine;
      },
    ]) {
      const events = await errorsOf(name, callback);
      assert.deepEqual(
        events.map(({ args }) => args.callback),
        [optionOf(name)],
      );
      const { error } = events[0].args;
      assert.equal(error.name, 'TypeError');
      const option = name === 'algorithm' ? 'onSample' : optionOf(name);
      assert.equal(error.message, `the result of ${option} must be ${accepted}, not a promise`);
    }
  });
}

test('a queueSize that throws or is asynchronous is a CallbackError, and the limit stays', async () => {
  for (const queueSize of [
    () => {
      throw mine;
    },
    async () => 4,
    async () => {
      throw mine;
    },
  ]) {
    const events = [];
    const pipeline = new ResiliencePipelineBuilder({
      telemetry: (event) => event.name === 'CallbackError' && events.push(event.args.callback),
    })
      .addAdaptiveConcurrencyLimiter({ algorithm: gradient2({ queueSize }), initialLimit: 1 })
      .build();
    assert.equal(await pipeline.execute(() => 'mine'), 'mine');
    await turn();
    assert.deepEqual(events, ['algorithm']);
    assert.equal(pipeline.getStrategy('AdaptiveConcurrencyLimiter').limit, 1);
  }
});

test('callbacks that return odd things synchronously are fine', async () => {
  for (const name of AWAITED.filter((situation) => situation.startsWith('on'))) {
    for (const value of [5, 'x', null, {}, [], { then: 5 }, Symbol('s'), () => {}, Object.create(null)]) {
      assert.deepEqual(await errorsOf(name, () => value), []);
    }
  }
});

test('a thousand executions under callbacks that all throw settle and leave no permit', async () => {
  const explode = () => {
    throw mine;
  };
  let errors = 0;
  const pipeline = new ResiliencePipelineBuilder({
    telemetry: ({ name }) => (errors += Number(name === 'CallbackError')),
  })
    .addFallback({ fallbackValue: 'substitute', shouldHandle: explode, onFallback: explode })
    .addAdaptiveConcurrencyLimiter({
      initialLimit: 2,
      queueLimit: 2,
      shouldDrop: explode,
      algorithm: { onSample: explode },
      onLimitChanged: explode,
      onRejected: explode,
    })
    .addTimeout({ timeout: 1000, onTimeout: explode })
    .build();
  const limiter = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
  const settled = await Promise.allSettled(
    Array.from({ length: 1000 }, (_, index) =>
      pipeline.execute(async () => {
        if (index % 2 === 0) throw mine;
        return index;
      }),
    ),
  );
  assert.equal(settled.length, 1000);
  assert.deepEqual([limiter.inflight, limiter.queued, limiter.limit], [0, 0, 2]);
  assert.ok(errors >= 2000);
});
