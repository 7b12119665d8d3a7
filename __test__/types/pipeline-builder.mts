// Both builders, and what each strategy does to the pipeline's errors.
import {
  PipelineBuilder,
  ResiliencePipelineBuilder,
  adaptiveConcurrencyLimiterStrategy,
  circuitBreakerStrategy,
  concurrencyLimiterStrategy,
  fallbackStrategy,
  hedgingStrategy,
  rateLimiterStrategy,
  retryStrategy,
  timeoutStrategy,
  type BrokenCircuitError,
  type BulkheadRejectedError,
  type IsolatedCircuitError,
  type RateLimiterRejectedError,
  type ResiliencePipeline,
  type ResiliencePipelineBuilderOptions,
  type ResilienceStrategy,
  type TimeoutRejectedError,
} from '@ylcnfrht/resilience';
import { equal } from './equal.mjs';

type CircuitError = BrokenCircuitError | IsolatedCircuitError;
type Every = TimeoutRejectedError | BulkheadRejectedError | RateLimiterRejectedError | CircuitError;

const shortcuts = () => new ResiliencePipelineBuilder<number>();
const builder = () => new PipelineBuilder<number>();

// One strategy, by both builders.
const retried = shortcuts().addRetry().build();
const retriedToo = builder().add(retryStrategy()).build();
equal<typeof retried, ResiliencePipeline<number, never>>(true);
equal<typeof retriedToo, typeof retried>(true);
const timed = shortcuts().addTimeout(1).build();
const timedToo = builder().add(timeoutStrategy('1s')).build();
equal<typeof timed, ResiliencePipeline<number, TimeoutRejectedError>>(true);
equal<typeof timedToo, typeof timed>(true);
const broken = shortcuts().addCircuitBreaker().build();
const brokenToo = builder().add(circuitBreakerStrategy()).build();
equal<typeof broken, ResiliencePipeline<number, CircuitError>>(true);
equal<typeof brokenToo, typeof broken>(true);
const capped = shortcuts().addConcurrencyLimiter(1, 2).build();
const cappedToo = builder().add(concurrencyLimiterStrategy(1, 2)).build();
equal<typeof capped, ResiliencePipeline<number, BulkheadRejectedError>>(true);
equal<typeof cappedToo, typeof capped>(true);
const adaptive = shortcuts().addAdaptiveConcurrencyLimiter().build();
const adaptiveToo = builder().add(adaptiveConcurrencyLimiterStrategy()).build();
equal<typeof adaptive, ResiliencePipeline<number, BulkheadRejectedError>>(true);
equal<typeof adaptiveToo, typeof adaptive>(true);
const limited = shortcuts().addRateLimiter({ permitLimit: 1, window: '1s' }).build();
const limitedToo = builder().add(rateLimiterStrategy({ permitLimit: 1, window: '1s' })).build();
equal<typeof limited, ResiliencePipeline<number, RateLimiterRejectedError>>(true);
equal<typeof limitedToo, typeof limited>(true);
const hedged = shortcuts().addHedging().build();
const hedgedToo = builder().add(hedgingStrategy()).build();
equal<typeof hedged, ResiliencePipeline<number, never>>(true);
equal<typeof hedgedToo, typeof hedged>(true);
const replaced = shortcuts().addFallback({ fallbackValue: 0 }).build();
const replacedToo = builder().add(fallbackStrategy({ fallbackValue: 0 })).build();
equal<typeof replaced, ResiliencePipeline<number, never>>(true);
equal<typeof replacedToo, typeof replaced>(true);

// All of them: the union, in whatever order.
const every = shortcuts()
  .addRateLimiter({ permitLimit: 1, window: 1000 })
  .addConcurrencyLimiter(10)
  .addTimeout('30s')
  .addRetry()
  .addHedging()
  .addCircuitBreaker()
  .addAdaptiveConcurrencyLimiter()
  .addTimeout('10s')
  .build();
equal<typeof every, ResiliencePipeline<number, Every>>(true);
const everyToo = builder()
  .add(timeoutStrategy('10s'))
  .add(circuitBreakerStrategy())
  .add(retryStrategy())
  .add(concurrencyLimiterStrategy(10))
  .add(hedgingStrategy())
  .add(rateLimiterStrategy({ permitLimit: 1, window: 1000 }))
  .add(adaptiveConcurrencyLimiterStrategy())
  .build();
equal<typeof everyToo, typeof every>(true);

// A fallback takes away the errors of what is added after it, whichever form they have.
const inside = shortcuts().addTimeout(9).addFallback({ fallbackValue: 0 }).addCircuitBreaker().addTimeout(1);
equal<ReturnType<typeof inside.build>, ResiliencePipeline<number, TimeoutRejectedError>>(true);
const insideToo = builder()
  .add(timeoutStrategy(9))
  .add(fallbackStrategy({ fallbackAction: () => 0 }))
  .add(circuitBreakerStrategy())
  .add(rateLimiterStrategy({ permitLimit: 1, window: 1 }))
  .build();
