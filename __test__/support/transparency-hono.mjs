import { Readable } from 'node:stream';
import { getRequestListener as getRequestListener2 } from '@hono/node-server';
import { serveStatic as serveStatic2 } from '@hono/node-server/serve-static';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono as Hono4 } from 'hono';
import { HTTPException as HTTPException4 } from 'hono/http-exception';
import { Hono as Hono3 } from 'hono3';
import { HTTPException as HTTPException3 } from 'hono3/http-exception';
import { getRequestListener as getRequestListener1 } from 'node-server1';
import { serveStatic as serveStatic1 } from 'node-server1/serve-static';
import { honoResilience } from '@ylcnfrht/resilience/http';
import { runNative } from './transparency-native.mjs';
import { describe, note } from './transparency-recorder.mjs';
import { failingStream, openFile, relativeDirectory } from './transparency-source.mjs';

/** @hono/node-server puts a `Response` of its own in the place of that of Node.js, unless it is told not to. */
const honoApp = (name, { Hono, HTTPException, getRequestListener, serveStatic, overrideGlobalObjects }) => ({
  name,
  create(options, createServer) {
    const app = new Hono();
    app.onError((error, c) => {
      note(`onError ${describe(error)}`);
      return error.getResponse?.() ?? c.text('Internal Server Error', 500);
    });
    const resilience = options && honoResilience(options);
    app.use('*', async (c, next) => {
      await next();
      note(`outer: ${c.res.status} ${c.error ? describe(c.error) : 'well'}`);
    });
    if (resilience) app.use('*', resilience);
    app.all('/native/*', (c) => {
      const { incoming, outgoing } = c.env;
      return new Promise((resolve) => {
        outgoing.once('close', () => resolve(RESPONSE_ALREADY_SENT));
        runNative(incoming, outgoing);
      });
    });
    const rewriteRequestPath = (path) => path.replace(/^\/static/, '');
    app.use('/static/*', serveStatic({ root: relativeDirectory, rewriteRequestPath }));
    addAnswers(app);
    addFailures(app, HTTPException);
    return { server: createServer(getRequestListener(app.fetch, { overrideGlobalObjects })), resilience };
  },
});

function addAnswers(app) {
  app.get('/text', (c) => c.text('hello'));
  app.get('/json', (c) => c.json({ hello: 'world' }));
  app.get('/buffer', (c) => c.body(new Uint8Array([104, 105])));
  app.get('/stream', (c) => c.body(Readable.toWeb(openFile())));
  app.get('/redirect', (c) => c.redirect('/text'));
  app.get('/cookies', (c) => {
    c.header('Set-Cookie', 'a=1; HttpOnly', { append: true });
    c.header('Set-Cookie', 'b=2', { append: true });
    return c.text('set');
  });
  app.get('/repeated', (c) => {
    c.header('X-Many', '1', { append: true });
    c.header('X-Many', '2', { append: true });
    return c.text('many', 202);
  });
  app.get('/empty', (c) => c.body(null, 204));
  app.get('/response', () => new Response('from a Response', { status: 203, headers: { 'x-a': '1' } }));
  app.get('/params/:id', (c) => c.json([c.req.param(), c.req.query(), c.req.url, c.req.header('host')]));
  app.get('/signal', (c) => c.text(String(c.req.raw.signal.aborted)));
  app.post('/json', async (c) => c.json(await c.req.json()));
  app.post('/text', async (c) => c.text(await c.req.text()));
  app.post('/form', (c) => c.body(c.req.raw.body));
}

function addFailures(app, HTTPException) {
  app.get('/throws', () => {
    throw new Error('thrown');
  });
  app.get('/rejects', async () => {
    await null;
    throw new Error('rejected');
  });
  app.get('/http-error', () => {
    throw new HTTPException(418, { message: 'short and stout' });
  });
  app.get('/failing-stream', (c) => c.body(Readable.toWeb(failingStream())));
}

export const honoApps = [
  honoApp('Hono 4', {
    Hono: Hono4,
    HTTPException: HTTPException4,
    getRequestListener: getRequestListener2,
    serveStatic: serveStatic2,
    overrideGlobalObjects: true,
  }),
  honoApp('Hono 3', {
    Hono: Hono3,
    HTTPException: HTTPException3,
    getRequestListener: getRequestListener1,
    serveStatic: serveStatic1,
    overrideGlobalObjects: false,
  }),
];
