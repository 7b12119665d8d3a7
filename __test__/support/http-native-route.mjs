import { getResilienceContext } from '@ylcnfrht/resilience';
import { deferred } from './deferred.mjs';

/**
 * A route in the framework's own way whose requests wait until the test answers them:
 * `held[0].answer({ text: 'done' })`, or `.fail(error)`.
 */
export function nativeHeldRoute() {
  const held = [];
  const answers = {
    'GET /work': (call) => {
      const { promise, resolve, reject } = deferred();
      const context = getResilienceContext();
      const { signal } = context;
      const aborted = new Promise((abort) => {
        signal.addEventListener('abort', () => abort(signal.reason));
      });
      held.push({ ...call, context, signal, aborted, remaining: context.remaining, answer: resolve, fail: reject });
      return promise;
    },
  };
  return { held, answers };
}
