/** What makes a budget one of this package's; nothing is there at run time. */
declare const budget: unique symbol;

/** Options of {@link retryBudget}. */
export interface RetryBudgetOptions {
  /** Retries for each first attempt. Default 0.2. Finite, >= 0. */
  ratio?: number | undefined;
  /**
   * Retries per second besides, so that a service with little traffic may retry. Default 10. Finite, >= 0.
   */
  minPerSecond?: number | undefined;
}

/** Bounds the retries of every pipeline that has it. Made by {@link retryBudget}. */
export interface RetryBudget {
  readonly [budget]: true;
  /** Whole retries left now. */
  readonly balance: number;
}

/**
 * A budget for `RetryOptions.budget`: over the last 10 s, no more retries than ratio * first attempts +
 * minPerSecond * 10. An execution whose retry finds it empty ends with the outcome that it has.
 *
 * The rule is that of RetryBudget in Finagle.
 *
 * @throws TypeError or RangeError for an option that is unknown or outside of its range.
 *
 * @example
 * const budget = retryBudget({ ratio: 0.1 });
 * const users = new ResiliencePipelineBuilder().addRetry({ budget }).build();
 * const orders = new ResiliencePipelineBuilder().addRetry({ budget }).build();
 */
export function retryBudget(options?: RetryBudgetOptions): RetryBudget;

// Only what is marked `export` is public.
export {};
