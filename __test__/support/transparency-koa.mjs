import { json, text } from 'node:stream/consumers';
import Koa3 from 'koa';
import Koa2 from 'koa2';
import { koaResilience } from '@ylcnfrht/resilience/http';
import { runNative } from './transparency-native.mjs';
import { describe, note } from './transparency-recorder.mjs';
import { failingStream, openFile, openNothing, teapot } from './transparency-source.mjs';

const koaApp = (name, Koa) => ({
  name,
  dropsAborts: true,
  create(options, createServer) {
    const app = new Koa();
    app.on('error', (error) => note(`app error: ${describe(error)}`));
    const resilience = options && koaResilience(options);
    app.use(async (ctx, next) => {
      try {
        await next();
        note(`outer: ${ctx.status} ${ctx.headerSent} ${ctx.writable} ${Object.keys(ctx)}`);
      } catch (error) {
        note(`outer: ${describe(error)}`);
        throw error;
      }
    });
    if (resilience) app.use(resilience);
    app.use((ctx, next) => {
      if (!ctx.path.startsWith('/native/')) return next();
      ctx.respond = false;
      return runNative(ctx.req, ctx.res);
    });
    app.use((ctx, next) =>
      (ROUTES[`${ctx.method === 'HEAD' ? 'GET' : ctx.method} ${ctx.path}`] ?? next)(ctx),
    );
    return { server: createServer(app.callback()), resilience };
  },
});

/** @type {Record<string, (ctx: any) => unknown>} */
const ROUTES = {
  'GET /text'(ctx) {
    ctx.body = 'hello';
    ctx.etag = 'hello';
    if (ctx.fresh) ctx.status = 304;
  },
  'GET /json': (ctx) => (ctx.body = { hello: 'world' }),
  'GET /buffer': (ctx) => (ctx.body = Buffer.from('bytes')),
  'GET /stream'(ctx) {
    ctx.type = 'json';
    ctx.body = openFile();
  },
  async 'GET /file'(ctx) {
    ctx.body = await text(openFile());
    ctx.lastModified = new Date(0);
    if (ctx.fresh) ctx.status = 304;
  },
  'GET /redirect': (ctx) => ctx.redirect('/text'),
  'GET /cookies'(ctx) {
    ctx.cookies.set('a', '1').set('b', '2', { httpOnly: false });
    ctx.body = 'set';
  },
  'GET /repeated'(ctx) {
    ctx.append('X-Many', '1');
    ctx.append('X-Many', '2');
    ctx.vary('Accept');
    ctx.status = 202;
  },
  'GET /empty': (ctx) => (ctx.status = 204),
  'GET /raw'(ctx) {
    ctx.respond = false;
    ctx.res.end('raw');
  },
  'GET /response': (ctx) => (ctx.body = new Response('from a Response', { status: 203 })),
  'POST /json': async (ctx) => (ctx.body = await json(ctx.req)),
  'POST /text': async (ctx) => (ctx.body = await text(ctx.req)),
  'POST /form': (ctx) => (ctx.body = ctx.req),
  'GET /throws'() {
    throw new Error('thrown');
  },
  async 'GET /rejects'() {
    await null;
    throw teapot();
  },
  'GET /http-error': (ctx) => ctx.throw(418, 'short and stout', { headers: { 'x-pot': 'tea' } }),
  'GET /throws-late'(ctx) {
    ctx.res.write('begun');
    throw new Error('thrown late');
  },
  'GET /throws-after-end'(ctx) {
    ctx.res.end('done');
    throw new Error('thrown after the end');
  },
  'GET /failing-stream': (ctx) => (ctx.body = failingStream()),
  'GET /no-stream': (ctx) => (ctx.body = openNothing()),
};

export const koaApps = [koaApp('Koa 3', Koa3), koaApp('Koa 2', Koa2)];
