// A server whose handlers compute, behind one protection: `node event-loop-server.mjs NAME OPTIONS`. With a database,
// they compute what it has answered.

import { createServer } from 'node:http';

import underPressure from '@fastify/under-pressure';
import express from 'express';
import fastify from 'fastify';
import overloadProtection from 'overload-protection';
import toobusy from 'toobusy-js';

import { compute } from '../demo/computation.mjs';
import { protect, resilienceMiddleware } from '../http.js';
import { connectToDatabase } from './database.mjs';

const [name, options] = process.argv.slice(2);
const { cpuMs, databasePort, pauseMs = 0 } = JSON.parse(options);
const PAUSE_EVERY_MS = 2000;
const query = databasePort === undefined ? undefined : connectToDatabase(databasePort);
let pausedAt = performance.now();

async function work() {
  if (query !== undefined) await query();
  const isPause = pauseMs > 0 && performance.now() - pausedAt > PAUSE_EVERY_MS;
  if (isPause) pausedAt = performance.now();
  compute(isPause ? pauseMs : cpuMs);
  return { done: true };
}

function onExpress(protection) {
  const app = express();
  app.get('/healthz', (_request, response) => response.send('ok'));
  if (protection !== undefined) app.use(protection);
  app.get('/work', async (_request, response) => response.json(await work()));
  app.get('/warm-up', async (_request, response) => response.json({ done: true }));
  return createServer(app);
}

async function onFastify(register) {
  const app = fastify();
  app.get('/healthz', async () => 'ok');
  await app.register(async (protectedApp) => {
    await register?.(protectedApp);
    protectedApp.get('/work', work);
    protectedApp.get('/warm-up', async () => ({ done: true }));
  });
  await app.ready();
  return app.server;
}

const priority = (request) => (request.url.endsWith('important') ? 0 : 1);

const SERVERS = {
  'no protection': () => onExpress(),
  'no protection, Fastify': () => onFastify(),
  '@fastify/under-pressure': () =>
    onFastify((app) => app.register(underPressure, { maxEventLoopDelay: 100, maxEventLoopUtilization: 0.98 })),
  'overload-protection': () => onExpress(overloadProtection('express', { production: true })),
  'toobusy-js': () =>
    onExpress((_request, response, next) => (toobusy() ? response.status(503).send('too busy') : next())),
  'this package, middleware': () => onExpress(resilienceMiddleware({ overload: true })),
  'this package, priorities': () => onExpress(resilienceMiddleware({ overload: { priority } })),
  'this package, protect()': () => {
    const server = onExpress();
    protect(server, { overload: true, skip: (request) => request.url === '/healthz' });
    return server;
  },
};

const server = await SERVERS[name]();
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('disconnect', () => process.exit());
