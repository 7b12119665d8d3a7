/** The argument of the telemetry events `OnOverload` and `OnOverloadEnded`. */
export interface OnOverloadArgs {
  /** Requests offered, as a multiple of what the event loop can serve: 2 is twice as many. */
  readonly load: number;
  /** The loop's time for each start, in ms: the request, refusals, continuations and garbage collection. */
  readonly pace: number;
  /** How long a request that comes now would wait for its start, in ms. */
  readonly delay: number;
  /** Requests that wait, of all adapters of the thread. */
  readonly queued: number;
  /** Requests that the adapter has turned away since the overload began. */
  readonly refused: number;
  /** Requests of it that have started since. */
  readonly started: number;
  /** How long it has lasted, in ms. */
  readonly duration: number;
  /**
   * The share of its busy time for which the thread had a processor, 0 to 1: near 1 there is too much work; far below,
   * a neighbour or the container's quota has taken the processor. `undefined` where that is not known: on
   * Windows, on Bun and on Deno.
   */
  readonly cpuShare: number | undefined;
}

// Only what is marked `export` is public.
export {};
