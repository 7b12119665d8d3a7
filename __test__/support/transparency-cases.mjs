// The exchanges that are compared: what a client writes to its socket, and when it leaves.
//
// A case is what it is called and either a text, after which the client waits for the server to close the
// connection, or a function of the client.
import { HOLDS, POSTS } from './transparency-bodies.mjs';
import { GETS, SOCKET_GETS } from './transparency-native.mjs';

const CLOSE = 'Connection: close\r\n';

export const head = (path, headers = '', method = 'GET', version = '1.1') =>
  `${method} ${path} HTTP/${version}\r\nHost: test\r\n${headers}\r\n`;
export const get = (path, headers = '') => head(path, CLOSE + headers);
const post = (path, body, headers = '') =>
  head(path, `Content-Length: ${body.length}\r\n${headers}`, 'POST') + body;
const chunked = (path, chunks, { trailers = '', headers = '' } = {}) =>
  head(path, `Transfer-Encoding: chunked\r\n${headers}`, 'POST') +
  `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n${trailers}\r\n`;
const json = (body) => post('/json', body, `${CLOSE}Content-Type: application/json\r\n`);

export const UNFINISHED = 'a body that its client does not finish';

/** Requests of what frameworks answer in their own ways. */
const FRAMEWORK_GETS = [
  '/text',
  '/json',
  '/buffer',
  '/file',
  '/no-file',
  '/download',
  '/static/schema.json',
  '/static/',
  '/static/none',
  '/static/../package.json',
  '/stream',
  '/redirect',
  '/cookies',
  '/repeated',
  '/format',
  '/empty',
  '/trailers',
  '/response',
  '/raw',
  '/signal',
  '/params/7?a=b&a=c',
  '/skips',
  '/missing',
  '/%',
  '/throws',
  '/rejects',
  '/fails',
  '/http-error',
  '/throws-after-end',
  '/no-stream',
];

/** @type {[string, string | ((client: any) => Promise<unknown>)][]} */
export const frameworkCases = [
  ...FRAMEWORK_GETS.map((path) => /** @type {[string, string]} */ ([`GET ${path}`, get(path)])),
  ...['/text', '/file', '/stream', '/missing', '/throws', '/static/schema.json'].map((path) => [
    `HEAD ${path}`,
    head(path, CLOSE, 'HEAD'),
  ]),
  ...['/file', '/static/schema.json'].flatMap((path) => [
    [`the first bytes of ${path}`, get(path, 'Range: bytes=0-9\r\n')],
    [`the last bytes of ${path}`, get(path, 'Range: bytes=-5\r\n')],
    [`two ranges of ${path}`, get(path, 'Range: bytes=0-1,4-5\r\n')],
    [`no such range of ${path}`, get(path, 'Range: bytes=999999-\r\n')],
    [`a range of another ${path}`, get(path, 'Range: bytes=0-9\r\nIf-Range: "other"\r\n')],
    [`${path} unless modified`, get(path, 'If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\n')],
    [`${path} only if modified`, get(path, 'If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT\r\n')],
    [`any ${path}`, get(path, 'If-None-Match: *\r\n')],
    [`another ${path}`, get(path, 'If-Match: "other"\r\n')],
  ]),
  [
    'a text that has not changed',
    get('/text', 'If-None-Match: W/"5-qvTGHdzF6KLavt4PO0gs2a6pQ00", "hello"\r\n'),
  ],
  ['OPTIONS', head('/text', CLOSE, 'OPTIONS')],
  ['OPTIONS *', head('*', CLOSE, 'OPTIONS')],
  ['a method that no route has', head('/text', CLOSE, 'DELETE')],
  ['JSON', json('{"a":[1,2]}')],
  ['bad JSON', json('{"a":')],
  ['JSON that is too long', json(`"${'x'.repeat(2000)}"`)],
  ['text', post('/text', 'hello', `${CLOSE}Content-Type: text/plain\r\n`)],
  ['a form', post('/form', 'a=1&b=2', `${CLOSE}Content-Type: application/x-www-form-urlencoded\r\n`)],
  ['a type that none parses', post('/json', 'a', `${CLOSE}Content-Type: image/png\r\n`)],
  // Not every framework cuts the response off.
  ...Object.entries({ '/throws-late': 'thrown late', '/failing-stream': 'the stream failed' }).map(
    ([path, error]) => [
      `GET ${path}`,
      async (client) => {
        client.write(get(path));
        await client.receive('begun');
        await client.noted(error);
        client.socket.end();
      },
    ],
  ),
  [
    UNFINISHED,
    async (client) => {
      client.write(
        post('/json', '"x"', 'Content-Type: application/json\r\n').replace('Length: 3', 'Length: 30'),
      );
      await client.noted('server.request');
      client.destroy();
    },
  ],
  [
    'several requests on one connection',
    async (client) => {
      for (const path of ['/text', '/missing', '/http-error', '/stream']) {
        const before = client.answers;
        client.write(head(path));
        await client.until(() => client.answers > before && client.isComplete());
      }
      client.write(get('/json'));
      await client.closed;
    },
  ],
  ['pipelined requests', `${head('/text')}${head('/missing')}${head('/stream')}${get('/json')}`],
  ['a request of HTTP/1.0', head('/text', '', 'GET', '1.0')],
  ['a stream by HTTP/1.0', head('/stream', '', 'GET', '1.0')],
];

