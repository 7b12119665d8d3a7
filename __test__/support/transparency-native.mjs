// Handlers of Node's own request and response, which each framework lets answer in its place.
import { AsyncLocalStorage } from 'node:async_hooks';
import { Readable, finished, pipeline } from 'node:stream';
import { HOLDS, POSTS } from './transparency-bodies.mjs';
import { attempt, noted, observe, shout } from './transparency-observe.mjs';
import { describe, note } from './transparency-recorder.mjs';

const store = new AsyncLocalStorage();

/** Two pieces, then a failure. */
const failing = () =>
  Readable.from(
    (async function* () {
      yield 'one';
      yield 'two';
      throw new Error('the source failed');
    })(),
  );

/** @type {Record<string, (req: any, res: any) => unknown>} */
export const GETS = {
  length(_req, res) {
    res.setHeader('Content-Length', 5);
    res.end('hello');
  },
  implicit: (_req, res) => res.end('hello'),
  chunked(_req, res) {
    res.write('one');
    res.write(Buffer.from('two'));
    res.end('three');
  },
  'no-content': (_req, res) => res.writeHead(204).end(),
  'not-modified': (_req, res) => res.writeHead(304, { ETag: '"a"' }).end(),
  'reset-content': (_req, res) => res.writeHead(205).end(),
  trailers(_req, res) {
    res.writeHead(200, { Trailer: 'X-Sum' });
    res.write('body');
    res.addTrailers({ 'X-Sum': '42' });
    res.end();
  },
  'early-hints'(_req, res) {
    attempt('hints', () =>
      res.writeEarlyHints({ link: '</a.css>; rel=preload' }, () => note('hints written')),
    );
    attempt('processing', () => res.writeProcessing());
    setImmediate(() => res.end('page'));
  },
  cookies(_req, res) {
    res.setHeader('Set-Cookie', ['a=1; Path=/', 'b=2']);
    attempt('append', () => res.appendHeader('X-Many', '1').appendHeader('X-Many', '2'));
    note(JSON.stringify(res.getHeaders()));
    res.removeHeader('X-None');
    res.end();
  },
  'raw-head'(_req, res) {
    attempt('head', () => res.writeHead(201, ['X-One', '1', 'X-Two', '2']));
    res.end('made');
  },
  'status-message': (_req, res) => res.writeHead(299, 'Quite Fine', { 'x-a': 'b' }).end('ok'),
  'status-set'(_req, res) {
    res.statusCode = 418;
    res.statusMessage = 'Short and Stout';
    res.end();
  },
  flushed(_req, res) {
    res.flushHeaders();
    setImmediate(() => res.end('later'));
  },
  'next-tick': (_req, res) => process.nextTick(() => res.end('tick')),
  promised: async (_req, res) => {
    await null;
    res.end('promised');
  },
  corked(_req, res) {
    res.cork?.();
    res.write('a');
    res.write('b');
    setImmediate(() => {
      res.uncork?.();
      res.end('c');
    });
  },
  callbacks(_req, res) {
    res.write('one', noted('written'));
    res.end('two', noted('ended'));
  },
  'ended-twice'(_req, res) {
    res.on('error', noted('error'));
    res.end('once', noted('first end'));
    attempt('second end', () => res.end(noted('second end')));
    attempt('third end', () => res.end('more', noted('third end')));
  },
  'written-late'(_req, res) {
    res.on('error', noted('error'));
    res.end('all');
    attempt('write', () => res.write('more', noted('late write')));
  },
  'headers-late'(_req, res) {
    res.writeHead(200, { 'x-a': '1' });
    attempt('set', () => res.setHeader('x-b', '2'));
    attempt('head', () => res.writeHead(500));
    attempt('remove', () => res.removeHeader('x-a'));
    res.end('sent');
  },
  invalid(_req, res) {
    attempt('name', () => res.setHeader('bad name', '1'));
    attempt('value', () => res.setHeader('x-a', 'a\nb'));
    attempt('none', () => res.setHeader('x-a', undefined));
    attempt('status', () => res.writeHead(99));
    attempt('chunk', () => res.write(42));
    attempt('null', () => res.write(null));
    res.end('valid');
  },
  'strict-length'(_req, res) {
    res.strictContentLength = true;
    res.setHeader('Content-Length', 3);
    attempt('end', () => res.end('longer'));
    res.destroy();
  },
  events(_req, res) {
    let count = 0;
    res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    const tell = () => {
      res.write(`data: ${(count += 1)}\n\n`);
      if (count === 3) res.end();
      else setImmediate(tell);
    };
    tell();
  },
  large(_req, res) {
    let left = 20;
    const write = () => {
      while (left > 0) {
        left -= 1;
        if (!res.write('x'.repeat(50_000))) return void res.once('drain', write);
      }
      res.end();
    };
    write();
  },
  observed(req, res) {
    observe(req, res);
    res.write('a');
    setImmediate(() => res.end('b'));
  },
  finished(req, res) {
    finished(req, noted('request'));
    finished(res, noted('response'));
    setImmediate(() => res.end('done'));
  },
  'piped-source': (_req, res) => Readable.from(['a', 'b', 'c']).pipe(res),
  'failing-pipe'(req, res) {
    observe(req, res);
    const source = failing();
    source.on('error', (error) => res.destroy(error));
    source.pipe(res);
  },
  'failing-pipeline'(req, res) {
    observe(req, res);
    pipeline(failing(), shout(), res, noted('pipeline'));
  },
  'failing-at-once'(req, res) {
    observe(req, res);
    pipeline(Readable.from([]).destroy(new Error('no source')), res, noted('pipeline'));
  },
  destroyed(req, res) {
    observe(req, res);
    res.destroy();
  },
  'destroyed-by-error'(req, res) {
    observe(req, res);
    res.write('begun');
    setImmediate(() => res.destroy(new Error('broken')));
  },
  'request-destroyed'(req, res) {
    observe(req, res);
    req.destroy();
  },
  'request-destroyed-by-error'(req, res) {
    observe(req, res);
    req.destroy(new Error('unwanted'));
  },
  'socket-destroyed'(req, res) {
    observe(req, res);
    (req.stream?.session ?? req.socket).destroy();
  },
  'destroyed-after-end'(req, res) {
    observe(req, res);
    res.end('done');
    setImmediate(() => res.destroy());
  },
  store(req, res) {
    store.run('mine', () => {
      for (const [name, subject] of Object.entries({ req, res })) {
        for (const event of ['end', 'prefinish', 'finish', 'close']) {
          subject.on(event, () => note(`store in ${name} ${event}: ${store.getStore()}`));
        }
      }
      res.write('stored', () => note(`store in write: ${store.getStore()}`));
      setImmediate(() => res.end());
    });
  },
  listeners(req, res) {
    const heard = [];
    res.on('newListener', (event) => heard.push(event));
    const listener = () => note('never');
    res.on('custom', listener).removeListener('custom', listener);
    res.once('custom', (value) => note(`custom ${value}`));
    note(`${res.emit('custom', 1)} ${res.emit('custom', 2)}`);
    for (const subject of [req, res]) {
      const counts = ['data', 'end', 'close', 'error', 'custom', 'drain'].map((each) =>
        subject.listenerCount(each),
      );
      note(`${counts}; ${subject.getMaxListeners()}`);
    }
    res.removeAllListeners('custom');
    note(`${heard}`);
    res.end();
  },
  throwing(_req, res) {
    res.on('custom', () => {
      throw new Error('a listener failed');
    });
    attempt('emit', () => res.emit('custom'));
    res.end();
  },
  seen(req, res) {
    note([req.method, req.url, req.httpVersion, req.complete, req.destroyed].join(' '));
    note(JSON.stringify([req.rawHeaders, req.headers, req.trailers]));
    note([res.headersSent, res.writableEnded, res.statusCode, res.writableLength, res.sendDate].join(' '));
    note(
      [res.writable, res.shouldKeepAlive, res.finished, res.req === req, res.socket === req.socket].join(' '),
    );
    res.end('seen');
  },
};

