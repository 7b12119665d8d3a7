import { text } from 'node:stream/consumers';
import express5 from 'express';
import express4 from 'express4';
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';

const expressAdapter = (name, express) => ({
  name,
  express,
  requestOf: (subject) => subject,
  lateFailureWrites: 1,
  create({ options, routes = {}, answers = {}, before = [], after = [], also = [], onError }) {
    const app = express();
    // Otherwise the default error handler prints every error that a test provokes.
    app.set('env', 'test');
    const resilience = resilienceMiddleware(options);
    const others = also.map(resilienceMiddleware);
    for (const middleware of [...before, resilience, ...others, ...after]) app.use(middleware);
    const all = { ...routes };
    for (const [route, answer] of Object.entries(answers)) {
      all[route] = (req, res, next) => {
        const answered = answer({ req, res, subject: req, body: () => text(req) });
        if (typeof answered?.then !== 'function') return send(res, answered);
        // Express 4 leaves rejections to the handler.
        const sent = answered.then((value) => send(res, value));
        return express === express4 ? sent.catch(next) : sent;
      };
    }
    for (const [route, handler] of Object.entries(all)) {
      const [method, path] = route.split(' ');
      app[method.toLowerCase()](path, handler);
    }
    if (onError !== undefined) app.use((error, _req, res, _next) => send(res, onError(error)));
    return { app, listener: app, resilience, others };
  },
});

function send(res, { status = 200, headers = {}, text, json, stream }) {
  res.status(status).set(headers);
  if (stream !== undefined) stream.pipe(res);
  else if (json !== undefined) res.json(json);
  else if (text !== undefined) res.send(text);
  else res.end();
}

export const expressAdapters = [expressAdapter('Express 5', express5), expressAdapter('Express 4', express4)];
