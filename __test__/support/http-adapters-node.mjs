import { createServer as createHttp2Server } from 'node:http2';
import { text } from 'node:stream/consumers';
import { withResilience } from '@ylcnfrht/resilience/http';
import { router } from './http-router.mjs';

const plainAdapter = (name, createServer) => ({
  name,
  createServer,
  requestOf: (subject) => subject,
  lateFailureWrites: 1,
  // There is no framework to do so.
  catchesErrors: false,
  create({ options, routes = {}, answers = {}, before = [], after = [], also = [], onError }) {
    const find = router(routes);
    const findNative = router(answers);
    const handle = (req, res) => {
      const answer = findNative(req);
      if (answer !== undefined) return answerBy(answer, req, res, onError);
      const handler = find(req) ?? notFound;
      return new Promise((_resolve, reject) => {
        handler(req, res, (error) => (error === undefined ? notFound(req, res) : reject(error)));
      });
    };
    const others = [];
    const inner = also.reduceRight((listener, each) => {
      others.unshift(withResilience(listener, each));
      return others[0];
    }, chain(after, handle));
    const resilience = withResilience(inner, options);
    return { listener: chain(before, resilience), resilience, others };
  },
});

/** A listener behind middlewares. */
const chain = (middlewares, listener) =>
  middlewares.reduceRight(
    (inner, middleware) => (req, res) => middleware(req, res, () => inner(req, res)),
    listener,
  );

const notFound = (_req, res) => res.writeHead(404).end();

function answerBy(answer, req, res, onError) {
  const answered = answer({ req, res, subject: req, body: () => text(req) });
  if (typeof answered?.then !== 'function') return void send(res, answered);
  const sent = answered.then((value) => send(res, value));
  return onError === undefined ? sent : sent.catch((error) => send(res, onError(error)));
}

function send(res, { status = 200, headers = {}, text, json, stream }) {
  res.statusCode = status;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  if (json !== undefined) res.setHeader('content-type', 'application/json');
  if (stream === undefined) res.end(json === undefined ? text : JSON.stringify(json));
  else stream.pipe(res);
}

export const nodeAdapter = plainAdapter('node:http');
export const http2Adapter = plainAdapter('node:http2', createHttp2Server);