equal<typeof insideToo, ResiliencePipeline<number, TimeoutRejectedError>>(true);
const innermost = builder().add(circuitBreakerStrategy()).add(fallbackStrategy({ fallbackValue: 0 })).build();
equal<typeof innermost, ResiliencePipeline<number, CircuitError>>(true);
const outermost = shortcuts()
  .addFallback({ fallbackValue: 0 })
  .addRateLimiter({ permitLimit: 1, window: 1 })
  .addCircuitBreaker()
  .addRetry()
  .add(timeoutStrategy(1))
  .build();
equal<typeof outermost, ResiliencePipeline<number, never>>(true);

// One that chooses takes nothing away.
const chosen = builder()
  .add(fallbackStrategy({ fallbackValue: 0, shouldHandle: ({ outcome: { ok } }) => !ok }))
  .add(timeoutStrategy(1))
  .build();
equal<typeof chosen, ResiliencePipeline<number, TimeoutRejectedError>>(true);

// A builder that catches some codes only.
declare const catching: PipelineBuilder<number, never, 'TIMEOUT'>;
const some = catching.add(timeoutStrategy(1)).add(circuitBreakerStrategy()).build();
equal<typeof some, ResiliencePipeline<number, CircuitError>>(true);

// The two kinds of builder are interchangeable.
const options: ResiliencePipelineBuilderOptions = { name: 'users', context: 'explicit', telemetry: () => {} };
const guard = <E, C extends string>(given: PipelineBuilder<number, E, C>) => given.add(timeoutStrategy('1s'));
equal<
  ReturnType<ReturnType<typeof guard<never, never>>['build']>,
  ResiliencePipeline<number, TimeoutRejectedError>
>(true);
guard(new PipelineBuilder<number>(options));
guard(new ResiliencePipelineBuilder<number>(options).addRetry());
const mixed = shortcuts().add(retryStrategy()).addTimeout('1s').add(concurrencyLimiterStrategy(1)).addRetry();
equal<
  ReturnType<typeof mixed.build>,
  ResiliencePipeline<number, TimeoutRejectedError | BulkheadRejectedError>
>(true);
// @ts-expect-error only the other kind has shortcuts
builder().addRetry();

// A strategy kept in a variable serves both, and any type of result unless its callbacks know it.
const shared = retryStrategy({ maxRetryAttempts: 1 });
equal<typeof shared, ResilienceStrategy<any, never, never>>(true);
new PipelineBuilder<string>().add(shared).add(timeoutStrategy(1));
new ResiliencePipelineBuilder<Response>().add(shared);
const words = fallbackStrategy<string>({ fallbackAction: ({ outcome }) => (outcome.ok ? 'ok' : '') });
equal<typeof words, ResilienceStrategy<string, never, string>>(true);
new PipelineBuilder<string>().add(words);
// @ts-expect-error numbers are no strings
builder().add(words);

// The builder tells a strategy's callbacks what the result is.
new PipelineBuilder<Response>()
  .add(retryStrategy({ shouldHandle: ({ outcome }) => outcome.ok && outcome.result.status === 503 }))
  .add(circuitBreakerStrategy({ shouldHandle: ({ outcome }) => !outcome.ok || outcome.result.status > 500 }))
  .add(adaptiveConcurrencyLimiterStrategy({ shouldDrop: ({ outcome }) => outcome.ok && !outcome.result.ok }))
  .add(hedgingStrategy({ actionGenerator: ({ actionContext, callback }) => () => callback(actionContext) }))
  // @ts-expect-error a Response has no such field
  .add(retryStrategy({ shouldHandle: ({ outcome }) => outcome.ok && outcome.result.state === 503 }));
new PipelineBuilder<string | number>().add(fallbackStrategy({ fallbackValue: '' }));
new PipelineBuilder<string[]>().add(fallbackStrategy({ fallbackAction: () => [] }));
// @ts-expect-error not a number
builder().add(fallbackStrategy({ fallbackValue: '' }));
// @ts-expect-error not a number
builder().add(fallbackStrategy({ fallbackAction: async () => '' }));

// What is no strategy.
// @ts-expect-error options are no strategy
builder().add({ maxRetryAttempts: 3 });
// @ts-expect-error the function itself makes no strategy without its options
builder().add(timeoutStrategy);
// @ts-expect-error a pipeline is no strategy
builder().add(every);
// @ts-expect-error nothing is added
builder().add();
// @ts-expect-error a strategy is only made by its function
const imitation: ResilienceStrategy = { name: 'Retry' };
// @ts-expect-error misspelled
new PipelineBuilder({ nome: 'users' });
