import { AdaptiveLimitProvider, ResiliencePipelineBuilder } from '@ylcnfrht/resilience';

export const limit = new AdaptiveLimitProvider();

export const inbound = new ResiliencePipelineBuilder({ name: 'inbound' })
  .addAdaptiveConcurrencyLimiter({
    algorithm: 'gradient2',
    initialLimit: 50,
    minLimit: 10, // never shed down to nothing
    maxLimit: 500,
    queueLimit: 50,
    queueTimeout: '300ms',
    limitProvider: limit,
  })
  .addTimeout('5s')
  .build();

// app.use(resilienceMiddleware({ pipeline: inbound }))
// Expose limit.limit, limit.inflight and limit.queued on a metrics or debug endpoint.
