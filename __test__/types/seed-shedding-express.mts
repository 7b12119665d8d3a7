import express from 'express';
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';

const app = express();

app.get('/healthz', (_req, res) => res.send('ok')); // before the middleware: never shed

app.use(
  resilienceMiddleware({
    timeout: '5s',
    concurrency: { permitLimit: 200, queueLimit: 100, queueTimeout: '500ms' },
  }),
);

app.use(
  resilienceMiddleware({
    timeout: '5s',
    concurrency: { permitLimit: 200, queueLimit: 100, queueTimeout: '500ms' },
    rateLimit: { key: (req) => req.get('x-api-key') ?? req.ip, permitLimit: 600, window: '1m' },
  }),
);