/** What a server says before it speaks another protocol. */
export const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

/** Sends back what comes, until the client has ended. */
export function echo(socket) {
  socket.on('data', (chunk) => socket.write(chunk));
  socket.on('end', () => socket.end());
  socket.on('error', () => {});
}

/** Those of HTTP/1 alone, which take the socket. */
export const SOCKET_GETS = {
  'taken-over'(req, res) {
    observe(req, res);
    req.socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi');
  },
  detached(req, res) {
    observe(req, res);
    const { socket } = req;
    res.detachSocket(socket);
    socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi');
  },
  upgrade(req, res) {
    const { socket } = req;
    res.detachSocket(socket);
    socket.write(SWITCH);
    echo(socket);
  },
  reset(req, res) {
    observe(req, res);
    req.socket.resetAndDestroy();
  },
};

const native = { get: { ...GETS, ...SOCKET_GETS }, post: POSTS, hold: HOLDS };

/**
 * Runs one of them. A failure is noted, as none of the frameworks would catch all of them.
 *
 * @param {any} req
 * @param {any} res
 */
export function runNative(req, res) {
  const [, , kind, name] = req.url.split(/[/?]/);
  note(`handler ${kind} ${name}`);
  const failed = (error) => {
    note(`handler failed: ${describe(error)}`);
    res.destroy();
  };
  try {
    Promise.resolve(native[kind][name](req, res)).catch(failed);
  } catch (error) {
    failed(error);
  }
}
