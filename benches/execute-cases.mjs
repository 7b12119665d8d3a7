// The cases of execute.mjs: one execution each, with an empty callback, one that reads its signal, or refused.

import { subscribe } from 'node:diagnostics_channel';

import {
  bulkhead,
  circuitBreaker,
  ConstantBackoff,
  handleAll,
  retry,
  SamplingBreaker,
  timeout,
  TimeoutStrategy,
  wrap,
} from 'cockatiel';
import CircuitBreaker from 'opossum';
import pLimit from 'p-limit';

import resilience from '../index.js';
import { serve } from './harness.mjs';
import { limited } from './sema.mjs';

const empty = async () => {};
const reading = async ({ signal }) => {
  signal.aborted;
};

const limiter = (builder) => builder.addConcurrencyLimiter(10);
const fixed = (builder) => builder.addConcurrencyLimiter(10).addTimeout('5s');
const breaker = (builder) => builder.addCircuitBreaker();
const composite = (builder) => fixed(builder.addRetry().addCircuitBreaker());
const five = (builder) => composite(builder).addRateLimiter({ permitLimit: 2 ** 31 - 1, window: '1h' });
const adaptive = (builder) => builder.addAdaptiveConcurrencyLimiter().addTimeout('5s');

/** @param {'ambient' | 'explicit'} context */
const ours =
  (context, add, work = empty, telemetry = undefined) =>
  () => {
    const pipeline = add(new resilience.ResiliencePipelineBuilder({ context, telemetry })).build();
    return () => pipeline.execute(work);
  };

/** An execution that its limiter, in use for good, turns away. @param {'execute' | 'settle'} form */
const refused = (form) => () => {
  const pipeline = new resilience.ResiliencePipelineBuilder({ context: 'explicit' }).addConcurrencyLimiter(1).build();
  pipeline.execute(() => new Promise(() => {}));
  return form === 'settle' ? () => pipeline.settle(empty) : () => caught(pipeline.execute(empty));
};
const caught = async (promise) => {
  try {
    await promise;
  } catch {
    return;
  }
  throw new Error('was not refused');
};

const peer =
  (policy, work = empty) =>
  () =>
  () =>
    policy.execute(work);

const peerBreaker = () =>
  circuitBreaker(handleAll, {
    halfOpenAfter: 5000,
    breaker: new SamplingBreaker({ threshold: 0.1, duration: 30_000, minimumRps: 4 }),
  });
const peerRetry = () => retry(handleAll, { maxAttempts: 3, backoff: new ConstantBackoff(2000) });
const peerFour = wrap(peerRetry(), peerBreaker(), bulkhead(10, 0), timeout(5000, TimeoutStrategy.Aggressive));
const peerBoth = wrap(bulkhead(10, 0), timeout(5000, TimeoutStrategy.Aggressive));

serve({
  'bare callback': () => empty,
  'adaptive limiter + timeout, ambient': ours('ambient', adaptive),
  'adaptive limiter + timeout, explicit': ours('explicit', adaptive),
  'fixed limiter + timeout, ambient': ours('ambient', fixed),
  'fixed limiter + timeout, explicit': ours('explicit', fixed),
  'cockatiel wrap(bulkhead, timeout)': peer(peerBoth),
  'adaptive limiter + timeout, ambient, signal': ours('ambient', adaptive, reading),
  'adaptive limiter + timeout, explicit, signal': ours('explicit', adaptive, reading),
  'cockatiel wrap(bulkhead, timeout), signal': peer(peerBoth, reading),
  'fixed limiter, ambient': ours('ambient', limiter),
  'fixed limiter, explicit': ours('explicit', limiter),
  'telemetry listener': ours('explicit', adaptive, empty, () => {}),
  'diagnostics_channel subscriber': () => {
    for (const event of ['PipelineExecuting', 'PipelineExecuted']) {
      subscribe(`ylcnfrht.resilience.${event}`, () => {});
    }
    return ours('explicit', adaptive)();
  },
  'nobody listens': ours('explicit', adaptive),
  'cockatiel bulkhead': peer(bulkhead(10, 0)),
  'p-limit': () => {
    const limit = pLimit(10);
    return () => limit(empty);
  },
  'async-sema': () => limited(10, empty),
  'refused, execute': refused('execute'),
  'refused, settle': refused('settle'),
  'cockatiel bulkhead, refused': () => {
    const policy = bulkhead(1, 0);
    policy.execute(() => new Promise(() => {}));
    return () => caught(policy.execute(empty));
  },
  'circuit breaker, ambient': ours('ambient', breaker),
  'circuit breaker, explicit': ours('explicit', breaker),
  opossum: () => {
    const policy = new CircuitBreaker(empty, { timeout: false });
    return () => policy.fire();
  },
  'cockatiel sampling breaker': peer(peerBreaker()),
  'composite of five, ambient': ours('ambient', five),
  'composite of five, explicit': ours('explicit', five),
  'composite of four, ambient': ours('ambient', composite),
  'composite of four, explicit': ours('explicit', composite),
  'cockatiel wrap of four': peer(peerFour),
});
