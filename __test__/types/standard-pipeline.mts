import {
  Outcome,
  isTransient,
  standardPipeline,
  type BrokenCircuitError,
  type BulkheadRejectedError,
  type IsolatedCircuitError,
  type ResiliencePipeline,
  type StandardPipelineOptions,
  type TimeoutRejectedError,
} from '@ylcnfrht/resilience';
import { equal } from './equal.mjs';

type Raised = BulkheadRejectedError | TimeoutRejectedError | BrokenCircuitError | IsolatedCircuitError;

const pipeline = standardPipeline();
equal<typeof pipeline, ResiliencePipeline<any, Raised>>(true);
const typed = standardPipeline<Response>({ retry: { shouldHandle: ({ outcome }) => !outcome.ok } });
equal<typeof typed, ResiliencePipeline<Response, Raised>>(true);

const options: StandardPipelineOptions<Response> = {
  name: 'search',
  context: 'explicit',
  telemetry: ({ name }) => console.log(name),
  concurrencyLimiter: { queueLimit: 5 },
  totalTimeout: { timeout: '20s' },
  retry: { maxRetryAttempts: 1, shouldHandle: ({ outcome }) => outcome.ok && outcome.result.status === 503 },
  circuitBreaker: { shouldHandle: isTransient },
  attemptTimeout: { timeout: '5s', onTimeout: ({ timeout }) => console.log(timeout) },
};
standardPipeline(options);
standardPipeline({ concurrencyLimiter: 50, totalTimeout: '20s', attemptTimeout: 5000 });

const outcome = await pipeline.settle(() => 'page');
const shown = outcome.match({
  ok: (page) => page,
  BULKHEAD_FULL: (error) => error.queued,
  TIMEOUT: (error) => error.timeout,
  CIRCUIT_OPEN: (error) => error.retryAfter ?? null,
  CIRCUIT_ISOLATED: () => false as const,
  error: () => undefined,
});
equal<typeof shown, string | number | null | false | undefined>(true);
// @ts-expect-error not a duration
standardPipeline({ totalTimeout: '20 seconds' });

equal<boolean, ReturnType<typeof isTransient>>(true);
isTransient({ outcome: Outcome.failure(new Error('no')) });
// @ts-expect-error an error is no outcome
isTransient(new Error('no'));
// @ts-expect-error misspelled
standardPipeline({ breaker: {} });
// @ts-expect-error there is no such strategy in it
standardPipeline({ hedging: {} });
// @ts-expect-error an option of another strategy
standardPipeline({ attemptTimeout: { delay: '1s' } });
