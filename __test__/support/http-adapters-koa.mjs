import { text } from 'node:stream/consumers';
import Koa3 from 'koa';
import Koa2 from 'koa2';
import { koaResilience } from '@ylcnfrht/resilience/http';
import { router } from './http-router.mjs';

const koaAdapter = (name, Koa) => ({
  name,
  Koa,
  requestOf: (subject) => subject.req,
  // What comes after an answer has no one to hear of it.
  lateFailureWrites: 0,
  create({ options, routes = {}, answers = {}, before = [], after = [], also = [], onError }) {
    const app = new Koa();
    // Otherwise every error that a test provokes is printed.
    app.silent = true;
    const resilience = koaResilience(options);
    const others = also.map(koaResilience);
    for (const middleware of before) app.use(adapt(middleware));
    for (const middleware of [resilience, ...others]) app.use(middleware);
    for (const middleware of after) app.use(adapt(middleware));
    if (onError !== undefined) {
      app.use((ctx, next) => next().catch((error) => send(ctx, onError(error))));
    }
    const findNative = router(answers);
    app.use((ctx, next) => {
      const answer = findNative(ctx.req);
      if (answer === undefined) return next();
      const { req, res } = ctx;
      const answered = answer({ req, res, subject: ctx, body: () => text(req) });
      if (typeof answered?.then !== 'function') return send(ctx, answered);
      return answered.then((value) => send(ctx, value));
    });
    const find = router(routes);
    app.use((ctx, next) => {
      const handler = find(ctx.req);
      return handler === undefined ? next() : takeOver(ctx, handler);
    });
    return { app, listener: app.callback(), resilience, others };
  },
});

/** A middleware of Node.js as one of Koa. */
const adapt = (middleware) => (ctx, next) =>
  new Promise((resolve, reject) => {
    middleware(ctx.req, ctx.res, (error) => {
      if (error === undefined) next().then(resolve, reject);
      else reject(error);
    });
  });

/** Lets a handler of Node.js answer, as Koa says how to: the response is its own until it has ended. */
function takeOver(ctx, handler) {
  ctx.respond = false;
  ctx.res.statusCode = 200;
  return new Promise((resolve, reject) => {
    ctx.res.once('close', resolve);
    handler(ctx.req, ctx.res, (error) => {
      ctx.respond = true;
      ctx.res.statusCode = 404;
      if (error === undefined) resolve();
      else reject(error);
    });
  });
}

function send(ctx, { status = 200, headers = {}, text, json, stream }) {
  ctx.status = status;
  ctx.set(headers);
  ctx.body = stream ?? json ?? text ?? '';
}

export const koaAdapters = [koaAdapter('Koa 3', Koa3), koaAdapter('Koa 2', Koa2)];
