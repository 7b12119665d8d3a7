import type { IncomingMessage } from 'node:http';
import type { Inbound, InboundOptions } from './inbound.js';

// An error where Fastify is not installed: then it is any, which has every key there is.
// @ts-ignore
type InstalledRequest = import('fastify').FastifyRequest;

/** What `skip`, `rateLimit.key` and the others of Fastify are given: its own request, where Fastify is installed. */
export type FastifyRequestLike = string extends keyof InstalledRequest ? FastifyRequestPart : InstalledRequest;

/** What of Fastify's request takes no types of Fastify. */
export interface FastifyRequestPart {
  readonly raw: IncomingMessage;
  readonly ip: string;
  readonly url: string;
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  readonly id: string;
  readonly log: { info(...args: any[]): void; warn(...args: any[]): void; error(...args: any[]): void };
}

/** An option of {@link fastifyResilience} alone. */
export interface FastifyErrors {
  /**
   * Answer a rejection of a pipeline that a handler has called as a refusal: see `expressErrors`. It sets the
   * instance's handler of errors; everything else goes on to the one around it. Default false.
   */
  errors?: boolean | undefined;
}

// As above: without Fastify there is no module to add to.
// @ts-ignore
declare module 'fastify' {
  interface FastifyInstance {
    /** The pipeline in front of the routes: see `fastifyResilience`. Of several, the first. */
    resilience: Inbound;
  }
}

/**
 * `resilienceMiddleware` as a plugin for Fastify 5 and 4: it stands before every route of the instance that it is
 * registered on. The instance then has `resilience`, with {@link Inbound}'s members; `close()` disposes of it. With
 * `errors: true` it also answers what `expressErrors` does.
 *
 * @throws (`register` rejects with it) what `resilienceMiddleware` throws.
 *
 * @example
 * await app.register(fastifyResilience, { timeout: '5s', concurrency: { permitLimit: 200 } });
 */
export function fastifyResilience(
  fastify: any,
  options: InboundOptions<FastifyRequestLike> & FastifyErrors,
): Promise<void>;
