'use strict';

const os = require('node:os');

const { reasonOf } = require('../caller-signal.js');
const { InternalError } = require('../errors.js');

const PROGRESS_EVERY_MS = 100;

/**
 * A native run.
 *
 * @typedef {object} Run
 * @property {() => Promise<any>} run
 * @property {() => void} cancel It rejects then.
 * @property {number} progress From 0 to 1.
 */

/** @typedef {(progress: { done: number, total: number, fraction: number }) => void} OnProgress */

/**
 * Runs all of them, some at a time. It settles when none is left running: whatever ends it early cancels
 * those that are.
 *
 * @param {(() => Run)[]} starts
 * @param {{ signal?: AbortSignal, onProgress?: OnProgress }} options
 * @returns {Promise<any[]>} Their reports, in order.
 */
async function runAll(starts, { signal, onProgress }) {
  if (signal?.aborted) throw reasonOf(signal);
  /** @type {any[]} */
  const reports = new Array(starts.length);
  /** @type {Set<Run>} */
  const running = new Set();
  /** @type {{ error: unknown } | undefined} */
  let failure;
  let started = 0;
  let done = 0;
  let fraction = 0;

  const fail = (/** @type {unknown} */ error) => {
    failure ??= { error };
    for (const run of running) run.cancel();
  };
  const onAbort = () => fail(reasonOf(/** @type {AbortSignal} */ (signal)));
  const tell = () => {
    const under = [...running].reduce((sum, run) => sum + run.progress, 0);
    // Sums of fractions round: without the comparison it could fall by a hair.
    fraction = Math.max(fraction, Math.min((done + under) / starts.length, 1));
    try {
      onProgress?.({ done, total: starts.length, fraction });
    } catch (error) {
      fail(error);
    }
  };
  const runOneAfterAnother = async () => {
    while (started < starts.length && failure === undefined) {
      const index = started;
      started += 1;
      /** @type {Run | undefined} */
      let run;
      try {
        run = starts[index]();
        running.add(run);
        reports[index] = await run.run();
        done += 1;
      } catch (error) {
        fail(translate(error));
      } finally {
        if (run !== undefined) running.delete(run);
      }
    }
  };

  signal?.addEventListener('abort', onAbort);
  const ticker = onProgress === undefined ? undefined : setInterval(tell, PROGRESS_EVERY_MS);
  try {
    await Promise.all(Array.from({ length: os.availableParallelism() }, runOneAfterAnother));
    if (failure === undefined && onProgress !== undefined) tell();
  } finally {
    clearInterval(ticker);
    signal?.removeEventListener('abort', onAbort);
  }
  if (failure !== undefined) throw failure.error;
  return reports;
}

/**
 * What ended a native run, where nobody has cancelled it: more calls than it can hold, or a defect.
 *
 * @param {any} error
 */
const translate = ({ code, message }) =>
  code === 'InvalidArg' ? new RangeError(message) : new InternalError(message);

module.exports = { runAll };
