// The server under load, a process of its own: `node server.mjs none|fixed|adaptive`. It reports to its
// parent over IPC.
import express from 'express';
import { AdaptiveLimitProvider, getResilienceSignal, ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';
import { Dependency } from './dependency.mjs';
import * as settings from './settings.mjs';

const dependency = new Dependency(settings.dependency);
const defects = [];

/** What each mode puts before the routes, and where its limit, its permits in use and its queue are read. */
const protections = {
  none: () => undefined,
  fixed: () => {
    const middleware = resilienceMiddleware(settings.fixed);
    const limiter = middleware.pipeline.getStrategy('ConcurrencyLimiter');
    return { middleware, limit: () => limiter.permitLimit, limiter };
  },
  adaptive: () => {
    const limiter = new AdaptiveLimitProvider();
    const pipeline = new ResiliencePipelineBuilder({ name: 'inbound' })
      .addAdaptiveConcurrencyLimiter({ ...settings.adaptive.limiter, limitProvider: limiter })
      .addTimeout(settings.adaptive.timeout)
      .build();
    return { middleware: resilienceMiddleware({ pipeline }), limit: () => limiter.limit, limiter };
  },
};
const protection = protections[process.argv[2]]();

const app = express();
app.get('/healthz', (_req, res) => res.send('ok'));
if (protection !== undefined) app.use(protection.middleware);
app.get('/work', async (_req, res) => {
  const signal = getResilienceSignal();
  try {
    await dependency.call(signal);
  } catch (error) {
    // Past the deadline the client has its 504; or it has left. Nobody is there to be told.
    if (signal?.aborted) return;
    throw error;
  }
  res.json({ done: true });
});

const server = app.listen(0, '127.0.0.1', (error) => {
  if (error) throw error;
  // From here on an error that nothing catches is a finding to report; before, it ends the process.
  process.on('uncaughtException', (thrown, origin) => defects.push(`${origin}: ${thrown?.stack ?? thrown}`));
  process.on('warning', (warning) => defects.push(`warning: ${warning.message}`));
  process.send({ type: 'listening', port: server.address().port });
});
// Longer than the load leaves a connection unused, so that none closes just as a request is sent on it.
server.keepAliveTimeout = 60_000;

const reporting = setInterval(() => process.send({ type: 'gauge', ...gauge() }), settings.reportMs);
process.on('message', ({ type }) => (type === 'state' ? sendState() : close()));
process.on('disconnect', () => process.exit());

/** Without a limiter, the requests being worked on are those inside the dependency. */
function gauge() {
  if (protection === undefined) return { inflight: dependency.pending };
  const { limiter, limit } = protection;
  return { limit: limit(), inflight: limiter.inflight, queued: limiter.queued };
}

function sendState() {
  server.getConnections((_error, connections) => {
    process.send({ type: 'state', ...gauge(), connections, pending: dependency.pending, defects });
  });
}

/** Leaves nothing that would keep the process alive: if it does not end now, something was forgotten. */
function close() {
  clearInterval(reporting);
  protection?.middleware.dispose();
  server.close();
  process.removeAllListeners('disconnect');
  process.disconnect();
}
