import { ResiliencePipelineBuilder } from '@nodelibraries/resilience';

new ResiliencePipelineBuilder()
  .addAdaptiveConcurrencyLimiter({ algorithm: 'gradient2', initialLimit: 20, maxLimit: 100 })
  .addTimeout('120ms');

new ResiliencePipelineBuilder().addAdaptiveConcurrencyLimiter({
  shouldDrop: ({ outcome }) => !outcome.ok || outcome.result.status === 503,
});
