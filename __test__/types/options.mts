import {
  ResiliencePipelineBuilder,
  aimd,
  defaultShouldDrop,
  gradient2,
  isExecutionRejected,
  knee,
  vegas,
  type AdaptiveConcurrencyLimiterOptions,
  type AdaptiveConcurrencyLimiterStrategy,
  type ConcurrencyLimiterOptions,
  type ConcurrencyLimiterStrategy,
  type Duration,
  type FallbackStrategy,
  type KneeOptions,
  type LimitRule,
  type LimitSample,
  type OnCircuitClosedArgs,
  type OnCircuitHalfOpenedArgs,
  type OnCircuitOpenedArgs,
  type OnHedgingArgs,
  type OnLimitDecisionArgs,
  type OnRetryArgs,
  type Outcome,
  type OutcomeArgs,
  type ResilienceStrategyView,
  type TimeoutOptions,
  type TimeoutStrategy,
} from '@ylcnfrht/resilience';
import { equal } from './equal.mjs';

const builder = () => new ResiliencePipelineBuilder();

// Durations
const durations: Duration[] = [0, 250, 0.5, '250ms', '1.5s', '5m', '1h', '2d'];
// @ts-expect-error no unit
const bare: Duration = '250';
// @ts-expect-error unknown unit
const weeks: Duration = '2w';
// @ts-expect-error spelled out
const spelled: Duration = '5 seconds';
// @ts-expect-error no number
const wordy: Duration = 'fives';
// @ts-expect-error neither a number nor a string
const date: Duration = new Date();
// @ts-expect-error
builder().addTimeout('5sec');
// @ts-expect-error
builder().addConcurrencyLimiter({ permitLimit: 1, queueTimeout: 'soon' });

// Timeout
builder().addTimeout(5000).addTimeout('5s').addTimeout({
  timeout: '5s',
  onTimeout: async ({ timeout }) => equal<typeof timeout, number>(true),
});
builder().addTimeout({ timeoutGenerator: async ({ context }) => context.properties.get('left') as number });
// @ts-expect-error misspelled
builder().addTimeout({ timeOut: '5s' });
// @ts-expect-error a timeout needs a length
builder().addTimeout();
const generator: TimeoutOptions = {
  // @ts-expect-error not a duration
  timeoutGenerator: () => 'later',
};

// Concurrency limiter
builder().addConcurrencyLimiter(10).addConcurrencyLimiter(10, 50);
const limiter: ConcurrencyLimiterOptions = {
  permitLimit: 10,
  queueLimit: undefined,
  onRejected: ({ reason, retryAfter }) => {
    equal<typeof reason, 'full' | 'queue-timeout' | 'dropped' | 'disposed'>(true);
    equal<typeof retryAfter, number | undefined>(true);
  },
};
// @ts-expect-error permitLimit is missing
builder().addConcurrencyLimiter({ queueLimit: 5 });
// @ts-expect-error a string is no number
builder().addConcurrencyLimiter('10');
// @ts-expect-error unknown policy
builder().addConcurrencyLimiter({ permitLimit: 1, overflow: 'drop-newest' });
// @ts-expect-error a priority is a number
builder().addConcurrencyLimiter({ permitLimit: 1, priority: () => 'high' });

// Adaptive concurrency limiter
const adaptive: AdaptiveConcurrencyLimiterOptions<Response> = {
  algorithm: { onSample: ({ limit }) => limit },
  priority: ({ operationKey }) => (operationKey === 'checkout' ? 0 : 5),
  overflow: 'drop-lowest-priority',
  operation: ({ operationKey, properties }) => operationKey ?? (properties.get('route') as string),
  shouldDrop: (args) => defaultShouldDrop(args) || (args.outcome.ok && args.outcome.result.status === 503),
};
const minimum: number | undefined = adaptive.minLimit;
new ResiliencePipelineBuilder<Response>().addAdaptiveConcurrencyLimiter(adaptive);
new ResiliencePipelineBuilder<Response>().addAdaptiveConcurrencyLimiter({
  // @ts-expect-error a Response has no such field
  shouldDrop: ({ outcome }) => outcome.ok && outcome.result.state === 503,
});
builder().addAdaptiveConcurrencyLimiter().addAdaptiveConcurrencyLimiter(undefined);
// @ts-expect-error unknown algorithm
builder().addAdaptiveConcurrencyLimiter({ algorithm: 'reno' });
// @ts-expect-error unknown policy
builder().addAdaptiveConcurrencyLimiter({ overflow: 'drop-newest' });
// @ts-expect-error a priority is a number
builder().addAdaptiveConcurrencyLimiter({ priority: () => 'high' });
// @ts-expect-error no onSample
builder().addAdaptiveConcurrencyLimiter({ algorithm: {} });
// @ts-expect-error misspelled
builder().addAdaptiveConcurrencyLimiter({ maximumLimit: 5 });
declare const sample: LimitSample;
const next: number = gradient2({ queueSize: (limit) => limit / 10 }).onSample(sample)
  + vegas({ alpha: 2, beta: 4 }).onSample(sample)
  + aimd({ increase: 2, backoffRatio: 0.5 }).onSample(sample);
