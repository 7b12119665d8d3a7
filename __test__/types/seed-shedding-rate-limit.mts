import type { IncomingMessage, ServerResponse } from 'node:http';
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';

declare const app: {
  use(handler: (req: IncomingMessage, res: ServerResponse, next: (error?: any) => void) => void): void;
};

app.use(
  resilienceMiddleware({
    timeout: '5s',
    concurrency: { permitLimit: 200, queueLimit: 100, queueTimeout: '500ms' },
    rateLimit: { key: (req) => req.get('x-api-key') ?? req.ip, permitLimit: 600, window: '1m' },
  }),
);
