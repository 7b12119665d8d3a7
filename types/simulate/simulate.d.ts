import type { LimitAlgorithm } from '../limit-algorithms.js';
import type { SimulationReport } from './report.js';
import type { Scenario } from './scenario.js';

/**
 * What decides on the limit: a built-in algorithm by its name or as an object, a fixed limit such as
 * 'fixed:13', or 'oracle', the fixed limit that the scenario names. 'none' is no limit at all, and 'overload' the
 * protection of the event loop, for scenarios that have one.
 *
 * An algorithm of your own is a `TypeError`: it cannot run off the JavaScript thread. So is a `gradient2()`
 * with a `queueSize` of its own.
 */
export type SimulatedAlgorithm =
  'knee' | 'gradient2' | 'vegas' | 'aimd' | 'oracle' | 'none' | 'overload' | `fixed:${number}` | LimitAlgorithm;

/** The argument of `onProgress`. */
export interface SimulationProgress {
  /** Runs that have ended. */
  readonly done: number;
  /** All runs: the algorithms times the seeds. */
  readonly total: number;
  /** The share of all the simulated time that has passed, from 0 to 1. Never falls. */
  readonly fraction: number;
}

/** Options of {@link simulate}. */
export interface SimulateOptions {
  /** One of `scenarioNames()`, or your own. */
  scenario: string | Scenario;
  /** One or several, each simulated apart. Default 'knee', or 'overload' with an event loop. */
  algorithms?: SimulatedAlgorithm | readonly SimulatedAlgorithm[] | undefined;
  /**
   * How many seeds, 1 to 1000, or which: integers from 0 to 2^31-1. Each algorithm runs once with each; the
   * same seed gives the same result. Default 1.
   */
  seeds?: number | readonly number[] | undefined;
  /** Points of each series. Default 300. An integer, 10 to 10 000. */
  points?: number | undefined;
  /** Ends the simulation; the promise then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /**
   * Called at most every 100 ms while it runs, and once at its end. What it throws ends the simulation and
   * rejects the promise.
   */
  onProgress?: ((progress: SimulationProgress) => void) | undefined;
}

/**
 * Simulates the adaptive concurrency limiter in front of a dependency, in simulated time: minutes take
 * seconds. It is the limiter of the pipelines, on a clock of its own. Runs beside the JavaScript thread, as
 * many at once as `os.availableParallelism()`.
 *
 * @throws TypeError or RangeError, as a rejection, for an option or a field of the scenario that is unknown
 * or outside of its range; the message begins with its path, such as `scenario.dependency.workers`. A
 * RangeError if retries or users make a run of more than 20 million calls.
 *
 * @example
 * const { algorithms } = await simulate({ scenario: 'steady', algorithms: ['knee', 'vegas'], seeds: 5 });
 * for (const { algorithm, figures } of algorithms) console.log(algorithm, figures.goodput, figures.p99);
 */
export function simulate(options: SimulateOptions): Promise<SimulationReport>;

/** The names of the scenarios that come with the package, in alphabetical order. */
export function scenarioNames(): string[];

/**
 * One of the scenarios that come with the package, as an object of your own: change it and simulate that.
 *
 * @throws RangeError if there is none of that name; TypeError if it is no string.
 */
export function readScenario(name: string): Scenario;
