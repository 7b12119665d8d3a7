// An Express server whose route needs a dependency of limited capacity, behind one protection:
// `node overload-server.mjs NAME`.

import { createServer } from 'node:http';

import underPressure from '@fastify/under-pressure';
import express from 'express';
import fastify from 'fastify';
import overloadProtection from 'overload-protection';

import { Dependency } from '../demo/dependency.mjs';
import * as settings from '../demo/settings.mjs';
import resilience from '../index.js';
import { resilienceMiddleware } from '../http.js';

const dependency = new Dependency(settings.dependency);

/** The signal of a request, where there is one, stops what nobody waits for any more. */
async function onExpress(protection) {
  const app = express();
  app.get('/healthz', (_request, response) => response.send('ok'));
  if (protection !== undefined) app.use(protection);
  app.get('/work', async (_request, response) => {
    const signal = resilience.getResilienceSignal();
    try {
      await dependency.call(signal);
    } catch (error) {
      if (signal?.aborted) return;
      throw error;
    }
    response.json({ done: true });
  });
  return createServer(app);
}

const SERVERS = {
  'no limiter': () => onExpress(),
  'this package, fixed': () => onExpress(resilienceMiddleware(settings.fixed)),
  'this package, knee': () => {
    const pipeline = new resilience.ResiliencePipelineBuilder()
      .addAdaptiveConcurrencyLimiter({ ...settings.adaptive.limiter, algorithm: 'knee' })
      .addTimeout(settings.adaptive.timeout)
      .build();
    return onExpress(resilienceMiddleware({ pipeline }));
  },
  'overload-protection': () => onExpress(overloadProtection('express', { production: true })),
  '@fastify/under-pressure': async () => {
    const app = fastify();
    await app.register(underPressure, { maxEventLoopDelay: 100, maxEventLoopUtilization: 0.98 });
    app.get('/healthz', async () => 'ok');
    app.get('/work', async () => {
      await dependency.call();
      return { done: true };
    });
    await app.ready();
    return app.server;
  },
};

const server = await SERVERS[process.argv[2]]();
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('disconnect', () => process.exit());
