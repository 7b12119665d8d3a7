import {
  Outcome,
  PipelineBuilder,
  ResiliencePipelineBuilder,
  timeoutStrategy,
  type CustomStrategy,
  type NextStrategy,
  type ResilienceContext,
  type ResiliencePipeline,
  type TimeoutRejectedError,
} from '@ylcnfrht/resilience';
import { equal } from './equal.mjs';

class QuotaError extends Error {
  readonly code = 'QUOTA';
}

// Inline: the builder says what `next` gives.
const inline = new PipelineBuilder<number>()
  .add(() => ({
    name: 'Doubling',
    execute: async (next, context) => {
      equal<typeof context, ResilienceContext>(true);
      const outcome = await next(context);
      equal<typeof outcome, Outcome<number>>(true);
      return outcome.ok ? Outcome.success(outcome.result * 2) : outcome;
    },
  }))
  .add(timeoutStrategy(1))
  .build();
equal<typeof inline, ResiliencePipeline<number, TimeoutRejectedError>>(true);

// By class, with state of its own.
class Counting implements CustomStrategy {
  readonly name = 'Counting';
  failures = 0;
  async execute(next: NextStrategy, context: ResilienceContext) {
    const outcome = await next(context);
    if (!outcome.ok) this.failures++;
    return outcome;
  }
}
const counted = new ResiliencePipelineBuilder<string>().addTimeout(1).add(() => new Counting()).build();
equal<typeof counted, ResiliencePipeline<string, TimeoutRejectedError>>(true);
const view = counted.getStrategy('Counting');
if (view instanceof Counting) equal<typeof view.failures, number>(true);

// The errors that it raises, by name.
const quota = (): CustomStrategy => ({
  name: 'Quota',
  execute: async () => Outcome.failure(new QuotaError()),
});
const limited = new PipelineBuilder().add<QuotaError>(quota).add(timeoutStrategy(1)).build();
const outcome = await limited.settle(() => 1);
equal<typeof outcome, Outcome<number, QuotaError | TimeoutRejectedError>>(true);
outcome.match({
  ok: () => {},
  QUOTA: (error) => equal<typeof error, QuotaError>(true),
  TIMEOUT: () => {},
  error: () => {},
});
// @ts-expect-error QUOTA is missing
outcome.match({ ok: () => {}, TIMEOUT: () => {}, error: () => {} });

// An outer fallback catches those too.
const caught = new ResiliencePipelineBuilder<number>()
  .addFallback({ fallbackValue: 0 })
  .add<QuotaError>(quota)
  .build();
equal<typeof caught, ResiliencePipeline<number, never>>(true);

const builder = () => new PipelineBuilder<number>();
// @ts-expect-error an error without a literal code
builder().add<Error>(quota);
// @ts-expect-error a function that makes it, not the strategy itself
builder().add(new Counting());
// @ts-expect-error the name is missing
builder().add(() => ({ execute: (next: NextStrategy, context: ResilienceContext) => next(context) }));
// @ts-expect-error there is nothing to execute
builder().add(() => ({ name: 'Nothing' }));
// @ts-expect-error a result is no outcome
builder().add(() => ({ name: 'Bare', execute: async () => 5 }));
// @ts-expect-error an outcome of another type
builder().add(() => ({ name: 'Wordy', execute: async () => Outcome.success('five') }));
// @ts-expect-error a class is not called without new
builder().add(Counting);
