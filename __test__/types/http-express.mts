import express, { type Request } from 'express';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { expressErrors, resilienceMiddleware, type OnInboundRejectedArgs } from '@ylcnfrht/resilience/http';
import { equal } from './equal.mjs';

const reports = new ResiliencePipelineBuilder().addConcurrencyLimiter(5).addTimeout('30s').build();
const middleware = resilienceMiddleware({ pipeline: reports });

const app = express();
app.use(middleware);
app.use('/reports', middleware);
app.get('/reports/:id', middleware, (req, res) => {
  equal<typeof req.params.id, string>(true);
  res.json({ swallowed: middleware.swallowed });
});
express.Router().use(middleware);

app.use(
  resilienceMiddleware({
    timeout: '5s',
    deadlineHeader: 'x-request-timeout-ms',
    skip: (req) => req.path === '/healthz',
    onRejected: ({ request, error }) => console.warn(request.originalUrl, error.code, error.retryAfter),
    shouldDrop: ({ request, statusCode }) => request.method === 'GET' && statusCode === 503,
    problemDetails: true,
    headers: 'draft-8',
  }),
);
app.use(expressErrors());
app.use('/reports', expressErrors({ problemDetails: true }));
// @ts-expect-error misspelled
expressErrors({ problem: true });
// With the types of Express.
app.use(
  resilienceMiddleware({
    rateLimit: { key: (req: Request) => req.hostname, permitLimit: 600, window: '1m', burst: 9 },
    skip: (req: Request) => req.baseUrl === '/healthz',
    onRejected: ({ request }: OnInboundRejectedArgs<Request>) => console.warn(request.baseUrl),
  }),
);
// @ts-expect-error a string is no request
resilienceMiddleware({ timeout: '5s', skip: (req: string) => req === '' });
// @ts-expect-error no form of headers
resilienceMiddleware({ timeout: '5s', headers: 'draft-9' });
// @ts-expect-error a boolean is no key
resilienceMiddleware({ rateLimit: { key: () => true, permitLimit: 1, window: '1m' } });
// @ts-expect-error a decision is made at once
resilienceMiddleware({ timeout: '5s', skip: async () => true });
