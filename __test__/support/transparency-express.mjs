import express5 from 'express';
import express4 from 'express4';
import { resilienceMiddleware } from '@ylcnfrht/resilience/http';
import { runNative } from './transparency-native.mjs';
import { describe, note } from './transparency-recorder.mjs';
import { FILE, directory, failingStream, openFile, openNothing, teapot } from './transparency-source.mjs';

const expressApp = (name, express) => ({
  name,
  create(options, createServer) {
    const app = express();
    // Otherwise the default error handler prints every error that a case provokes.
    app.set('env', 'test');
    const resilience = options && resilienceMiddleware(options);
    if (resilience) app.use(resilience);
    app.all(/^\/native\//, runNative);
    app.use('/static', express.static(directory, { index: FILE }));
    addAnswers(app, express);
    addFailures(app, express);
    app.use((error, _req, res, next) => {
      note(`error handler: ${describe(error)}, sent ${res.headersSent}`);
      next(error);
    });
    return { server: createServer(app), resilience };
  },
});

function addAnswers(app, express) {
  const sent = (what, res, next) => (error) => {
    note(`${what}: ${error ? describe(error) : 'well'}`);
    if (error && !res.headersSent) next(error);
  };
  app.get('/text', (_req, res) => res.send('hello'));
  app.get('/json', (_req, res) => res.json({ hello: 'world' }));
  app.get('/buffer', (_req, res) => res.type('bin').send(Buffer.from('bytes')));
  app.get('/file', (_req, res, next) => {
    res.sendFile(FILE, { root: directory }, sent('sendFile', res, next));
  });
  app.get('/no-file', (_req, res, next) => res.sendFile('none', { root: directory }, next));
  app.get('/download', (_req, res, next) => {
    res.download(`${directory}${FILE}`, 'a.json', sent('download', res, next));
  });
  app.get('/stream', (_req, res) => openFile().pipe(res.type('json')));
  app.get('/redirect', (_req, res) => res.redirect(302, '/text'));
  app.get('/cookies', (_req, res) => res.cookie('a', '1', { httpOnly: true }).cookie('b', '2').send('set'));
  app.get('/repeated', (_req, res) =>
    res.append('X-Many', '1').append('X-Many', '2').vary('Accept').sendStatus(202),
  );
  app.get('/format', (_req, res) => res.format({ text: () => res.send('t'), json: () => res.json('j') }));
  app.get('/empty', (_req, res) => res.status(204).end());
  app.get('/params/:id', (req, res) => res.json([req.params, req.query, req.ip, req.hostname, req.fresh]));
  app.get('/skips', (_req, _res, next) => next('route'));
  app.get('/skips', (_req, res) => res.send('the next route'));
  app.post('/json', express.json({ limit: 1000 }), (req, res) => res.json(req.body));
  app.post('/text', express.text(), (req, res) => res.send(req.body));
  app.post('/form', express.urlencoded({ extended: false }), (req, res) => res.json(req.body));
}

function addFailures(app, express) {
  const rejected = async () => {
    await null;
    throw teapot();
  };
  app.get('/throws', () => {
    throw new Error('thrown');
  });
  // Express 4 leaves rejections to the handler.
  app.get('/rejects', express === express4 ? (_req, _res, next) => rejected().catch(next) : rejected);
  app.get('/fails', (_req, _res, next) => setImmediate(next, new Error('passed on')));
  app.get('/http-error', (_req, _res, next) => next(teapot()));
  app.get('/throws-late', (_req, res) => {
    res.write('begun');
    throw new Error('thrown late');
  });
  app.get('/throws-after-end', (_req, res) => {
    res.end('done');
    throw new Error('thrown after the end');
  });
  app.get('/failing-stream', (_req, res, next) => failingStream().on('error', next).pipe(res));
  app.get('/no-stream', (_req, res, next) => openNothing().on('error', next).pipe(res));
}

export const expressApps = [expressApp('Express 5', express5), expressApp('Express 4', express4)];
