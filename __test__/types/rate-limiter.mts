import {
  ResiliencePipelineBuilder,
  rateLimiterStrategy,
  type OnRateLimiterRejectedArgs,
  type RateLimiterOptions,
  type RateLimiterStrategy,
  type ResilienceContext,
} from '@ylcnfrht/resilience';
import { equal } from './equal.mjs';

const builder = () => new ResiliencePipelineBuilder();

const options: RateLimiterOptions = {
  permitLimit: 100,
  window: '1m',
  algorithm: 'token-bucket',
  burst: 20,
  key: (context) => {
    equal<typeof context, ResilienceContext>(true);
    return context.properties.get('tenant') as string | undefined;
  },
  maxKeys: 10_000,
  queueLimit: 5,
  onRejected: async (args) => {
    equal<typeof args, OnRateLimiterRejectedArgs>(true);
    equal<typeof args.reason, 'full' | 'disposed'>(true);
    equal<typeof args.retryAfter, number | undefined>(true);
  },
  name: 'Tenants',
};
builder().addRateLimiter(options).addRateLimiter({ permitLimit: 1, window: 1000, algorithm: undefined });
builder().addRateLimiter({ permitLimit: 1, window: '1s', key: () => 5 });
rateLimiterStrategy(options);
const view = builder().addRateLimiter(options).build().getStrategy('RateLimiter')!;
equal<typeof view, RateLimiterStrategy>(true);
equal<typeof view.available | typeof view.queued | typeof view.keys | typeof view.evictions, number>(true);
equal<number, ReturnType<typeof view.availableFor>>(true);
view.availableFor('tenant');
view.availableFor(undefined);

// @ts-expect-error options are required
builder().addRateLimiter();
// @ts-expect-error the window is missing
builder().addRateLimiter({ permitLimit: 1 });
// @ts-expect-error permitLimit is missing
builder().addRateLimiter({ window: '1s' });
// @ts-expect-error options are an object
builder().addRateLimiter(100, '1s');
// @ts-expect-error unknown algorithm
builder().addRateLimiter({ permitLimit: 1, window: '1s', algorithm: 'leaky-bucket' });
// @ts-expect-error not a duration
builder().addRateLimiter({ permitLimit: 1, window: 'minute' });
// @ts-expect-error an object is no key
builder().addRateLimiter({ permitLimit: 1, window: '1s', key: () => ({}) });
// @ts-expect-error a key is given at once
builder().addRateLimiter({ permitLimit: 1, window: '1s', key: async () => 'tenant' });
// @ts-expect-error rate limiters have no overflow policy
builder().addRateLimiter({ permitLimit: 1, window: '1s', overflow: 'drop-oldest' });
// @ts-expect-error nor a time limit of the queue
builder().addRateLimiter({ permitLimit: 1, window: '1s', queueTimeout: '1s' });
// @ts-expect-error nor an object for a key
view.availableFor({});
