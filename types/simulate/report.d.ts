/** What one caller saw. */
export interface CallerFigures {
  /** Calls a second, retries included. */
  readonly offered: number;
  /** The share of its calls that was answered within the deadline. */
  readonly goodput: number;
  /** The share of its calls that was turned away. */
  readonly rejected: number;
  /** In ms, of answered calls. */
  readonly p99: number;
}

/** Figures of a simulation or of a part of it; NaN where there is nothing to tell. Shares are from 0 to 1. */
export interface Figures {
  /** Calls a second, retries included. */
  readonly offered: number;
  /** Answers a second. */
  readonly throughput: number;
  /**
   * Answers within the deadline, as a share of the capacity of the dependency and of the event loop, or of what was
   * offered where that is less.
   */
  readonly goodput: number;
  /** In ms, from the call's arrival at the limiter, of answered calls. So are the next two. */
  readonly p50: number;
  readonly p99: number;
  readonly meanLatency: number;
  /** The share of calls turned away. */
  readonly rejected: number;
  /** The share of calls turned away while a worker of the dependency stood idle, or the event loop slept. */
  readonly falseRejects: number;
  /** In ms, of calls turned away: how long it took to tell 99 % of them. */
  readonly rejectedP99: number;
  /** The share of calls that the timeout ended, or whose client left before an event loop had started them. */
  readonly timedOut: number;
  /** The share of calls that the dependency failed, or that found no room to be accepted by an event loop. */
  readonly lost: number;
  /**
   * The mean limit over time; with several clients, of all their limits together. 0 for 'none', and for 'overload'
   * as long as it has no reason for one.
   */
  readonly limit: number;
  /** The mean number of calls in flight over time. */
  readonly inflight: number;
  /** How often the whole-number limit fell. */
  readonly cuts: number;
  /** In ms from the start until the goodput of the next 5 s reaches 95 %; NaN if it never does. */
  readonly recovery: number;
  /** Jain's index over the goodput of the clients: 1 if all have the same. NaN with one client. */
  readonly fairness: number;
  /** By the name of the caller. */
  readonly callers: { readonly [caller: string]: CallerFigures };
}

/** The course of a simulation, in equal steps. All arrays have the same length: the option `points`. */
export interface SimulationSeries {
  /** Where each step begins, in ms. */
  readonly time: readonly number[];
  /** The mean limit; with several clients, of all their limits together. */
  readonly limit: readonly number[];
  /** The mean number of calls in flight. */
  readonly inflight: readonly number[];
  /** How many calls the dependency serves at once: its workers; or how many in flight keep the event loop busy. */
  readonly capacity: readonly number[];
  /** The mean in ms, of calls answered in the step; NaN if none was. */
  readonly latency: readonly number[];
  /** Calls that timed out or failed. */
  readonly drops: readonly number[];
  /** Calls turned away. */
  readonly rejected: readonly number[];
}

/** One algorithm with one seed. */
export interface SimulationRun {
  readonly seed: number;
  readonly figures: Figures;
  /** By the names of the scenario's windows. */
  readonly windows: { readonly [window: string]: Figures };
  readonly series: SimulationSeries;
}

/** One algorithm. */
export interface AlgorithmReport {
  /** Its name: 'knee', 'fixed:13'. The second of the same name is 'knee #2'. */
  readonly algorithm: string;
  /** The means over the runs, of those that have something to tell. */
  readonly figures: Figures;
  /** By the names of the scenario's windows. */
  readonly windows: { readonly [window: string]: Figures };
  /** One for each seed. */
  readonly runs: readonly SimulationRun[];
}

/** What `simulate()` resolves with. */
export interface SimulationReport {
  /** The scenario's name. */
  readonly scenario: string;
  /** Simulated time in ms. */
  readonly duration: number;
  /** In ms; undefined if the scenario has none. */
  readonly deadline: number | undefined;
  /** In the order of the option. */
  readonly algorithms: readonly AlgorithmReport[];
}
