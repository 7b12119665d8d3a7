// A process of the cluster in cluster.test.mjs: a server with two permits, whose requests wait until a message
// lets them go.
import http from 'node:http';
import express from 'express';
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';

const held = [];
const app = express();
app.use(resilienceMiddleware({ timeout: '1h', concurrency: { permitLimit: 2 } }));
app.get('/work', (_req, res) => {
  held.push(res);
  process.send('started');
});
process.on('message', () => {
  for (const res of held.splice(0)) res.end(String(process.pid));
});
http.createServer(app).listen(0, '127.0.0.1');
