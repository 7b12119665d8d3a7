// async-sema as it is used: a permit taken before the work, and given back after it.

import { Sema } from 'async-sema';

/**
 * @param {number} limit
 * @param {() => Promise<unknown>} work
 */
export function limited(limit, work) {
  const sema = new Sema(limit);
  return async () => {
    await sema.acquire();
    try {
      return await work();
    } finally {
      sema.release();
    }
  };
}
