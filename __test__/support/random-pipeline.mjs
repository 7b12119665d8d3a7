// Pipelines of up to six strategies of every kind, in any order, chosen at random.
import { CircuitBreakerManualControl, ResiliencePipelineBuilder } from '@ylcnfrht/resilience';

const MOST_STRATEGIES = 6;
/** Strategies of one pipeline that may run their inside more than once: their attempts multiply. */
const MOST_REPEATING = 2;

const pick = (random, values) => values[Math.floor(random() * values.length)];
const property =
  (name) =>
  ({ properties }) => {
    const value = properties.get(name);
    if (value === 'throws') throw new Error(name);
    return value;
  };
const overflow = (random) => pick(random, ['reject-new', 'drop-oldest', 'drop-lowest-priority']);

/** By kind: adds one to a builder, and gives how often it may run its inside. */
const KINDS = {
  timeout: (builder, random, { name }) => {
    if (random() < 0.5) builder.addTimeout({ name, timeout: 1 + Math.floor(random() * 4) });
    else builder.addTimeout({ name, timeoutGenerator: ({ context }) => context.properties.get('timeout') });
  },
  limiter: (builder, random, { name, queueLimit }) => {
    const more = random() < 0.5 ? { priority: property('priority'), overflow: overflow(random) } : {};
    const queueTimeout = pick(random, [undefined, 1, 3]);
    builder.addConcurrencyLimiter({
      name,
      permitLimit: pick(random, [1, 2, 5]),
      queueLimit,
      queueTimeout,
      ...more,
    });
  },
  adaptive: (builder, random, { name, queueLimit }) => {
    const algorithm = pick(random, ['gradient2', 'vegas', 'aimd']);
    const more = random() < 0.5 ? { priority: property('priority'), overflow: overflow(random) } : {};
    builder.addAdaptiveConcurrencyLimiter({ name, algorithm, initialLimit: 3, queueLimit, ...more });
  },
  rateLimiter: (builder, random, { name, queueLimit }) => {
    const algorithm = pick(random, ['fixed-window', 'sliding-window', 'token-bucket']);
    const key = random() < 0.5 ? property('key') : undefined;
    const [permitLimit, window] = pick(random, [
      [1, 2],
      [5, 1],
      [20, 1.5],
    ]);
    // Short ones: a queue moves no faster than its rate.
    const places = random() < 0.5 ? Math.min(queueLimit, 2 * permitLimit) : 0;
    builder.addRateLimiter({ name, permitLimit, window, algorithm, key, queueLimit: places });
  },
  breaker: (builder, random, { name, manualControl }) => {
    builder.addCircuitBreaker({
      name,
      manualControl,
      failureRatio: pick(random, [0.3, 0.9]),
      minimumThroughput: pick(random, [2, 20]),
      samplingDuration: 20,
      breakDuration: 1,
      halfOpenProbes: pick(random, [1, 3]),
      consecutiveFailures: pick(random, [undefined, 5]),
      breakDurationGenerator:
        random() < 0.3 ? ({ halfOpenAttempts }) => 0.5 + (halfOpenAttempts % 3) : undefined,
      shouldHandle: random() < 0.5 ? ({ outcome }) => outcome.error?.message === 'rejected' : undefined,
    });
  },
  fallback: (builder, random, { name }) => {
    const shouldHandle = ({ outcome }) => outcome.error?.message === 'thrown';
    if (random() < 0.5) builder.addFallback({ name, fallbackValue: 'value', shouldHandle });
    else builder.addFallback({ name, fallbackAction: async () => 'value', shouldHandle });
  },
  own: (builder, random, { name }) => {
    builder.add(() => ({ name, execute: (next, context) => next(context) }));
  },
  retry: (builder, random, { name }) => {
    const maxRetryAttempts = 1 + Math.floor(random() * 2);
    builder.addRetry({
      name,
      maxRetryAttempts,
      delay: pick(random, [0, 0, 0.5, 2]),
      useJitter: random() < 0.5,
      maxDelay: 3,
      shouldHandle: random() < 0.5 ? async ({ outcome }) => !outcome.ok : undefined,
    });
    return maxRetryAttempts + 1;
  },
  hedging: (builder, random, { name }) => {
    const maxHedgedAttempts = 1 + Math.floor(random() * 2);
    builder.addHedging({ name, maxHedgedAttempts, delay: pick(random, [0, 0.5, 2, Infinity]) });
    return maxHedgedAttempts + 1;
  },
};
const REPEATING = ['retry', 'hedging'];

/**
 * @returns The pipeline; its live strategies; what kinds they are, outermost first; how often it may call a
 *   callback for one execution; and what moves its circuits by hand.
 */
export function randomPipeline(random, queueLimit) {
  const builder = new ResiliencePipelineBuilder({ context: pick(random, ['ambient', 'explicit']) });
  const manualControl = new CircuitBreakerManualControl();
  const kinds = [];
  let mostCalls = 1;
  const count = 1 + Math.floor(random() * MOST_STRATEGIES);
  while (kinds.length < count) {
    const kind = pick(random, Object.keys(KINDS));
    const repeating = kinds.filter((each) => REPEATING.includes(each)).length;
    if (REPEATING.includes(kind) && repeating >= MOST_REPEATING) continue;
    mostCalls *=
      KINDS[kind](builder, random, { name: `${kind} ${kinds.length}`, queueLimit, manualControl }) ?? 1;
    kinds.push(kind);
  }
  const pipeline = builder.build();
  const strategies = kinds.map((kind, index) => pipeline.getStrategy(`${kind} ${index}`));
  return { pipeline, strategies, kinds, mostCalls, manualControl };
}
