// Koa 3 or 2.
import { setTimeout as sleep } from 'node:timers/promises';
import Koa from 'koa';
import { getResilienceSignal } from '@ylcnfrht/resilience';
import { koaResilience } from '@ylcnfrht/resilience/http';

const { PORT = '3000', LIMIT = '100' } = process.env;

const resilience = koaResilience({
  timeout: '2s',
  concurrency: { permitLimit: Number(LIMIT) },
  rateLimit: { permitLimit: 600, window: '1m' },
  skip: (ctx) => ctx.path === '/healthz',
});

const app = new Koa();
app.use(resilience);
app.use(async (ctx) => {
  if (ctx.path === '/healthz') ctx.body = 'ok';
  if (ctx.path === '/') ctx.body = 'hello';
  if (ctx.path === '/slow') {
    // Ends at once when the deadline has passed or the client has gone.
    await sleep(500, undefined, { signal: getResilienceSignal() });
    ctx.body = 'done';
  }
});

const server = app.listen(Number(PORT), () => {
  console.log(`http://localhost:${server.address().port}`);
});

process.once('SIGTERM', () => {
  resilience.dispose();
  server.close();
});
