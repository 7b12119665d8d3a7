'use strict';

const { once } = require('node:events');
const { resilienceMiddleware } = require('@ylcnfrht/resilience/http');
const express = require('express');
const { check } = require('./requests.cjs');

const app = express();
app.use(resilienceMiddleware({ timeout: '2s', concurrency: { permitLimit: 1 } }));
app.get('/', (_req, res) => res.send('hello'));
app.get('/late', () => app.emit('late'));

const arrived = once(app, 'late');
const server = app.listen(0, '127.0.0.1', async () => {
  await check(`http://127.0.0.1:${server.address().port}`, arrived);
  server.close();
});
