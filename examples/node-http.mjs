// A plain server of node:http.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { getResilienceSignal } from '@ylcnfrht/resilience';
import { withResilience } from '@ylcnfrht/resilience/http';

const { PORT = '3000', LIMIT = '100' } = process.env;

async function listener(req, res) {
  if (req.url === '/healthz') {
    res.end('ok');
  } else if (req.url === '/') {
    res.end('hello');
  } else if (req.url === '/slow') {
    // Ends at once when the deadline has passed or the client has gone.
    await sleep(500, undefined, { signal: getResilienceSignal() });
    res.end('done');
  } else {
    res.writeHead(404).end();
  }
}

const resilience = withResilience(listener, {
  timeout: '2s',
  concurrency: { permitLimit: Number(LIMIT) },
  rateLimit: { permitLimit: 600, window: '1m' },
  skip: (req) => req.url === '/healthz',
});

const server = createServer(resilience).listen(Number(PORT), () => {
  console.log(`http://localhost:${server.address().port}`);
});

process.once('SIGTERM', () => {
  resilience.dispose();
  server.close();
});