// @ts-expect-error aimd has no alpha
aimd({ alpha: 3 });
const tuned: KneeOptions = { headroom: 2, queue: 'short' };
const limit: number = knee(tuned).onSample(sample);
builder()
  .addAdaptiveConcurrencyLimiter({ algorithm: 'knee', operation: () => undefined })
  .addAdaptiveConcurrencyLimiter({ algorithm: knee({ queue: undefined }), operation: undefined })
  .addAdaptiveConcurrencyLimiter({
    algorithm: { onSample: ({ operation, now, startedAt }) => (operation?.length ?? now - startedAt) },
  });
// @ts-expect-error unknown queue
knee({ queue: 'none' });
// @ts-expect-error it reads the clock
knee().onSample({ rtt: 1, inflight: 1, dropped: false, limit: 1 });
// @ts-expect-error a kind is a string
builder().addAdaptiveConcurrencyLimiter({ operation: () => 5 });
// @ts-expect-error a kind is told at once
builder().addAdaptiveConcurrencyLimiter({ operation: async () => 'get' });
const rule: LimitRule = 'probe-end';
// @ts-expect-error unknown rule
const unknownRule: LimitRule = 'jump';

// Fallback
new ResiliencePipelineBuilder<string[]>().addFallback({
  fallbackAction: async ({ outcome, context }) =>
    (outcome.ok ? outcome.result : [String(context.operationKey)]),
});
// @ts-expect-error not a string[]
new ResiliencePipelineBuilder<string[]>().addFallback({ fallbackValue: 5 });
// @ts-expect-error a predicate decides
new ResiliencePipelineBuilder<string[]>().addFallback({ fallbackValue: [], shouldHandle: () => 'yes' });

// Pipeline options and executions
// @ts-expect-error unknown mode
new ResiliencePipelineBuilder({ context: 'none' });
new ResiliencePipelineBuilder({
  telemetry: (event) => {
    if (event.name === 'OnTimeout') equal<typeof event.args.timeout, number>(true);
    if (event.name === 'OnLimitChanged') equal<typeof event.args.sample, LimitSample>(true);
    if (event.name === 'OnLimitDecision') {
      equal<typeof event.args, OnLimitDecisionArgs>(true);
      equal<typeof event.args.rule, LimitRule>(true);
      equal<typeof event.args.latencyRatio, number | undefined>(true);
    }
    if (event.name === 'OnFallback') equal<typeof event.args, OutcomeArgs<unknown>>(true);
    if (event.name === 'OnRetry') equal<typeof event.args, OnRetryArgs<unknown>>(true);
    if (event.name === 'OnHedging') equal<typeof event.args, OnHedgingArgs>(true);
    if (event.name === 'OnCircuitOpened') equal<typeof event.args, OnCircuitOpenedArgs<unknown>>(true);
    if (event.name === 'OnCircuitHalfOpened') equal<typeof event.args, OnCircuitHalfOpenedArgs>(true);
    if (event.name === 'OnCircuitClosed') equal<typeof event.args, OnCircuitClosedArgs<unknown>>(true);
    if (event.name === 'ExecutionAttempt') {
      equal<typeof event.args.outcome, Outcome<unknown>>(true);
      equal<typeof event.args.handled, boolean>(true);
      equal<typeof event.args.attemptNumber | typeof event.args.duration, number>(true);
    }
    if (event.name === 'OnRateLimiterRejected') {
      equal<typeof event.args.reason, 'full' | 'queue-timeout' | 'dropped' | 'disposed'>(true);
      equal<typeof event.args.retryAfter, number | undefined>(true);
    }
    // @ts-expect-error no such event
    if (event.name === 'OnRetired') return;
    // @ts-expect-error not every event has it
    event.args.timeout;
  },
});
const pipeline = new ResiliencePipelineBuilder<number>().addTimeout('1s').build();
const executed = pipeline.execute(async () => Math.random(), {
  operationKey: 'random',
  properties: [['a', 1]],
  signal: AbortSignal.timeout(5),
});
equal<typeof executed, Promise<number>>(true);
pipeline.execute(() => 5, { properties: new Map<string, unknown>() });
// @ts-expect-error the pipeline is for numbers
pipeline.execute(() => 'five');

// Live strategies
const timeoutView = pipeline.getStrategy('Timeout');
const limiterView = pipeline.getStrategy('ConcurrencyLimiter');
const adaptiveView = pipeline.getStrategy('AdaptiveConcurrencyLimiter');
const fallbackView = pipeline.getStrategy('Fallback');
const anyView = pipeline.getStrategy('mine');
equal<typeof timeoutView, TimeoutStrategy | undefined>(true);
equal<typeof limiterView, ConcurrencyLimiterStrategy | undefined>(true);
equal<typeof adaptiveView, AdaptiveConcurrencyLimiterStrategy | undefined>(true);
equal<typeof fallbackView, FallbackStrategy | undefined>(true);
equal<typeof anyView, ResilienceStrategyView | undefined>(true);

// Disposal
{
  using disposed = builder().build();
  disposed.dispose();
}
