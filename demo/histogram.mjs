const STEP_MS = 0.1;

/** Durations in steps of a tenth of a millisecond; longer ones count as `longestMs`. */
export class Histogram {
  #buckets;
  #count = 0;
  #max = 0;

  /** @param {number} longestMs */
  constructor(longestMs) {
    this.#buckets = new Uint32Array(Math.round(longestMs / STEP_MS) + 1);
  }

  /** The longest duration recorded, exactly. */
  get max() {
    return this.#max;
  }

  /** @param {number} ms */
  record(ms) {
    this.#buckets[Math.min(Math.round(ms / STEP_MS), this.#buckets.length - 1)] += 1;
    this.#count += 1;
    this.#max = Math.max(this.#max, ms);
  }

  /**
   * @param {number} share in (0, 1]
   * @returns {number | undefined} in ms; undefined when nothing was recorded
   */
  quantile(share) {
    if (this.#count === 0) return undefined;
    const rank = Math.ceil(share * this.#count);
    let seen = 0;
    return this.#buckets.findIndex((count) => (seen += count) >= rank) * STEP_MS;
  }

  clear() {
    this.#buckets.fill(0);
    this.#count = 0;
    this.#max = 0;
  }
}