const BODY = 'the body of this request';

export const nativeCases = [
  ...Object.keys({ ...GETS, ...SOCKET_GETS })
    .filter((name) => name !== 'upgrade')
    .map((name) => [name, get(`/native/get/${name}`)]),
  ...['length', 'chunked', 'trailers', 'cookies', 'corked', 'large', 'failing-pipeline'].map((name) => [
    `HEAD ${name}`,
    head(`/native/get/${name}`, CLOSE, 'HEAD'),
  ]),
  ...['chunked', 'trailers', 'flushed', 'early-hints'].map((name) => [
    `${name} by HTTP/1.0`,
    head(`/native/get/${name}`, '', 'GET', '1.0'),
  ]),
  ...Object.keys(POSTS).flatMap((name) => [
    [`body: ${name}`, post(`/native/post/${name}`, BODY, CLOSE)],
    [
      `chunked body: ${name}`,
      chunked(`/native/post/${name}`, ['one', 'two'], { headers: CLOSE, trailers: 'X-Sum: 1\r\n' }),
    ],
    [`asked body: ${name}`, askedBody(`/native/post/${name}`)],
    [`no body: ${name}`, post(`/native/post/${name}`, '', CLOSE)],
  ]),
  ['a large body', post('/native/post/listeners', 'x'.repeat(300_000), CLOSE)],
  ['a large body that nobody reads', post('/native/post/unread', 'x'.repeat(30_000), CLOSE)],
  ['an unknown expectation', get('/native/get/length', 'Expect: something\r\n')],
  [
    'pipelined',
    ['length', 'flushed', 'promised', 'chunked', 'observed']
      .map((name) => head(`/native/get/${name}`))
      .join('') +
      post('/native/post/pipe', BODY) +
      post('/native/post/unread', BODY) +
      get('/native/get/finished'),
  ],
  ['pipelined behind a failure', `${head('/native/get/failing-pipeline')}${get('/native/get/observed')}`],
  ['pipelined behind a held one', pipelinedBehindHeld],
  ['kept alive', keptAlive],
  ['a request that is none', 'NONSENSE\r\n\r\n'],
  ['a request after nonsense', `${head('/native/get/length')}NONSENSE\r\n\r\n`],
  ['a bad chunk', `${head('/native/post/listeners', 'Transfer-Encoding: chunked\r\n', 'POST')}zz\r\n`],
  ['a header too large', get('/native/get/length', `X-Long: ${'x'.repeat(20_000)}\r\n`)],
  ['no host', `GET /native/get/length HTTP/1.1\r\n\r\n`],
  ['CONNECT', head('test:80', '', 'CONNECT')],
];

/** A client that asks first whether it may send its body. */
function askedBody(path) {
  return async (client) => {
    client.write(head(path, `${CLOSE}Expect: 100-continue\r\nContent-Length: ${BODY.length}\r\n`, 'POST'));
    await client.receive('100 Continue\r\n\r\n');
    if (/unread|refused/.test(path)) {
      // One that does not want it has answered before it comes.
      await client.until(() => client.answers === 2 && client.isComplete());
      client.socket.end();
    } else {
      client.write(BODY);
    }
    await client.closed;
  };
}

async function pipelinedBehindHeld(client) {
  client.write(head('/native/hold/silent') + head('/native/get/observed') + head('/native/get/implicit'));
  await client.noted('handler get implicit');
  client.destroy();
}

async function keptAlive(client) {
  for (const name of ['length', 'no-content', 'trailers', 'cookies', 'corked']) {
    const before = client.answers;
    client.write(head(`/native/get/${name}`));
    await client.until(() => client.answers > before && client.isComplete());
  }
  client.write(post('/native/post/pipe', BODY));
  await client.receive(BODY);
  client.write(get('/native/get/observed'));
  await client.closed;
}

/** How a client leaves. */
export const LEAVE = {
  closes: (client) => client.destroy(),
  resets: (client) => client.socket.resetAndDestroy(),
  'closes its side': (client) => client.socket.end(),
};

/** Clients that leave while their request runs, or in the middle of its body. */
export const abortCases = Object.entries(LEAVE).flatMap(([how, leave]) =>
  Object.keys(HOLDS).flatMap((name) => [
    [
      `${name}: the client ${how}`,
      async (client) => {
        client.write(head(`/native/hold/${name}`));
        await client.noted(`handler hold ${name}`);
        if (name === 'begun') await client.receive('begun');
        leave(client);
        await client.closed;
      },
    ],
    [
      `${name}: the client ${how} amid its body`,
      async (client) => {
        client.write(head(`/native/hold/${name}`, 'Content-Length: 1000\r\n', 'POST'));
        await client.noted(`handler hold ${name}`);
        client.write('some of it');
        if (name === 'reading') await client.noted('req.data');
        leave(client);
        await client.closed;
      },
    ],
  ]),
);
