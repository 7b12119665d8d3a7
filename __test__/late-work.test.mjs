// What outlives an execution that was aborted: late work of its callback ends at once, and what that has left
// behind is its own.
import assert from 'node:assert/strict';
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { once } from 'node:events';
import { test } from 'node:test';
import {
  PipelineBuilder,
  ResiliencePipelineBuilder,
  detached,
  getResilienceContext,
  getResilienceSignal,
  standardPipeline,
  timeoutStrategy,
} from '@ylcnfrht/resilience';
import { resilienceInterceptor, resilientFetch } from '@ylcnfrht/resilience/http';
import { collected } from './support/collected.mjs';
import { deferred } from './support/deferred.mjs';

const build = (options) => new ResiliencePipelineBuilder(options).build();
const inner = new ResiliencePipelineBuilder().addConcurrencyLimiter(10).addTimeout('1h').build();
/** Whether an execution that is begun here runs, and as what. */
const probe = async (pipeline = inner) => {
  const { signal, remaining } = await pipeline.execute((context) => context);
  return { aborted: signal.aborted, remaining };
};
const turn = () => new Promise(setImmediate);

/** What is made inside of a callback, as a timer or a socket is: runs functions in the stores of that. */
class Left extends AsyncResource {
  constructor() {
    super('Left');
  }

  run(fn) {
    return this.runInAsyncScope(fn);
  }
}

/** Executions that are given up while their callback runs: `run(callback)` gives the outcome. */
const ABORTS = {
  'a deadline': (callback) => new ResiliencePipelineBuilder().addTimeout(5).build().settle(callback),
  'a deadline around retries': (callback) =>
    new ResiliencePipelineBuilder().addTimeout(5).addRetry({ delay: 0 }).build().settle(callback),
  'the deadline of the only attempt': (callback) =>
    new ResiliencePipelineBuilder().addRetry({ maxRetryAttempts: 0 }).addTimeout(5).build().settle(callback),
  'a deadline around other stages': (callback) =>
    new ResiliencePipelineBuilder()
      .addTimeout(5)
      .addFallback({ fallbackValue: 1 })
      .addConcurrencyLimiter(1)
      .build()
      .settle(callback),
  'a deadline of standardPipeline': (callback) =>
    standardPipeline({ totalTimeout: 5, attemptTimeout: 5, retry: { maxRetryAttempts: 0 } }).settle(callback),
  'the caller': (callback) => {
    const controller = new AbortController();
    const settled = build().settle(callback, { signal: controller.signal });
    controller.abort(new Error('gone'));
    return settled;
  },
  'the caller of executions further out': (callback) => {
    const controller = new AbortController();
    const pipeline = build();
    const settled = pipeline.settle(
      () => pipeline.execute(() => pipeline.execute(() => inner.execute(callback))),
      { signal: controller.signal },
    );
    controller.abort(new Error('gone'));
    return settled;
  },
  'a custom strategy\'s deadline': (callback) =>
    new PipelineBuilder()
      .add(timeoutStrategy(5))
      .add(() => ({ name: 'Passing', execute: (next, context) => next(context) }))
      .build()
      .settle(callback),
};

for (const [name, run] of Object.entries(ABORTS)) {
  test(`late work ends at once, and what it has left behind runs as its own: ${name}`, async () => {
    const end = deferred();
    let left;
    let late;
    const done = deferred();
    const outcome = await run(async () => {
      left = new Left();
      await end.promise;
      late = await inner.settle(() => assert.fail('must not charge'));
      done.resolve();
    });
    assert.equal(outcome.ok, false);
    await turn();
    assert.equal((await left.run(() => inner.settle(() => 1))).ok, false, 'while the callback is pending');
    assert.equal(left.run(getResilienceSignal).aborted, true);
    end.resolve();
    await done.promise;
    assert.equal(late.error, outcome.error);
    await turn();
    const own = await left.run(() => probe());
    assert.equal(own.aborted, false);
    assert.equal(left.run(getResilienceSignal), undefined);
    const context = left.run(getResilienceContext);
    assert.equal(context.signal.aborted, true, 'its own context is still found');
    assert.notEqual(context.remaining, 0);
    assert.deepEqual(await left.run(() => build().execute(({ properties }) => properties)), new Map());
  });
}

