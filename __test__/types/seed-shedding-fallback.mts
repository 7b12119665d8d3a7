import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';

const recommendations = new ResiliencePipelineBuilder<string[]>({ name: 'recommendations' })
  .addFallback({ fallbackAction: () => [] }) // shed = empty list, the page still renders
  .addConcurrencyLimiter({ permitLimit: 20, queueLimit: 0 })
  .addTimeout('300ms')
  .build();
