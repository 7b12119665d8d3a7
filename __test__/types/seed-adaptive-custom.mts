import { type LimitAlgorithm, ResiliencePipelineBuilder } from '@nodelibraries/resilience';

// Halve on overload, otherwise creep up by one per call.
const halving: LimitAlgorithm = {
  onSample: ({ dropped, limit }) => (dropped ? limit / 2 : limit + 1),
};

const pipeline = new ResiliencePipelineBuilder()
  .addAdaptiveConcurrencyLimiter({ algorithm: halving })
  .build();
