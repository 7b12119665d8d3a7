import { withResilience } from '@ylcnfrht/resilience/http';
import { runNative } from './transparency-native.mjs';

/** Listeners of node:http, and of node:http2 by its compatibility API. */
export const nodeApp = {
  name: 'node:http',
  create(options, createServer) {
    const listener = (req, res) => {
      if (req.url.startsWith('/native/')) runNative(req, res);
      else res.writeHead(404).end('none');
    };
    const resilience = options && withResilience(listener, options);
    return { server: createServer(resilience ?? listener), resilience };
  },
};
