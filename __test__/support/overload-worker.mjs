// A worker thread with a server whose requests wait for its own event loop.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { parentPort } from 'node:worker_threads';
import { withResilience } from '@ylcnfrht/resilience/http';
import { PATIENT, burn, sendAll, statuses } from './overload.mjs';

let mostQueued = 0;
const listener = withResilience(
  (_req, res) => {
    mostQueued = Math.max(mostQueued, listener.overload.queued);
    burn();
    res.end();
  },
  { overload: PATIENT },
);
const server = createServer(listener).listen(0, '127.0.0.1');
await once(server, 'listening');
const counts = await statuses(sendAll(server.address().port, 20));
parentPort.postMessage({ mostQueued, statuses: counts });
server.close();
