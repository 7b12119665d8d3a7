import { ResiliencePipelineBuilder, type ResilienceContext } from '@ylcnfrht/resilience';
import { HTTP_REQUEST } from '@ylcnfrht/resilience/http';

type Req = { method: string; path: string; headers: Record<string, string | undefined> };
const req = (ctx: ResilienceContext) => ctx.properties.get(HTTP_REQUEST) as Req;

/** Lower runs sooner. */
function priority(ctx: ResilienceContext): number {
  const r = req(ctx);
  if (r.path.startsWith('/checkout')) return 0; // revenue
  if (r.headers['x-plan'] === 'paid') return 1;
  if (r.method === 'GET') return 5;
  return 10; // background syncs, batch exports
}

export const inbound = new ResiliencePipelineBuilder({ name: 'inbound' })
  .addConcurrencyLimiter({
    permitLimit: 200,
    queueLimit: 200,
    queueTimeout: '500ms',
    priority,
    // Queue full: a checkout request pushes out the newest queued request of the lowest priority.
    overflow: 'drop-lowest-priority',
  })
  .addTimeout('5s')
  .build();

// app.use(resilienceMiddleware({ pipeline: inbound }))
