import { EventEmitter, once } from 'node:events';
import { fastifyResilience } from '@ylcnfrht/resilience/http';
import fastify from 'fastify';
import { check } from './requests.cjs';

const requests = new EventEmitter();
const app = fastify();
await app.register(fastifyResilience, { timeout: '2s', concurrency: { permitLimit: 1 } });
app.get('/', async () => 'hello');
app.get('/late', () => {
  requests.emit('late');
  return new Promise(() => {});
});

const arrived = once(requests, 'late');
await check(await app.listen({ host: '127.0.0.1', port: 0 }), arrived);
await app.close();
