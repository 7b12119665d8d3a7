// Express 5 or 4.
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { getResilienceSignal } from '@ylcnfrht/resilience';
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';

const { PORT = '3000', LIMIT = '100' } = process.env;

const resilience = resilienceMiddleware({
  timeout: '2s',
  concurrency: { permitLimit: Number(LIMIT) },
  rateLimit: { permitLimit: 600, window: '1m' },
  skip: (req) => req.path === '/healthz',
});

const app = express();
app.use(resilience);
app.get('/healthz', (_req, res) => {
  res.send('ok');
});
app.get('/', (_req, res) => {
  res.send('hello');
});
app.get('/slow', async (_req, res) => {
  // Ends at once when the deadline has passed or the client has gone.
  await sleep(500, undefined, { signal: getResilienceSignal() });
  res.send('done');
});

const server = app.listen(Number(PORT), () => {
  console.log(`http://localhost:${server.address().port}`);
});

process.once('SIGTERM', () => {
  resilience.dispose();
  server.close();
});
