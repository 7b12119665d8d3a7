import { createServer } from 'node:http';
import { ResiliencePipelineBuilder, type ResiliencePipeline } from '@ylcnfrht/resilience';
import {
  HTTP_REQUEST,
  resilienceMiddleware,
  type ResilienceMiddlewareOptions,
} from '@ylcnfrht/resilience/http';
import { equal } from './equal.mjs';

const middleware = resilienceMiddleware({
  name: 'inbound',
  timeout: { timeout: '5s', body: true },
  concurrency: { permitLimit: 200 },
});
createServer((req, res) => middleware(req, res, () => res.end('ok')));
equal<typeof middleware.pipeline, ResiliencePipeline<any, any>>(true);
equal<typeof middleware.swallowed, number>(true);
equal<typeof HTTP_REQUEST, '@ylcnfrht/resilience.httpRequest'>(true);
middleware.dispose();

const pipeline = new ResiliencePipelineBuilder<string[]>()
  .addConcurrencyLimiter(200)
  .addTimeout('5s')
  .build();
resilienceMiddleware({ pipeline });
// @ts-expect-error a pipeline has its own timeout
resilienceMiddleware({ pipeline, timeout: '5s' });
// @ts-expect-error a pipeline has its own limiter
resilienceMiddleware({ pipeline, concurrency: { permitLimit: 200 } });
// @ts-expect-error a pipeline has its own name
resilienceMiddleware({ pipeline, name: 'inbound' });
const both = { pipeline, timeout: 5000 };
// @ts-expect-error nor does a pipeline take one by way of a variable
resilienceMiddleware(both);
// @ts-expect-error misspelled
resilienceMiddleware({ time: '5s' });
// @ts-expect-error not a duration
resilienceMiddleware({ timeout: '5 seconds' });
// @ts-expect-error the timeout's length is missing
resilienceMiddleware({ timeout: { body: true } });
// @ts-expect-error permitLimit is missing
resilienceMiddleware({ concurrency: { queueLimit: 100 } });
// @ts-expect-error a builder is no pipeline
resilienceMiddleware({ pipeline: new ResiliencePipelineBuilder() });
// @ts-expect-error options are required
resilienceMiddleware();

export const options: ResilienceMiddlewareOptions = { timeout: undefined };