test('late work ends at once however long it takes', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const end = deferred();
  let late;
  const settled = new ResiliencePipelineBuilder().addTimeout(50).build().settle(async () => {
    await end.promise;
    late = inner.settle(() => assert.fail('must not charge'));
  });
  t.mock.timers.tick(50);
  const { error } = await settled;
  t.mock.timers.tick(24 * 3_600_000);
  end.resolve();
  await turn();
  assert.equal((await late).error, error);
});

test('what an attempt has left behind is part of the execution around it, as long as that is under way', async () => {
  const pipeline = new ResiliencePipelineBuilder()
    .addTimeout('1h')
    .addRetry({ delay: 0 })
    .addTimeout(5)
    .build();
  const controller = new AbortController();
  const end = deferred();
  let pool;
  const settled = pipeline.settle(async ({ signal }) => {
    if (pool === undefined) {
      pool = new Left();
      await once(signal, 'abort');
      throw new Error('late');
    }
    await turn();
    const { aborted, remaining } = await pool.run(() => probe(build()));
    assert.equal(aborted, false);
    const within = pool.run(() => build().settle(({ remaining: left, signal: own }) => {
      end.resolve();
      return once(own, 'abort').then(() => left);
    }));
    await end.promise;
    controller.abort('gone');
    assert.equal((await within).error, 'gone');
    return remaining;
  }, { signal: controller.signal });
  assert.equal((await settled).error, 'gone');
  await turn();
  assert.equal((await pool.run(() => probe())).aborted, false);
});

test('the loser of a race is late until it has ended, and no longer', async () => {
  const pipeline = new ResiliencePipelineBuilder().addHedging({ delay: 0 }).build();
  const end = deferred();
  const lost = [];
  assert.equal(await pipeline.execute(() => {
    if (lost.length === 1) return 'won';
    lost.push(new Left());
    return end.promise;
  }), 'won');
  await turn();
  assert.equal((await lost[0].run(() => inner.settle(() => 1))).ok, false);
  end.resolve();
  await turn();
  assert.equal((await lost[0].run(() => probe())).aborted, false);
});

test('an action of hedging that lost is late until it has ended, and no longer', async () => {
  const end = deferred();
  let left;
  const first = deferred();
  const pipeline = new ResiliencePipelineBuilder()
    .addHedging({
      delay: 0,
      actionGenerator: () => () => {
        left = new Left();
        first.resolve('won');
        return end.promise;
      },
    })
    .build();
  assert.equal(await pipeline.execute(() => first.promise), 'won');
  await turn();
  assert.equal((await left.run(() => inner.settle(() => 1))).ok, false);
  end.resolve();
  await turn();
  assert.equal((await left.run(() => probe())).aborted, false);
});

test('a fallback that its caller gave up is late until it has ended, and no longer', async () => {
  const end = deferred();
  const started = deferred();
  const controller = new AbortController();
  let left;
  const settled = new ResiliencePipelineBuilder()
    .addTimeout('1h')
    .addFallback({
      fallbackAction: () => {
        left = new Left();
        started.resolve();
        return end.promise;
      },
    })
    .addConcurrencyLimiter(1)
    .build()
    .settle(() => Promise.reject(new Error('failed')), { signal: controller.signal });
  await started.promise;
  controller.abort('gone');
  assert.equal((await settled).error, 'gone');
  assert.equal((await left.run(() => inner.settle(() => 1))).error, 'gone');
  end.resolve();
  await turn();
  assert.equal((await left.run(() => probe())).aborted, false);
});

test('an execution below a context that has left and one that has settled is a root', async () => {
  const end = deferred();
  let left;
  const settled = new ResiliencePipelineBuilder().addTimeout(5).build().settle(async () => {
    await inner.execute(() => {
      left = new Left();
    });
    await end.promise;
  });
  assert.equal((await settled).ok, false);
  assert.equal((await left.run(() => inner.settle(() => 1))).ok, false);
  end.resolve();
  await turn();
  assert.equal((await left.run(() => probe())).aborted, false);
});

test('an explicit pipeline inherits nothing from late work', async () => {
  const explicit = build({ context: 'explicit' });
  let late;
  const done = deferred();
  await new ResiliencePipelineBuilder().addTimeout(5).build().settle(async ({ signal }) => {
    await once(signal, 'abort');
    late = await explicit.settle(({ signal: own }) => own.aborted);
    done.resolve();
  });
  await done.promise;
  assert.deepEqual([late.ok, late.result], [true, false]);
});

