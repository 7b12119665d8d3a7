import { seededRandom } from './random.mjs';

/**
 * A dependency of limited capacity, such as a database with a pool of connections: so many workers, each busy
 * with one call for the service time, and an unbounded FIFO queue before them. It never refuses; past its
 * capacity it is late.
 */
export class Dependency {
  #workers;
  #serviceMs;
  #jitter;
  #random = seededRandom(1);
  #running = 0;
  /** @type {Set<() => void>} starts of the waiting calls, oldest first; a set, so that an abort is O(1) */
  #waiting = new Set();

  /** @param {{ workers: number, serviceMs: number, jitter: number }} options jitter: share of serviceMs */
  constructor({ workers, serviceMs, jitter }) {
    this.#workers = workers;
    this.#serviceMs = serviceMs;
    this.#jitter = jitter;
  }

  /** Calls begun and not finished, running or waiting. */
  get pending() {
    return this.#running + this.#waiting.size;
  }

  /**
   * An aborted call rejects at once. If it was waiting, it leaves the queue; if it was running, its worker
   * stays busy to the end, as a database does with a query that nobody reads.
   * @param {AbortSignal} [signal]
   * @returns {Promise<void>}
   */
  call(signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const start = () => {
        this.#run(() => {
          signal?.removeEventListener('abort', abort);
          resolve();
        });
      };
      const abort = () => {
        this.#waiting.delete(start);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', abort, { once: true });
      if (this.#running < this.#workers) start();
      else this.#waiting.add(start);
    });
  }

  /** @param {() => void} finished */
  #run(finished) {
    this.#running += 1;
    const deviation = (2 * this.#random() - 1) * this.#jitter;
    setTimeout(
      () => {
        this.#running -= 1;
        finished();
        const [next] = this.#waiting;
        if (next === undefined) return;
        this.#waiting.delete(next);
        next();
      },
      Math.round(this.#serviceMs * (1 + deviation)),
    );
  }
}

/**
 * Calls per second that the dependency finishes when none of its workers is ever idle. Measured, because
 * timers are late by an amount that differs between machines; from the mean length of a call, because a count
 * would miss the calls that the end of the measurement cuts.
 * @param {{ workers: number, serviceMs: number, jitter: number }} options
 * @param {number} forMs
 */
export async function measureCapacity(options, forMs) {
  const dependency = new Dependency(options);
  const stopAt = performance.now() + forMs;
  let calls = 0;
  let busyMs = 0;
  const caller = async () => {
    for (let begunAt = performance.now(); begunAt < stopAt; begunAt = performance.now()) {
      await dependency.call();
      calls += 1;
      busyMs += performance.now() - begunAt;
    }
  };
  await Promise.all(Array.from({ length: options.workers }, caller));
  return (options.workers * calls * 1000) / busyMs;
}
