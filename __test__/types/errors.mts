import {
  BrokenCircuitError,
  BulkheadRejectedError,
  ExecutionRejectedError,
  InternalError,
  IsolatedCircuitError,
  PipelineDisposedError,
  RateLimiterRejectedError,
  ResiliencePipeline,
  TimeoutRejectedError,
  isExecutionRejected,
} from '@ylcnfrht/resilience';
import { equal } from './equal.mjs';

const timeout = new TimeoutRejectedError(5000, { strategyName: 'Timeout', cause: new Error('slow') });
equal<typeof timeout.code, 'TIMEOUT'>(true);
equal<typeof timeout.statusCode, 504>(true);
equal<typeof timeout.timeout, number>(true);

const bulkhead = new BulkheadRejectedError('full', { active: 10, queued: 0, pipelineName: 'inbound' });
equal<typeof bulkhead.code, 'BULKHEAD_FULL'>(true);
equal<typeof bulkhead.statusCode, 503>(true);
equal<typeof bulkhead.reason, 'full' | 'queue-timeout' | 'dropped' | 'disposed'>(true);
equal<typeof bulkhead.retryAfter, number | undefined>(true);
const limited = new RateLimiterRejectedError('full', { retryAfter: 250, strategyName: 'RateLimiter' });
equal<typeof limited.code, 'RATE_LIMITED'>(true);
equal<typeof limited.statusCode, 429>(true);
equal<typeof limited.reason, 'full' | 'disposed'>(true);
equal<typeof limited.retryAfter, number | undefined>(true);
const broken = new BrokenCircuitError({ retryAfter: undefined, pipelineName: 'search' });
equal<typeof broken.code, 'CIRCUIT_OPEN'>(true);
equal<typeof broken.statusCode, 503>(true);
equal<typeof broken.retryAfter, number | undefined>(true);
equal<IsolatedCircuitError['code'], 'CIRCUIT_ISOLATED'>(true);
equal<IsolatedCircuitError['statusCode'], 503>(true);
new IsolatedCircuitError({ cause: new Error('maintenance') });
new BrokenCircuitError();
equal<PipelineDisposedError['code'], 'PIPELINE_DISPOSED'>(true);
equal<InternalError['code'], 'INTERNAL'>(true);

declare const caught: unknown;
if (isExecutionRejected(caught)) {
  equal<typeof caught, ExecutionRejectedError>(true);
  equal<typeof caught.statusCode, number>(true);
  equal<typeof caught.pipelineName, string | undefined>(true);
  if (caught instanceof TimeoutRejectedError) equal<typeof caught.timeout, number>(true);
}

// @ts-expect-error the base class is not made by itself
new ExecutionRejectedError('no');
// @ts-expect-error unknown reason
new BulkheadRejectedError('busy', { active: 1, queued: 0 });
// @ts-expect-error a rate limiter has no such reason
new RateLimiterRejectedError('queue-timeout');
// @ts-expect-error the reason is missing
new RateLimiterRejectedError({ retryAfter: 250 });
// @ts-expect-error nobody knows until when it is isolated
new IsolatedCircuitError({ retryAfter: 250 });
// @ts-expect-error one is not the other
const mistaken: BrokenCircuitError = new IsolatedCircuitError();
// @ts-expect-error the counts are missing
new BulkheadRejectedError('full', {});
// @ts-expect-error only the builder makes pipelines
new ResiliencePipeline();
// @ts-expect-error errors are read-only
timeout.timeout = 1;
// @ts-expect-error an internal error is no rejection
const rejection: ExecutionRejectedError = new InternalError('defect');
