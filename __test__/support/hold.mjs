/**
 * Starts an execution whose callback runs until the test ends it.
 *
 * @param {import('@ylcnfrht/resilience').ResiliencePipeline} pipeline
 * @param {import('@ylcnfrht/resilience').ExecuteOptions} [options]
 */
export function hold(pipeline, options) {
  const held = { running: false };
  const work = new Promise((resolve, reject) => {
    held.finish = resolve;
    held.fail = reject;
  });
  // Nobody looks at the work of a callback that was never called.
  work.catch(() => {});
  held.promise = pipeline.execute((context) => {
    held.running = true;
    held.context = context;
    return work;
  }, options);
  // A test looks at a rejection when it gets there.
  held.promise.catch(() => {});
  return held;
}

/** What a promise rejects with. */
export async function rejection(promise) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    return error;
  }
  throw new Error(`resolved with ${value}`);
}

/** All microtasks and `nextTick` callbacks that are due have run. */
export const turn = () => new Promise(setImmediate);

/** Puts the time of a test under its control, until the test ends. */
export const simulate = (t) => t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
