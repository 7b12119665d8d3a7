import type { Duration } from '../duration.js';

/** How long the dependency works on a call. `mean` is that of all calls, > 0. */
export type Service =
  /** Each call takes `mean`. */
  | { distribution: 'constant'; mean: Duration }
  /** From `mean * (1 - jitter)` to `mean * (1 + jitter)`. `jitter` is from 0 to 1. */
  | { distribution: 'uniform'; mean: Duration; jitter: number }
  /** The sum of `shape` exponential parts: 1 is exponential, more is steadier. An integer, 1 to 1000. */
  | { distribution: 'erlang'; mean: Duration; shape: number }
  /** `cv` is the standard deviation as a share of the mean, > 0. */
  | { distribution: 'lognormal'; mean: Duration; cv: number }
  /** A share of the calls, from 0 to 1, takes `slowFactor` times as long as the others; > 1. */
  | { distribution: 'bimodal'; mean: Duration; slowShare: number; slowFactor: number }
  /** A heavy tail: heavier, the lower `shape` is. > 1. */
  | { distribution: 'pareto'; mean: Duration; shape: number };

/** All workers stop for a while, again and again, as in a collection of garbage. */
export interface Stall {
  /** From the start of one stall to that of the next. > 0. */
  every: Duration;
  /** How long it lasts. > 0, below `every`. */
  length: Duration;
}

/** What the calls go to. */
export interface Dependency {
  /** Calls that it works on at once; the others wait in it. An integer, 1 to 100 000. */
  workers: number;
  /**
   * 'fifo' (default): each worker serves one call, the others wait their turn. 'sharing': all calls are
   * served at once, and slow each other down as soon as there are more than `workers`.
   */
  discipline?: 'fifo' | 'sharing' | undefined;
  /** How long a call takes without a wait. */
  service: Service;
  /** The share of the calls that it fails. From 0 to 1. Default 0. */
  loss?: number | undefined;
  /** Default: none. */
  stall?: Stall | undefined;
}

/** Repeats calls that were turned away, timed out or failed; delays are spread by half to either side. */
export interface SimulatedRetries {
  /** Retries of one call. An integer, 1 to 100. */
  attempts: number;
  /** Before the first retry. >= 0. */
  delay: Duration;
  /** What each delay is multiplied by to give the next one. Default 2. >= 1. */
  backoff?: number | undefined;
}

/** What all callers have. */
interface AnyCaller {
  /** The name in the report. Default 'calls'. Each caller needs one of its own. */
  name?: string | undefined;
  /** Whose calls these are. Each client has a limiter of its own. Default 'client'. */
  client?: string | undefined;
  /** Where the limiter has a queue: lower runs sooner. Default 0. */
  priority?: number | undefined;
  /** The kind of call, for an algorithm that tells kinds apart: see `operationKeys`. Default: one kind. */
  operation?: string | undefined;
  /** How long the dependency works on these calls. Default: its own `service`. */
  service?: Service | undefined;
  /** Default: none. */
  retries?: SimulatedRetries | undefined;
  /** How long the event loop computes for these calls. Default: its own `cpu`. Needs an event loop. */
  cpu?: Service | undefined;
  /**
   * Whether an answer begins before the dependency is called and ends after it, as an event stream does. Default
   * false. Needs an event loop and a dependency.
   */
  streams?: boolean | undefined;
}

/** One source of calls. */
export type Caller =
  /** At random times ('poisson', default) or at even distances. `rate` is in calls a second, >= 0. */
  | (AnyCaller & { arrivals?: 'poisson' | 'even' | undefined; rate: number })
  /** `burst` calls at once, at random times, `rate` calls a second in all. An integer, 1 to 1 000 000. */
  | (AnyCaller & { arrivals: 'bursts'; rate: number; burst: number })
  /**
   * `users` that each wait for an answer, think for a random time of mean `think` (default 0; 1 ms or more
   * after a rejection) and call again. An integer, 1 to 100 000.
   */
  | (AnyCaller & { arrivals: 'closed'; users: number; think?: Duration | undefined });

/** What is different from a time on. What it does not name stays as it is. */
export interface Phase {
  /** From the start of the simulation. */
  at: Duration;
  /** 0: the dependency hangs. */
  workers?: number | undefined;
  /** Service times are multiplied by it. 1 ends it. > 0. */
  slowdown?: number | undefined;
  loss?: number | undefined;
  /** null ends it. */
  stall?: Stall | null | undefined;
  /** The rates of callers, by their names. */
  rates?: { readonly [caller: string]: number } | undefined;
}

