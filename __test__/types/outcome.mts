import {
  Outcome,
  ResiliencePipelineBuilder,
  type BrokenCircuitError,
  type BulkheadRejectedError,
  type IsolatedCircuitError,
  type OutcomeArgs,
  type PipelineDisposedError,
  type RateLimiterRejectedError,
  type TimeoutRejectedError,
} from '@ylcnfrht/resilience';
import { equal } from './equal.mjs';

const pipeline = new ResiliencePipelineBuilder().addConcurrencyLimiter(10).addTimeout('1s').build();
const outcome = await pipeline.settle(async () => 'page');

equal<typeof outcome, Outcome<string, BulkheadRejectedError | TimeoutRejectedError>>(true);

if (outcome.ok) {
  equal<typeof outcome.result, string>(true);
  // @ts-expect-error a success has no error
  outcome.error;
} else {
  equal<typeof outcome.error, unknown>(true);
  // @ts-expect-error a failure has no result
  outcome.result;
}

// Every branch knows its argument; the value is the union of what the branches return.
const matched = outcome.match({
  ok: (result) => {
    equal<typeof result, string>(true);
    return result;
  },
  BULKHEAD_FULL: (error) => {
    equal<typeof error, BulkheadRejectedError>(true);
    return error.queued;
  },
  TIMEOUT: (error) => {
    equal<typeof error, TimeoutRejectedError>(true);
    return null;
  },
  error: (error) => {
    equal<typeof error, unknown>(true);
    return false as const;
  },
});
equal<typeof matched, string | number | null | false>(true);

// A code that this pipeline does not raise itself can pass through it.
outcome.match({
  ok: () => {},
  BULKHEAD_FULL: () => {},
  TIMEOUT: () => {},
  PIPELINE_DISPOSED: (error) => equal<typeof error, PipelineDisposedError>(true),
  RATE_LIMITED: (error) => equal<typeof error, RateLimiterRejectedError>(true),
  CIRCUIT_OPEN: (error) => equal<typeof error, BrokenCircuitError>(true),
  CIRCUIT_ISOLATED: (error) => equal<typeof error, IsolatedCircuitError>(true),
  error: () => {},
});

// @ts-expect-error BULKHEAD_FULL is missing
outcome.match({ ok: () => {}, TIMEOUT: () => {}, error: () => {} });
// @ts-expect-error TIMEOUT is missing
outcome.match({ ok: () => {}, BULKHEAD_FULL: () => {}, error: () => {} });
// @ts-expect-error ok is missing
outcome.match({ BULKHEAD_FULL: () => {}, TIMEOUT: () => {}, error: () => {} });
// @ts-expect-error error is missing
outcome.match({ ok: () => {}, BULKHEAD_FULL: () => {}, TIMEOUT: () => {} });
outcome.match({
  ok: () => {},
  BULKHEAD_FULL: () => {},
  TIMEOUT: () => {},
  error: () => {},
  // @ts-expect-error no such code
  TIMED_OUT: () => {},
});
outcome.match({
  ok: () => {},
  BULKHEAD_FULL: () => {},
  // @ts-expect-error a timeout has no queue
  TIMEOUT: (error) => error.queued,
  error: () => {},
});

// A fallback takes the errors of the strategies inside of it out of the pipeline's.
const caught = await new ResiliencePipelineBuilder<string>()
  .addConcurrencyLimiter(10)
  .addFallback({ fallbackValue: '' })
  .addTimeout('1s')
  .build()
  .settle(() => 'page');
caught.match({ ok: () => {}, BULKHEAD_FULL: () => {}, error: () => {} });
// @ts-expect-error BULKHEAD_FULL comes from outside of the fallback
caught.match({ ok: () => {}, error: () => {} });

// One that chooses does not.
const chosen = await new ResiliencePipelineBuilder<string>()
  .addFallback({ fallbackValue: '', shouldHandle: ({ outcome }) => !outcome.ok })
  .addTimeout('1s')
  .build()
  .settle(() => 'page');
chosen.match({ ok: () => {}, TIMEOUT: () => {}, error: () => {} });
// @ts-expect-error TIMEOUT can pass
chosen.match({ ok: () => {}, error: () => {} });

// Made by hand.
equal<ReturnType<typeof Outcome.success<number>>['result'], number>(true);
const done: Outcome<number, TimeoutRejectedError> = Outcome.success(1);
const failed: Outcome<number> = Outcome.failure(new Error('no'));
declare const timeout: TimeoutRejectedError;
equal<boolean, typeof failed.ok | typeof done.ok>(true);
const code = Outcome.failure(timeout).match({
  ok: () => 0,
  TIMEOUT: (error) => error.timeout,
  error: () => '',
});
equal<typeof code, string | number>(true);

// What a predicate receives: no code is demanded, each may be given.
export const isOverload = ({ outcome: seen }: OutcomeArgs<string>): boolean =>
  seen.match({ ok: () => false, TIMEOUT: (error) => error.timeout > 10, error: () => false });
