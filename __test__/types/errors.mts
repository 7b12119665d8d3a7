import {
  BulkheadRejectedError,
  ExecutionRejectedError,
  InternalError,
  PipelineDisposedError,
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
// @ts-expect-error the counts are missing
new BulkheadRejectedError('full', {});
// @ts-expect-error only the builder makes pipelines
new ResiliencePipeline();
// @ts-expect-error errors are read-only
timeout.timeout = 1;
// @ts-expect-error an internal error is no rejection
const rejection: ExecutionRejectedError = new InternalError('defect');