/** The adaptive concurrency limiter, without its algorithm. */
export interface SimulatedLimiter {
  /** An integer. Default 20, clamped into [minLimit, maxLimit]. */
  initialLimit?: number | undefined;
  /** Default 1. An integer >= 1. */
  minLimit?: number | undefined;
  /** Default 1000. An integer >= minLimit. */
  maxLimit?: number | undefined;
  /** Calls that wait for a permit. Default 0. An integer >= 0. */
  queueLimit?: number | undefined;
  /** How long one waits. Default: no limit. > 0. */
  queueTimeout?: Duration | undefined;
  /** Default 'reject-new'. */
  overflow?: 'reject-new' | 'drop-oldest' | 'drop-lowest-priority' | undefined;
  /** Whether the algorithm is told the `operation` of each call. Default false. */
  operationKeys?: boolean | undefined;
}

/** What each step takes of the event loop. */
export interface EventLoopCosts {
  /** A turn in which nothing happens. Default 0.008 ms. > 0, at most '1m'. */
  turn?: Duration | undefined;
  /** A connection. Default 0.06 ms. >= 0, at most '1m', as the others are. */
  accept?: Duration | undefined;
  /** Reading a call. Default 0.03 ms. */
  parse?: Duration | undefined;
  /** A refusal. Default 0.06 ms. */
  refuse?: Duration | undefined;
  /** An answer. Default 0.1 ms. */
  answer?: Duration | undefined;
}

/**
 * One thread that reads calls, computes for each, and waits for the dependency meanwhile, as that of Node.js does:
 * what it does, nothing else can do at the same time.
 */
export interface EventLoop {
  /** How long it computes for a call in all. */
  cpu: Service;
  /** The share of that before it calls the dependency, from 0 to 1. Default 0.5. Without a dependency all. */
  before?: number | undefined;
  /** How often it calls the dependency, one after the other. Default 1. An integer, 1 to 100. */
  calls?: number | undefined;
  /** Whether calls come over connections that stay, or over one of their own each. Default 'kept'. */
  connections?: 'kept' | 'fresh' | undefined;
  /** How many of the connections that wait a turn accepts: Node.js one since version 20, Bun all. Default 'one'. */
  accept?: 'one' | 'all' | undefined;
  /** Connections that may wait to be accepted; others are lost. Default 511. An integer, 1 to 1 000 000. */
  backlog?: number | undefined;
  costs?: EventLoopCosts | undefined;
  /** Its own pauses, as by a collection of garbage. Default: none. */
  pause?: Stall | undefined;
  /**
   * What `overload` protects it with, if that is simulated. `targetDelay`: how long calls wait while more come than
   * can be served, default 100 ms. `maxDelay`: the longest wait at all, default 500 ms, or `targetDelay` if that is
   * more. Both > 0, at most '1m'.
   */
  overload?: { targetDelay?: Duration | undefined; maxDelay?: Duration | undefined } | undefined;
}

/** What all scenarios have. */
interface AnyScenario {
  /** For editors; ignored. */
  $schema?: string | undefined;
  /** The name in the report. Default 'scenario'. */
  name?: string | undefined;
  description?: string | undefined;
  /** Simulated time. > 0, at most '365d', and 20 million calls. */
  duration: Duration;
  /** What an answer has to meet to count as good. Default: any answer does. > 0. */
  deadline?: Duration | undefined;
  /** The timeout behind the limiter, which ends a call and counts as a drop. Default: none. > 0. */
  timeout?: Duration | undefined;
  /** The right fixed limit, as far as there is one: what the algorithm 'oracle' runs at. */
  oracle?: number | undefined;
  limiter?: SimulatedLimiter | undefined;
  /** 1 to 16. */
  callers: Caller | readonly Caller[];
  phases?: readonly Phase[] | undefined;
  /** Parts of the time, by name, each with figures of its own: `[from, to]`. */
  windows?: { readonly [name: string]: readonly [from: Duration, to: Duration] } | undefined;
}

/**
 * A dependency, an event loop, or both; who calls; and what changes meanwhile. As a JSON Schema:
 * `scenarios/schema.json`.
 *
 * @example
 * const scenario: Scenario = {
 *   duration: '60s',
 *   deadline: '500ms',
 *   dependency: { workers: 10, service: { distribution: 'erlang', shape: 4, mean: '50ms' } },
 *   callers: { rate: 260 },
 * };
 */
export type Scenario = AnyScenario &
  (
    | { dependency: Dependency; eventLoop?: EventLoop | undefined }
    | { dependency?: Dependency | undefined; eventLoop: EventLoop }
  );
