// Fastify 5 or 4.
import { setTimeout as sleep } from 'node:timers/promises';
import Fastify from 'fastify';
import { getResilienceSignal } from '@ylcnfrht/resilience';
import { fastifyResilience } from '@ylcnfrht/resilience/http';

const { PORT = '3000', LIMIT = '100' } = process.env;

const app = Fastify();
await app.register(fastifyResilience, {
  timeout: '2s',
  concurrency: { permitLimit: Number(LIMIT) },
  rateLimit: { permitLimit: 600, window: '1m' },
  skip: (request) => request.url === '/healthz',
});
app.get('/healthz', async () => 'ok');
app.get('/', async () => 'hello');
app.get('/slow', async () => {
  // Ends at once when the deadline has passed or the client has gone.
  await sleep(500, undefined, { signal: getResilienceSignal() });
  return 'done';
});

await app.listen({ port: Number(PORT) });
console.log(`http://localhost:${app.server.address().port}`);

process.once('SIGTERM', () => {
  // Disposes of the pipeline, too.
  app.close();
});
