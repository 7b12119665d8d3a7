import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';

/** A builder of a pipeline named 'search', and what its telemetry listener heard. */
export function listen() {
  const events = [];
  const builder = new ResiliencePipelineBuilder({
    name: 'search',
    telemetry: (event) => events.push(event),
  });
  return { builder, events, names: () => events.map(({ name }) => name) };
}
