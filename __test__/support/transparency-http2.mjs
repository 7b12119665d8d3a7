// Exchanges over HTTP/2, and a client that keeps all that it hears of them.
import { connect, constants, createServer } from 'node:http2';
import { HOLDS, POSTS } from './transparency-bodies.mjs';
import { turn } from './http-server.mjs';
import { GETS } from './transparency-native.mjs';
import { describe, note, timesNoted } from './transparency-recorder.mjs';

/** An exchange that takes longer has got stuck. */
const LIMIT_MS = 5000;

export const http2 = {
  createServer: Object.assign((/** @type {any} */ listener) => createServer(listener), { isHttp2: true }),
  exchange,
};

/**
 * Runs a case in a session of its own; resolves with what came back.
 *
 * @param {number} port
 * @param {(client: Http2Client) => Promise<unknown>} script
 */
async function exchange(port, script) {
  const client = new Http2Client(port);
  const limit = setTimeout(() => {
    note('the client gave up');
    client.session.destroy();
  }, LIMIT_MS);
  try {
    await script(client);
    await client.end();
    return client.received.join('\n');
  } finally {
    clearTimeout(limit);
  }
}

class Http2Client {
  /** @type {string[]} */
  received = [];

  constructor(port) {
    this.session = connect(`http://127.0.0.1:${port}`);
    this.session.on('error', (error) => this.received.push(`session error ${describe(error)}`));
    this.session.on('goaway', (code) => this.received.push(`goaway ${code}`));
    this.closed = new Promise((resolve) => this.session.once('close', resolve));
  }

  /**
   * @param {string} path
   * @param {Record<string, any>} [headers]
   * @param {string} [body] Without one, the client has not ended its side.
   */
  request(path, headers = {}, body) {
    const stream = this.session.request(
      { ':path': path, ':authority': 'test', ...headers },
      { endStream: body === '' },
    );
    const name = `stream ${stream.id ?? path}`;
    const told = (what) => this.received.push(`${name} ${what}`);
    const heads = ({ date: _date, ...rest }) => JSON.stringify(Object.entries(rest));
    const chunks = [];
    stream.on('headers', (informational) => told(`informational ${heads(informational)}`));
    stream.on('response', (response) => told(`response ${heads(response)}`));
    stream.on('trailers', (trailers) => told(`trailers ${heads(trailers)}`));
    stream.on('data', (chunk) => chunks.push(chunk));
    stream.on('end', () => told(`end ${Buffer.concat(chunks).toString('latin1')}`));
    stream.on('aborted', () => told('aborted'));
    stream.on('error', (error) => told(describe(error)));
    const closed = new Promise((resolve) => stream.once('close', resolve));
    closed.then(() => told(`close ${stream.rstCode}`));
    if (body) stream.end(body);
    return { stream, closed };
  }

  /** Resolves once the application has noted `text`, or when the session has closed. */
  async noted(text) {
    while (!this.session.destroyed && timesNoted(text) === 0) await turn();
  }

  end() {
    if (!this.session.closed) this.session.close();
    return this.closed;
  }
}

const whole =
  (path, headers, body = '') =>
  async (/** @type {Http2Client} */ client) => {
    await client.request(path, headers, body).closed;
  };
const post = (path, body, headers) => whole(path, { ':method': 'POST', ...headers }, body);

const FRAMEWORK_GETS = [
  ...['/text', '/json', '/stream', '/redirect', '/cookies', '/repeated', '/empty', '/missing', '/response'],
  ...['/throws', '/rejects', '/http-error', '/no-stream', '/static/schema.json'],
];

export const frameworkCases = [
  ...FRAMEWORK_GETS.map((path) => [`GET ${path}`, whole(path)]),
  ['a range of a file', whole('/static/schema.json', { range: 'bytes=0-9' })],
  ['a text that has not changed', whole('/text', { 'if-none-match': '"hello"' })],
  ['JSON', post('/json', '{"a":1}', { 'content-type': 'application/json' })],
  ['bad JSON', post('/json', '{"a":', { 'content-type': 'application/json' })],
  ['a form', post('/form', 'a=1', { 'content-type': 'application/x-www-form-urlencoded' })],
  [
    'several requests at once',
    (client) =>
      Promise.all(['/text', '/missing', '/stream'].map((path) => client.request(path, {}, '').closed)),
  ],
];

/** Of these Node.js tells the client nothing: the stream stays open. */
const WITHOUT_END = ['request-destroyed', 'request-destroyed-by-error', 'leave-iteration'];
const namesOf = (handlers) => Object.keys(handlers).filter((name) => !WITHOUT_END.includes(name));

export const nativeCases = [
  ...namesOf(GETS).map((name) => [name, whole(`/native/get/${name}`)]),
  ...['length', 'chunked', 'trailers'].map((name) => [
    `HEAD ${name}`,
    whole(`/native/get/${name}`, { ':method': 'HEAD' }),
  ]),
  ...namesOf(POSTS).flatMap((name) => [
    [`body: ${name}`, post(`/native/post/${name}`, 'the body of this request')],
    [`no body: ${name}`, post(`/native/post/${name}`, '')],
    [`asked body: ${name}`, askedBody(`/native/post/${name}`)],
  ]),
];

/** A client that asks first whether it may send its body. */
function askedBody(path) {
  return async (/** @type {Http2Client} */ client) => {
    const { stream, closed } = client.request(path, { ':method': 'POST', expect: '100-continue' });
    stream.once('continue', () => {
      client.received.push('continue');
      stream.end('the body of this request');
    });
    await closed;
  };
}

/** How a client leaves. */
const LEAVE = {
  cancels: (_client, stream) => stream.close(constants.NGHTTP2_CANCEL),
  resets: (_client, stream) => stream.close(constants.NGHTTP2_NO_ERROR),
  'closes the session': (client) => client.session.destroy(),
};

export const abortCases = Object.entries(LEAVE).flatMap(([how, leave]) =>
  Object.keys(HOLDS).flatMap((name) =>
    ['', ' amid its body'].map((when) => [
      `${name}: the client ${how}${when}`,
      async (/** @type {Http2Client} */ client) => {
        const isAmid = when !== '';
        const method = isAmid ? 'POST' : 'GET';
        const { stream, closed } = client.request(
          `/native/hold/${name}`,
          { ':method': method },
          isAmid ? undefined : '',
        );
        await client.noted(`handler hold ${name}`);
        if (isAmid) {
          stream.write('some of it');
          if (name === 'reading') await client.noted('req.data');
        }
        leave(client, stream);
        await closed;
      },
    ]),
  ),
);
