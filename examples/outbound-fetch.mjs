// A server that calls another: what is left of a request's time goes with each call. Both are protected, by
// `protect`, which stands before whatever listens to a server.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { getResilienceSignal, standardPipeline } from '@ylcnfrht/resilience';
import { protect, resilientFetch } from '@ylcnfrht/resilience/http';

const { PORT = '3000', LIMIT = '100' } = process.env;
const DEADLINE = 'x-request-timeout-ms';

const backend = createServer(async (req, res) => {
  if (req.url === '/slow') await sleep(500, undefined, { signal: getResilienceSignal() });
  res.end(`done, with ${req.headers[DEADLINE]} ms left`);
});
const inner = protect(backend, { deadlineHeader: DEADLINE, concurrency: { permitLimit: 2 * Number(LIMIT) } });
await once(backend.listen(0, 'localhost'), 'listening');
const origin = `http://localhost:${backend.address().port}`;

// Retries with backoff, a circuit breaker, timeouts.
const pipeline = standardPipeline({ name: 'backend' });
const fetchBackend = resilientFetch(pipeline, undefined, { deadlineHeader: DEADLINE });

const server = createServer(async (req, res) => {
  if (req.url === '/healthz') return res.end('ok');
  const response = await fetchBackend(`${origin}${req.url}`);
  res.writeHead(response.status).end(await response.text());
});
const outer = protect(server, {
  timeout: '2s',
  concurrency: { permitLimit: Number(LIMIT) },
  rateLimit: { permitLimit: 600, window: '1m' },
  skip: (req) => req.url === '/healthz',
});
server.listen(Number(PORT), () => {
  console.log(`http://localhost:${server.address().port}`);
});

process.once('SIGTERM', async () => {
  outer.dispose();
  server.close();
  await once(server, 'close');
  inner.dispose();
  pipeline.dispose();
  backend.close();
  backend.closeAllConnections();
});
