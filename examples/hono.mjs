// Hono 4 or 3 on @hono/node-server.
import { setTimeout as sleep } from 'node:timers/promises';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { getResilienceSignal } from '@ylcnfrht/resilience';
import { honoResilience } from '@ylcnfrht/resilience/http';

const { PORT = '3000', LIMIT = '100' } = process.env;

const resilience = honoResilience({
  timeout: '2s',
  concurrency: { permitLimit: Number(LIMIT) },
  rateLimit: { permitLimit: 600, window: '1m' },
  skip: (c) => c.req.path === '/healthz',
});

const app = new Hono();
app.use('*', resilience);
app.get('/healthz', (c) => c.text('ok'));
app.get('/', (c) => c.text('hello'));
app.get('/slow', async (c) => {
  // Ends at once when the deadline has passed or the client has gone.
  await sleep(500, undefined, { signal: getResilienceSignal() });
  return c.text('done');
});

const server = serve({ fetch: app.fetch, port: Number(PORT) }, ({ port }) => {
  console.log(`http://localhost:${port}`);
});

process.once('SIGTERM', () => {
  resilience.dispose();
  server.close();
});
