import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';

/** Opens at its first failure, for a second. */
export const FRAGILE = { consecutiveFailures: 1, breakDuration: 1000 };

export const boom = new Error('boom');
export const fails = async () => {
  throw boom;
};
export const succeeds = async () => 'fine';

/** The callbacks of a breaker, and what they were told, in order. */
export function watch() {
  const told = [];
  const note = (what) => (args) => void told.push([what, args]);
  return {
    told,
    names: () => told.map(([what]) => what),
    callbacks: { onOpened: note('opened'), onHalfOpened: note('half-opened'), onClosed: note('closed') },
  };
}

/** A pipeline of nothing but a circuit breaker. */
export function circuit(options) {
  const { told, names, callbacks } = watch();
  const pipeline = new ResiliencePipelineBuilder().addCircuitBreaker({ ...callbacks, ...options }).build();
  return { pipeline, breaker: pipeline.getStrategy('CircuitBreaker'), told, names };
}

/** The same, opened at the present moment. */
export async function openCircuit(options) {
  const opened = circuit({ ...FRAGILE, ...options });
  await opened.pipeline.settle(fails);
  return opened;
}
