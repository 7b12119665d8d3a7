import {
  ResiliencePipelineBuilder,
  hedgingStrategy,
  isTransient,
  type HedgingActionArgs,
  type HedgingOptions,
  type HedgingPredicateArgs,
  type HedgingStrategy,
  type OnHedgingArgs,
} from '@ylcnfrht/resilience';
import { equal } from './equal.mjs';

const builder = () => new ResiliencePipelineBuilder<string>();

const options: HedgingOptions<string> = {
  maxHedgedAttempts: 2,
  delay: Infinity,
  actionGenerator: (args) => {
    equal<typeof args, HedgingActionArgs<string>>(true);
    equal<typeof args.primaryContext, typeof args.actionContext>(true);
    if (args.attemptNumber > 1) return undefined;
    return async () => (await args.callback(args.actionContext)).trim();
  },
  shouldHandle: async (args) => {
    equal<typeof args, HedgingPredicateArgs<string>>(true);
    return !args.outcome.ok || (args.attemptNumber === 0 && args.outcome.result === '');
  },
  onHedging: (args) => {
    equal<typeof args, OnHedgingArgs>(true);
    equal<typeof args.attemptNumber | typeof args.duration, number>(true);
  },
  name: 'Replica',
};
builder().addHedging(options).addHedging().addHedging(undefined).addHedging({ delay: 0 });
builder().addHedging({ shouldHandle: isTransient, actionGenerator: () => () => 'cached' });
hedgingStrategy(options);
const view = builder().addHedging().build().getStrategy('Hedging');
equal<typeof view, HedgingStrategy | undefined>(true);

// @ts-expect-error misspelled
builder().addHedging({ maxHedgedAttempt: 1 });
// @ts-expect-error not a duration
builder().addHedging({ delay: 'soon' });
// @ts-expect-error an action, not its result
builder().addHedging({ actionGenerator: () => 'cached' });
// @ts-expect-error the action's result is a string
builder().addHedging({ actionGenerator: () => () => 5 });
// @ts-expect-error a generator answers at once
builder().addHedging({ actionGenerator: async () => () => 'cached' });
// @ts-expect-error a predicate decides
builder().addHedging({ shouldHandle: () => 1 });
