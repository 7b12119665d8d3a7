import { AdaptiveLimitProvider, ResiliencePipelineBuilder } from '@nodelibraries/resilience';

const provider = new AdaptiveLimitProvider();

const pipeline = new ResiliencePipelineBuilder()
  .addAdaptiveConcurrencyLimiter({
    limitProvider: provider,
    onLimitChanged: ({ oldLimit, newLimit, sample }) =>
      console.log(`limit ${oldLimit} -> ${newLimit} (rtt ${sample.rtt} ms)`),
  })
  .build();

setInterval(() =>
  console.log({ limit: provider.limit, inflight: provider.inflight, queued: provider.queued }), 10_000);
