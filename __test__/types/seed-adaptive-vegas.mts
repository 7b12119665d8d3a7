import { ResiliencePipelineBuilder, vegas } from '@nodelibraries/resilience';

const pipeline = new ResiliencePipelineBuilder()
  .addAdaptiveConcurrencyLimiter({ algorithm: vegas({ alpha: 2, beta: 4 }), initialLimit: 10 })
  .build();
