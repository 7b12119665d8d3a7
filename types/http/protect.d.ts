import type { IncomingMessage } from 'node:http';
import type { Server } from 'node:net';
import type { Inbound, InboundOptions } from './inbound.js';

/**
 * The same for a whole server of `node:http`, `node:https` or `node:http2`, before every listener of its
 * requests, also one that is added later: whatever the framework, and before any of its middlewares.
 *
 * The only place where a client that sends `Expect: 100-continue` can be refused before it has sent its body:
 * such a request is admitted first, then told to go on with 100, and then handed on. Where something else
 * listens to `checkContinue`, it is handed on to that instead.
 *
 * For `skip`, `rateLimit.key` and the others a request is Node's. What a listener throws is answered 500 and
 * becomes a process warning. Each call for a server admits separately.
 *
 * @throws what `resilienceMiddleware` throws; TypeError if `server` is no HTTP server, or one of HTTP/2 with a
 * listener of `stream`, which also cannot be added later.
 *
 * @example
 * const server = createServer(app);
 * const inbound = protect(server, {
 *   concurrency: { permitLimit: 200 },
 *   skip: (req) => req.url === '/healthz',
 * });
 * process.once('SIGTERM', () => {
 *   inbound.dispose();
 *   server.close();
 * });
 */
export function protect(server: Server, options: InboundOptions<IncomingMessage>): Inbound;
