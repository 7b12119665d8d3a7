// A closed loop in simulated time: callers, and a dependency with a capacity.

const STEP_MS = 5;

/** Serves each call in `latencyMs`, at most `capacity` at once, the rest in a queue of its own; or hangs. */
export class Dependency {
  latencyMs = 40;
  capacity = 30;
  hangs = false;
  #now = 0;
  #serving = [];
  #waiting = [];

  call(signal) {
    return new Promise((resolve, reject) => {
      const call = { resolve, due: Infinity, aborted: false };
      signal.addEventListener('abort', () => {
        call.aborted = true;
        reject(signal.reason);
      });
      this.#waiting.push(call);
      this.#serve();
    });
  }

  advance(ms) {
    this.#now += ms;
    if (this.hangs) return;
    for (const call of this.#serving) if (call.due <= this.#now) call.resolve();
    this.#serve();
  }

  heal() {
    this.hangs = false;
    for (const call of this.#serving) call.due = this.#now + this.latencyMs;
  }

  #serve() {
    this.#serving = this.#serving.filter(({ due, aborted }) => !aborted && due > this.#now);
    this.#waiting = this.#waiting.filter(({ aborted }) => !aborted);
    while (this.#serving.length < this.capacity && this.#waiting.length > 0) {
      const call = this.#waiting.shift();
      call.due = this.hangs ? Infinity : this.#now + this.latencyMs;
      this.#serving.push(call);
    }
  }
}

/** Offers `rate` calls a second for `ms`, and counts how they end. */
export async function run(t, pipeline, dependency, rate, ms) {
  const ends = { ok: 0, TIMEOUT: 0, BULKHEAD_FULL: 0 };
  let due = 0;
  for (let now = 0; now < ms; now += STEP_MS) {
    for (due += (rate * STEP_MS) / 1000; due >= 1; due -= 1) {
      pipeline
        .execute(({ signal }) => dependency.call(signal))
        .then(
          () => (ends.ok += 1),
          ({ code }) => (ends[code] += 1),
        );
    }
    t.mock.timers.tick(STEP_MS);
    dependency.advance(STEP_MS);
    // Callbacks and outcomes travel by promises: all of them belong to this step.
    await new Promise(setImmediate);
  }
  return ends;
}
