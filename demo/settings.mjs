// Every number of the demo, shared by its processes.

/** About 250 calls a second: enough for smooth figures, little enough for two slow cores. */
export const dependency = { workers: 20, serviceMs: 80, jitter: 0.1 };

/** What each handler computes, where the event loop is what is short. */
export const computation = { cpuMs: 5 };

/** A client that has waited this long leaves. */
export const clientTimeoutMs = 1000;

/** Requests due in this first part of a phase are sent but not counted. */
export const warmUpMs = 1000;

/** How often the server and the load generator report. */
export const reportMs = 100;

/** Below the clients' patience, so that a 504 reaches somebody who is still there. */
const timeout = '500ms';

/** A few permits more than workers, so that a worker never waits for the next request. */
export const fixed = {
  timeout,
  concurrency: { permitLimit: 24, queueLimit: 12, queueTimeout: '250ms' },
};

export const overload = { overload: true };

/**
 * The first limit is far too low on purpose: finding the right one is the limiter's work. The highest is what can
 * ever be right.
 */
export const adaptive = { timeout, limiter: { initialLimit: 5, maxLimit: 60 } };

/** gradient2 has waiters before the dependency; `knee` keeps a queue of a few calls inside of it. */
export const waiters = { gradient2: { queueLimit: 12, queueTimeout: '250ms' }, knee: {} };
