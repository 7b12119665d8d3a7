import { ResiliencePipelineBuilder } from '@nodelibraries/resilience';

const pipeline = new ResiliencePipelineBuilder()
  .addAdaptiveConcurrencyLimiter({ minLimit: 5, maxLimit: 200 })
  .addTimeout('2s')
  .build();

await pipeline.execute(({ signal }) => fetch('https://search.internal/q?term=resilience', { signal }));