test('what was made inside of an aborted execution can fetch, and read what it fetched', async () => {
  const end = deferred();
  let left;
  const send = async () => new Response('the body');
  const fetch = resilientFetch(inner, send);
  await new ResiliencePipelineBuilder().addTimeout(5).build().settle(() => {
    left = new Left();
    return end.promise;
  });
  await assert.rejects(left.run(() => fetch('http://localhost/')), { code: 'TIMEOUT' });
  end.resolve();
  await turn();
  const response = await left.run(() => fetch('http://localhost/'));
  assert.equal(await response.text(), 'the body');
});

test('an attempt of a dispatcher that never ends leaves nothing late', async () => {
  let left;
  const dispatch = () => {
    left ??= new Left();
    return true;
  };
  const pipeline = new ResiliencePipelineBuilder().addTimeout(5).build();
  const failed = deferred();
  resilienceInterceptor(pipeline)(dispatch)(
    { method: 'GET', path: '/', headers: {} },
    { onRequestStart: () => {}, onResponseError: (_controller, error) => failed.resolve(error) },
  );
  assert.equal((await failed.promise).code, 'TIMEOUT');
  await turn();
  assert.equal((await left.run(() => probe())).aborted, false);
});

test('detached leaves every execution, and gives what its function gives', async () => {
  await new ResiliencePipelineBuilder().addTimeout('1h').build().execute(async (context) => {
    assert.equal(detached(() => getResilienceContext()), undefined);
    assert.equal(getResilienceContext(), context);
    const own = await detached(async () => {
      await turn();
      return build().execute(({ properties, remaining }) => ({ properties, remaining }));
    });
    assert.equal(own.remaining, undefined);
    assert.notEqual(own.properties, context.properties);
    assert.throws(() => detached(() => {
      throw new Error('mine');
    }), { message: 'mine' });
  });
  for (const fn of [undefined, null, 1, {}, Promise.resolve()]) {
    const message = /^the argument of detached must be a function, not /;
    assert.throws(() => detached(fn), { name: 'TypeError', message });
  }
});

test('detached leaves other stores as they are', () => {
  const store = new AsyncLocalStorage();
  store.run('mine', () => detached(() => assert.equal(store.getStore(), 'mine')));
});

for (const context of ['ambient', 'explicit']) {
  test(`a detached execution is done although its caller has left (${context})`, async () => {
    const audit = build({ context });
    const controller = new AbortController();
    const done = deferred();
    const settled = new ResiliencePipelineBuilder().addTimeout('1h').build().settle(async (outer) => {
      const work = deferred();
      const begun = audit.execute(() => work.promise, { detached: true });
      await once(outer.signal, 'abort');
      const late = await audit.execute(
        ({ properties, remaining, signal }) => [properties.get('user'), remaining, signal.aborted],
        { detached: true },
      );
      work.resolve('done');
      done.resolve([await begun, ...late]);
    }, { signal: controller.signal, properties: [['user', 'Ada']] });
    controller.abort('gone');
    assert.equal((await settled).error, 'gone');
    assert.deepEqual(await done.promise, ['done', context === 'ambient' ? 'Ada' : undefined, undefined, false]);
  });
}

test('a detached execution still has its own signal, deadline and properties', async () => {
  const own = new Map([['own', true]]);
  await inner.execute(async () => {
    const pipeline = new ResiliencePipelineBuilder().addTimeout('1m').build();
    const seen = await pipeline.execute(({ properties, remaining }) => [properties, remaining <= 60_000], {
      detached: true,
      properties: own,
    });
    assert.deepEqual(seen, [own, true]);
    const outcome = await pipeline.settle(() => assert.fail('must not run'), {
      detached: true,
      signal: AbortSignal.abort('mine'),
    });
    assert.equal(outcome.error, 'mine');
  });
});

test('detached that is no boolean rejects', async () => {
  for (const value of [null, 1, 'true', {}]) {
    await assert.rejects(inner.execute(() => assert.fail('must not run'), { detached: value }), {
      name: 'TypeError',
      message: /^detached must be a boolean, not /,
    });
  }
});

test('what goes on by itself keeps no aborted context', async () => {
  const references = [];
  let next;
  const step = async (context) => {
    references.push(new WeakRef(context));
    next = new Left();
    await once(context.signal, 'abort');
  };
  const pipeline = new ResiliencePipelineBuilder().addTimeout(2).build();
  await pipeline.settle(step);
  for (let round = 0; round < 5; round += 1) {
    await turn();
    await next.run(() => pipeline.settle(step));
  }
  for (const reference of references.slice(0, -1)) assert.ok(await collected(reference));
  assert.ok(next.run(getResilienceContext).signal.aborted);
});
