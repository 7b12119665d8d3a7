import { fastifyResilience, type FastifyRequestLike, type FastifyRequestPart } from '@ylcnfrht/resilience/http';
import { equal } from '../equal.mjs';

equal<FastifyRequestLike, FastifyRequestPart>(true);
await fastifyResilience(undefined, {
  timeout: '5s',
  errors: true,
  onRejected: ({ request, error }) => request.log.warn({ code: error.code, id: request.id }, 'refused'),
  // @ts-expect-error no request has that
  skip: (request) => request.nothing === true,
});
