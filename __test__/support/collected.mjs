import { setImmediate } from 'node:timers/promises';

/** Collects garbage until nothing holds what `reference` refers to; false if something does for good. */
export async function collected(reference) {
  for (let round = 0; round < 20; round += 1) {
    await setImmediate();
    globalThis.gc();
    if (reference.deref() === undefined) return true;
  }
  return false;
}
