import {
  ResiliencePipelineBuilder,
  isTransient,
  retryBudget,
  retryStrategy,
  type Duration,
  type OnRetryArgs,
  type Outcome,
  type RetryBudget,
  type RetryDelayArgs,
  type RetryOptions,
  type RetryPredicateArgs,
  type RetryStrategy,
} from '@ylcnfrht/resilience';
import { equal } from './equal.mjs';

const builder = () => new ResiliencePipelineBuilder<Response>();

const options: RetryOptions<Response> = {
  maxRetryAttempts: Infinity,
  delay: '200ms',
  backoffType: 'exponential',
  maxDelay: '30s',
  useJitter: true,
  delayGenerator: async (args) => {
    equal<typeof args, RetryDelayArgs<Response>>(true);
    return args.outcome.ok ? '1s' : undefined;
  },
  shouldHandle: (args) => {
    equal<typeof args, RetryPredicateArgs<Response>>(true);
    return !args.outcome.ok || (args.attemptNumber === 0 && args.outcome.result.status === 503);
  },
  onRetry: async (args) => {
    equal<typeof args, OnRetryArgs<Response>>(true);
    equal<typeof args.outcome, Outcome<Response>>(true);
    equal<typeof args.retryDelay, number>(true);
    equal<typeof args.duration, number>(true);
    equal<typeof args.attemptNumber, number>(true);
    equal<typeof args.context.signal, AbortSignal>(true);
  },
  budget: retryBudget({ ratio: 0.1, minPerSecond: 0 }),
  respectRetryAfter: false,
  name: 'Again',
};
equal<typeof options.delay, Duration | undefined>(true);
builder().addRetry(options).addRetry().addRetry(undefined).addRetry({});
builder().addRetry({ maxRetryAttempts: undefined, shouldHandle: isTransient });
builder().addRetry({ shouldHandle: async ({ outcome }) => !outcome.ok });
builder().addRetry({ delayGenerator: ({ attemptNumber }) => attemptNumber * 100 });
retryStrategy(options);

const budget = retryBudget();
equal<typeof budget, RetryBudget>(true);
equal<typeof budget.balance, number>(true);
const view = builder().addRetry().build().getStrategy('Retry');
equal<typeof view, RetryStrategy | undefined>(true);

// @ts-expect-error misspelled
builder().addRetry({ maxAttempts: 3 });
// @ts-expect-error a string is no number
builder().addRetry({ maxRetryAttempts: '3' });
// @ts-expect-error options are an object
builder().addRetry(3);
// @ts-expect-error not a duration
builder().addRetry({ delay: '200' });
// @ts-expect-error unknown backoff
builder().addRetry({ backoffType: 'fibonacci' });
// @ts-expect-error a predicate decides
builder().addRetry({ shouldHandle: () => 'yes' });
// @ts-expect-error a Response has no such field
builder().addRetry({ shouldHandle: ({ outcome }) => outcome.ok && outcome.result.state === 503 });
// @ts-expect-error not a duration
builder().addRetry({ delayGenerator: () => 'later' });
// @ts-expect-error a budget is made by retryBudget
builder().addRetry({ budget: { balance: 5 } });
// @ts-expect-error misspelled
retryBudget({ ratios: 1 });
// @ts-expect-error read-only
budget.balance = 5;
