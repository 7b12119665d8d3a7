/** One finished execution, as a limit algorithm sees it. */
export interface LimitSample {
  /** Latency of the execution in ms. */
  rtt: number;
  /** Executions in flight when this one finished, itself included. */
  inflight: number;
  /** The dependency showed overload (timeout, rejection, transient error). */
  dropped: boolean;
  /** The current limit (may be fractional). */
  limit: number;
  /** When it finished, in ms of a clock that never goes back. */
  now: number;
  /** When it was admitted, by the same clock. */
  startedAt: number;
  /** Its kind, if the limiter has an `operation` function: the first 64 kinds are told apart. */
  operation?: string | undefined;
}

/**
 * Computes the next concurrency limit from a sample. Stateful: give each strategy its own instance. The
 * strategy clamps the result to [minLimit, maxLimit].
 *
 * A result that is not finite is ignored; an algorithm that throws is reported as `CallbackError` and
 * changes nothing.
 *
 * @example
 * // Halve on overload, otherwise creep up by one per call.
 * const halving: LimitAlgorithm = {
 *   onSample: ({ dropped, limit }) => (dropped ? limit / 2 : limit + 1),
 * };
 */
export interface LimitAlgorithm {
  /** Takes one sample, returns the next limit. */
  onSample(sample: LimitSample): number;
}

/** Options of {@link gradient2}. */
export interface Gradient2Options {
  /** How far short-term latency may exceed the baseline before the limit shrinks. Default 1.5. >= 1. */
  tolerance?: number | undefined;
  /** Samples in the short-term latency EMA. Default 10. >= 1. */
  shortWindow?: number | undefined;
  /** Samples in the long-term baseline EMA. Default 600. >= 1. */
  longWindow?: number | undefined;
  /** Weight of each new estimate. Default 0.2. In (0, 1]; lower is steadier. */
  smoothing?: number | undefined;
  /** Headroom added on top of limit * gradient, so the limit can grow. Default `Math.sqrt`. */
  queueSize?: ((limit: number) => number) | undefined;
  /** Multiplier on a drop. Default 0.9. In (0, 1). */
  backoffRatio?: number | undefined;
}

/** Options of {@link vegas}. */
export interface VegasOptions {
  /** Grow while the estimated queue is below alpha * log10(limit). Default 3. > 0. */
  alpha?: number | undefined;
  /** Shrink when the estimated queue is above beta * log10(limit). Default 6. > alpha. */
  beta?: number | undefined;
}

/** Options of {@link aimd}. */
export interface AimdOptions {
  /** Added per round trip. Default 1. > 0. */
  increase?: number | undefined;
  /** Multiplier on a drop. Default 0.9. In (0, 1). */
  backoffRatio?: number | undefined;
}

/** Options of {@link knee}. */
export interface KneeOptions {
  /**
   * How far the limit is lifted ahead of time while it does not bind: to so many times the mean in flight (more
   * where latency varies much). Default 4.5. >= 0, which switches that off.
   *
   * High: a dependency that becomes slower, or another mix of calls, is served without a rejection. Low: less
   * latency in the first seconds after capacity was really lost.
   */
  headroom?: number | undefined;
  /**
   * The mean queue that is aimed at: 'short' for less latency, 'long' for the last per cent of throughput.
   * Default 'balanced', which is at most about 4 calls and 15 % of those being served.
   */
  queue?: 'short' | 'balanced' | 'long' | undefined;
}

/**
 * Compares short-term latency with a long-term baseline: gradient = tolerance * baseline / shortLatency,
 * clamped to [0.5, 1]. The next limit is limit * gradient + queueSize(limit), blended into the old one by
 * `smoothing`; a drop multiplies the limit by `backoffRatio`. The baseline falls at once to any lower
 * latency, and rises slowly, only while latency is within tolerance. Samples with an rtt of 0 are ignored.
 * For general use: handles latency that drifts slowly.
 *
 * @throws TypeError or RangeError for an option outside of its range.
 *
 * @example
 * builder.addAdaptiveConcurrencyLimiter({ algorithm: gradient2({ tolerance: 2 }) });
 */
export function gradient2(options?: Gradient2Options): LimitAlgorithm;

/**
 * TCP Vegas applied to concurrency. The fastest latency seen is the no-queue latency; with limit calls in
 * flight at latency rtt, limit * (1 - minRtt / rtt) of them are waiting in the dependency's queue. Keep that
 * queue between alpha and beta: below means unused capacity, above only adds latency. Thresholds scale with
 * log10(limit) so large limits tolerate a longer queue. Instead of Vegas' fixed +-1 steps, the limit moves
 * toward the band by the queue error (damped), which converges in a few round trips.
 *
 * A drop cuts the limit by beta * log10(limit). For dependencies with a stable no-load latency.
 *
 * L. S. Brakmo, L. L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC
 * 13(8), 1995.
 *
 * @throws TypeError or RangeError for an option outside of its range.
 *
 * @example
 * builder.addAdaptiveConcurrencyLimiter({ algorithm: vegas({ alpha: 2, beta: 4 }) });
 */
export function vegas(options?: VegasOptions): LimitAlgorithm;

/**
 * Additive increase, multiplicative decrease (TCP Reno): + increase / limit per successful sample (so about
 * + increase per round trip), * backoffRatio per drop. Ignores latency: needs a timeout to produce drops.
 *
 * V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988.
 *
 * @throws TypeError or RangeError for an option outside of its range.
 *
 * @example
 * builder.addAdaptiveConcurrencyLimiter({ algorithm: aimd({ backoffRatio: 0.5 }) }).addTimeout('1s');
 */
export function aimd(options?: AimdOptions): LimitAlgorithm;

/**
 * Holds the mean queue inside the dependency near a few calls, and finds the limit at which that is so: higher
 * when calls come raggedly, lower when they come evenly. The latency without a queue is measured by short drains
 * (the limit falls to 75 % of what is being served, about 1 % of the time), never taken from a minimum. A deep cut
 * is an experiment: if latency does not fall with the load, the dependency has become slower and the limit goes
 * back up. Drops are judged the same way. A limit that does not bind is lifted ahead of time.
 *
 * For long overload, noisy latency, mixes of operations that change, and dependencies whose speed changes. Each
 * window of samples tells its decision by the telemetry event `OnLimitDecision`.
 *
 * Used alone, it begins at the `limit` of its first sample and keeps count itself from there; samples need `now`
 * and `startedAt`.
 *
 * J. D. C. Little, "A Proof for the Queuing Formula L = λW", Operations Research 9(3), 1961.
 *
 * @throws TypeError or RangeError for an option outside of its range.
 *
 * @example
 * builder.addAdaptiveConcurrencyLimiter({ algorithm: knee({ headroom: 2 }), operation: (c) => c.operationKey });
 */
export function knee(options?: KneeOptions): LimitAlgorithm;
