// Handlers of Node's own request and response that read bodies, and those whose client leaves.
import { finished, pipeline } from 'node:stream';
import { attempt, noted, observe, shout } from './transparency-observe.mjs';
import { note } from './transparency-recorder.mjs';

/** @typedef {Record<string, (req: any, res: any) => unknown>} Handlers */

/** By what they do with the body. @type {Handlers} */
export const POSTS = {
  pipe: (req, res) => req.pipe(res),
  pipeline: (req, res) => pipeline(req, shout(), res, noted('pipeline')),
  listeners(req, res) {
    observe(req, res);
    req.setEncoding('utf8');
    let text = '';
    req.on('data', (chunk) => (text += chunk)).on('end', () => res.end(text));
  },
  readable(req, res) {
    const chunks = [];
    req.on('readable', () => {
      for (let chunk = req.read(); chunk !== null; chunk = req.read()) chunks.push(chunk);
    });
    req.on('end', () => res.end(Buffer.concat(chunks)));
  },
  async iterate(req, res) {
    let text = '';
    for await (const chunk of req) text += chunk;
    res.end(text);
  },
  async 'leave-iteration'(req, res) {
    observe(req, res);
    for await (const chunk of req) {
      note(`got ${chunk.length > 0}`);
      break;
    }
    attempt('end', () => res.end('left'));
  },
  unread: (_req, res) => res.end('not read'),
  'unread-observed'(req, res) {
    observe(req, res);
    res.end('not read');
  },
  paused(req, res) {
    req.pause();
    setImmediate(() => req.pipe(res));
  },
  dumped(req, res) {
    req.resume();
    req.on('end', () => res.end('dumped'));
  },
  trailers(req, res) {
    req.resume();
    req.on('end', () => res.end(JSON.stringify([req.trailers, req.rawTrailers])));
  },
  refused(req, res) {
    observe(req, res);
    res.writeHead(413, { Connection: 'close' }).end('too large');
  },
  finished(req, res) {
    finished(req, noted('request'));
    finished(res, noted('response'));
    req.pipe(res);
  },
  unpiped(req, res) {
    observe(req, res);
    req.pipe(res, { end: false });
    req.on('end', () => {
      req.unpipe(res);
      res.end('!');
    });
  },
};

/** What a handler is to do from inside of its request: as it begins, and once the client has left it. */
export const inside = { begin: () => {}, leave: () => {} };

/** Those that run as long as the client stays. @type {Handlers} */
export const HOLDS = {
  silent(req, res) {
    observe(req, res);
  },
  begun(req, res) {
    observe(req, res);
    res.write('begun');
  },
  reading(req, res) {
    observe(req, res);
    req.on('data', () => {});
  },
  iterating(req, res) {
    observe(req, res);
    (async () => {
      for await (const chunk of req) note(`got ${chunk.length > 0}`);
    })().catch(noted('iteration'));
  },
  piping(req, res) {
    observe(req, res);
    pipeline(req, shout(), res, noted('pipeline'));
  },
  waiting(req, res) {
    finished(req, noted('request'));
    finished(res, noted('response'));
  },
  answering(req, res) {
    // What is written once the client has left is lost, without an error.
    res.once('close', () => attempt('end', () => res.writeHead(200).end('nobody reads it', noted('end'))));
    req.once('close', () => note(`aborted ${req.aborted}`));
  },
  acting(_req, res) {
    res.once('close', () => inside.leave());
    inside.begin();
  },
};
