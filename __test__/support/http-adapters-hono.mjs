import { Readable } from 'node:stream';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { getRequestListener as getRequestListener2 } from '@hono/node-server';
import { Hono as Hono4 } from 'hono';
import { Hono as Hono3 } from 'hono3';
import { getRequestListener as getRequestListener1 } from 'node-server1';
import { honoResilience } from '@ylcnfrht/resilience/http';

/** @hono/node-server puts a `Response` of its own in the place of that of Node.js, unless it is told not to. */
const honoAdapter = (name, Hono, getRequestListener, overrideGlobalObjects) => ({
  name,
  Hono,
  getRequestListener,
  overrideGlobalObjects,
  requestOf: (subject) => subject.env.incoming,
  lateFailureWrites: 0,
  create({ options, routes = {}, answers = {}, before = [], after = [], also = [], onError }) {
    const app = new Hono();
    app.onError(onError === undefined ? failed : (error, c) => send(c, onError(error)));
    const resilience = honoResilience(options);
    const others = also.map(honoResilience);
    for (const middleware of before) app.use('*', adapt(middleware));
    for (const middleware of [resilience, ...others]) app.use('*', middleware);
    for (const middleware of after) app.use('*', adapt(middleware));
    for (const [route, handler] of Object.entries(routes)) {
      const [method, path] = route.split(' ');
      app.on(method, path, (c) => takeOver(c, handler));
    }
    for (const [route, answer] of Object.entries(answers)) {
      const [method, path] = route.split(' ');
      app.on(method, path, (c) => {
        const { incoming: req, outgoing: res } = c.env;
        const answered = answer({ req, res, subject: c, body: () => c.req.text() });
        if (typeof answered?.then !== 'function') return send(c, answered);
        return answered.then((value) => send(c, value));
      });
    }
    const listener = getRequestListener(app.fetch, { overrideGlobalObjects });
    return { app, listener, resilience, others };
  },
});

/** As Hono's own handler of errors, which also prints them. */
const failed = (error, c) => c.text('Internal Server Error', error.status ?? 500);

/** A middleware of Node.js as one of Hono. */
const adapt = (middleware) => (c, next) =>
  new Promise((resolve, reject) => {
    const { incoming, outgoing } = c.env;
    middleware(incoming, outgoing, (error) => {
      if (error !== undefined) return reject(error);
      return next().then(() => resolve(outgoing.writableEnded ? RESPONSE_ALREADY_SENT : undefined), reject);
    });
  });

/** Lets a handler of Node.js answer, as @hono/node-server says how to. */
const takeOver = (c, handler) =>
  new Promise((resolve, reject) => {
    const { incoming, outgoing } = c.env;
    outgoing.once('close', () => resolve(RESPONSE_ALREADY_SENT));
    handler(incoming, outgoing, (error) => {
      if (error === undefined) resolve(c.notFound());
      else reject(error);
    });
  });

function send(c, { status = 200, headers = {}, text, json, stream }) {
  if (json !== undefined) return c.json(json, status, headers);
  const body = stream === undefined ? (text ?? null) : Readable.toWeb(stream);
  return c.body(body, status, headers);
}

export const honoAdapters = [
  honoAdapter('Hono 4', Hono4, getRequestListener2, true),
  honoAdapter('Hono 3', Hono3, getRequestListener1, false),
];
