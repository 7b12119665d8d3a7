import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import test from 'node:test';
import {
  BrokenCircuitError,
  BulkheadRejectedError,
  ExecutionRejectedError,
  TimeoutRejectedError,
  defaultShouldDrop,
  isTransient,
} from '@ylcnfrht/resilience';

const success = (result) => ({ outcome: { ok: true, result } });
const failure = (error) => ({ outcome: { ok: false, error } });
const withFields = (fields, cause) => Object.assign(new Error('x', cause && { cause }), fields);

/** Where clients put a status. */
const PLACES = {
  'error.status, as http-errors, superagent and Octokit': (status) => withFields({ status }),
  'error.statusCode, as undici and Stripe': (status) => withFields({ statusCode: status }),
  'error.response.status, as axios and ky': (status) => withFields({ response: { status }, code: 'ERR_BAD_REQUEST' }),
  'error.response.statusCode, as got': (status) => withFields({ response: { statusCode: status } }),
  'error.$metadata, as the AWS SDK': (status) => withFields({ $metadata: { httpStatusCode: status } }),
  'a numeric code beside errors, as googleapis': (status) => withFields({ code: status, errors: [] }),
  'a thrown Response': (status) => new Response('', { status }),
  'a wrapper of one': (status) => withFields({}, withFields({ response: { statusCode: status } })),
};

for (const [place, make] of Object.entries(PLACES)) {
  test(`the status of an error is read from ${place}`, () => {
    for (const status of [400, 401, 403, 404, 409, 410, 422, 428, 451, 499]) {
      assert.equal(isTransient(failure(make(status))), false, `${status}`);
      assert.equal(defaultShouldDrop(failure(make(status))), false, `${status}`);
    }
    for (const status of [408, 425, 429, 500, 502, 503, 504, 599]) {
      assert.equal(isTransient(failure(make(status))), true, `${status}`);
      const drops = status === 408 || status >= 500;
      assert.equal(defaultShouldDrop(failure(make(status))), drops, `${status}`);
    }
  });
}

test('a response that was fine and broke off is judged by its error, and so is one without a status', () => {
  for (const status of [0, 200, 206, null, '404']) {
    const error = withFields({ code: 'ECONNRESET', status, response: { statusCode: status } });
    assert.equal(isTransient(failure(error)), true);
    assert.equal(isTransient(failure(withFields({ code: 'ERR_BODY_PARSE_FAILURE', status }))), false);
  }
});

test('gRPC: what was unavailable, exhausted, late or broken inside may be tried again', () => {
  const transient = [];
  const drops = [];
  for (let code = 1; code <= 16; code += 1) {
    const error = withFields({ code, details: '', metadata: {} });
    if (isTransient(failure(error))) transient.push(code);
    if (defaultShouldDrop(failure(error))) drops.push(code);
    assert.equal(isTransient(failure(withFields({ code }))), false);
  }
  assert.deepEqual([transient, drops], [[4, 8, 13, 14], [4, 13, 14]]);
});

/** By whether they are transient, and whether a drop. */
const CODES = [
  [true, true, 'ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT EAI_AGAIN'],
  [true, true, 'UND_ERR_SOCKET UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT UND_ERR_INFO'],
  [true, true, 'ConnectionRefused ConnectionReset ConnectionClosed'],
  [true, false, 'ENOTFOUND ENETUNREACH EHOSTUNREACH ENETDOWN EHOSTDOWN EADDRNOTAVAIL ESOCKETTIMEDOUT'],
  [true, false, 'ERR_STREAM_PREMATURE_CLOSE ERR_HTTP2_GOAWAY_SESSION FailedToOpenSocket'],
  [true, false, '08006 08000 53300 57P01 57P03 40001 40P01 PROTOCOL_CONNECTION_LOST'],
  [false, false, '42601 42P01 42703 23505 22P02 28P01 40002 57014 ER_PARSE_ERROR ER_DUP_ENTRY'],
  [false, false, 'CERT_HAS_EXPIRED DEPTH_ZERO_SELF_SIGNED_CERT UNABLE_TO_VERIFY_LEAF_SIGNATURE EPROTO'],
  [false, false, 'ERR_TLS_CERT_ALTNAME_INVALID ERR_SSL_WRONG_VERSION_NUMBER ERR_INVALID_PROTOCOL ERR_INVALID_URL'],
  [false, false, 'ERR_INVALID_ARG_TYPE UND_ERR_INVALID_ARG UND_ERR_ABORTED UND_ERR_CLOSED HPE_INVALID_CONSTANT ENOENT'],
  [false, false, 'XECONNRESET EPIPE_LATER 8006 080066 ERR_CANCELED ERR_BAD_REQUEST'],
];
for (const [transient, drop, codes] of CODES) {
  test(`${transient ? '' : 'not '}transient, and ${drop ? 'a' : 'no'} drop: ${codes}`, () => {
    for (const code of codes.split(' ')) {
      const forms = [
        withFields({ code }),
        withFields({}, withFields({}, withFields({ code }))),
        new TypeError('fetch failed', { cause: withFields({ code }) }),
        new AggregateError([withFields({}), withFields({ code })]),
      ];
      for (const error of forms) {
        assert.equal(isTransient(failure(error)), transient, code);
        assert.equal(defaultShouldDrop(failure(error)), drop, code);
      }
    }
  });
}

test('SQLSTATE is read from sqlState, too, as MySQL clients have it', () => {
  assert.equal(isTransient(failure(withFields({ code: 'ER_LOCK_DEADLOCK', sqlState: '40001' }))), true);
  assert.equal(isTransient(failure(withFields({ code: 'ER_CON_COUNT_ERROR', sqlState: '08004' }))), true);
  assert.equal(isTransient(failure(withFields({ code: 'ER_PARSE_ERROR', sqlState: '42000' }))), false);
});

test('what is unknown, an abort, and programming errors are not transient', () => {
  const errors = [
    new Error('boom'),
    new TypeError('x is not a function'),
    new TypeError('fetch failed'),
    new TypeError('fetch failed', { cause: new Error('unknown scheme') }),
    new RangeError('out of range'),
    new SyntaxError('Unexpected token'),
    new ReferenceError('x is not defined'),
    new DOMException('left', 'AbortError'),
    withFields({ name: 'AbortError', code: 'UND_ERR_ABORTED' }, withFields({ code: 'ECONNRESET' })),
    withFields({ name: 'CanceledError', code: 'ERR_CANCELED' }),
    withFields({ status: 404 }, withFields({ code: 'ECONNRESET' })),
    ...[undefined, null, 'ECONNRESET', 503, Symbol('x'), () => {}, {}],
  ];
  for (const error of errors) assert.equal(isTransient(failure(error)), false);
});

test('of the rejections of a pipeline only a timeout is transient, and so is the TimeoutError of others', () => {
  const bulkhead = new BulkheadRejectedError('full', { active: 1, queued: 0 });
  for (const error of [new TimeoutRejectedError(5), new DOMException('late', 'TimeoutError')]) {
    assert.equal(isTransient(failure(error)), true);
    assert.equal(isTransient(failure(withFields({}, error))), true);
  }
  for (const error of [bulkhead, new ExecutionRejectedError('no'), new BrokenCircuitError()]) {
    assert.equal(isTransient(failure(error)), false);
    assert.equal(isTransient(failure(withFields({}, error))), false);
  }
});

test("Deno's fetch speaks by its messages", () => {
  const sending = 'error sending request for url (http://127.0.0.1:9/)';
  for (const message of [
    `${sending}: client error (Connect): tcp connect error: Connection refused (os error 111)`,
    `${sending}: client error (Connect): dns error: failed to lookup address information`,
    'error sending request from 127.0.0.1:4 for http://x/: client error (SendRequest): ' +
      'connection closed before message',
    'Connection reset by peer (os error 104)',
    'error reading a body from connection',
  ]) {
    assert.equal(isTransient(failure(new TypeError('fetch failed', { cause: new Error(message) }))), true, message);
    assert.equal(isTransient(failure(new TypeError(message))), true, message);
  }
  for (const message of [
    `${sending}: client error (Connect): invalid peer certificate: UnknownIssuer`,
    `${sending}: client error (Connect): received corrupt message of type InvalidContentType`,
    "Url scheme 'ftp' not supported",
    "Invalid URL: 'nonsense'",
    'No such file or directory (os error 2)',
  ]) {
    assert.equal(isTransient(failure(new TypeError(message))), false, message);
  }
  assert.equal(isTransient(failure(withFields({ name: 'ConnectionRefused' }))), true);
});

test('node-fetch names a timeout by its type', () => {
  assert.equal(isTransient(failure(withFields({ name: 'FetchError', type: 'request-timeout' }))), true);
  assert.equal(isTransient(failure(withFields({ name: 'FetchError', type: 'max-redirect' }))), false);
});

test('one transient part of an AggregateError is enough; its own code and its cause come first', () => {
  const refused = withFields({ code: 'ECONNREFUSED' });
  const happyEyeballs = Object.assign(new AggregateError([refused, refused]), { code: 'ECONNREFUSED' });
  assert.equal(isTransient(failure(happyEyeballs)), true);
  assert.equal(isTransient(failure(new TypeError('fetch failed', { cause: happyEyeballs }))), true);
  assert.equal(isTransient(failure(new AggregateError([withFields({ status: 404 }), refused]))), true);
  assert.equal(isTransient(failure(new AggregateError([withFields({ status: 404 })]))), false);
  assert.equal(isTransient(failure(Object.assign(new AggregateError([refused]), { status: 404 }))), false);
});

test('causes and parts that go round have an end, and what stands beside them is seen', () => {
  const refused = withFields({ code: 'ECONNREFUSED' });
  const round = withFields({});
  round.cause = withFields({}, round);
  round.errors = [round, round.cause, refused];
  assert.equal(isTransient(failure(round)), true);
  round.errors.pop();
  assert.equal(isTransient(failure(round)), false);
  let deep = refused;
  for (let depth = 0; depth < 100_000; depth += 1) deep = { cause: deep };
  assert.equal(isTransient(failure(deep)), false);
  assert.equal(isTransient(failure(new AggregateError(Array(1_000_000).fill(round)))), false);
});

test('getters that throw and revoked proxies are no errors of ours', () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const hostile = new Proxy({}, {
    get: () => {
      throw new Error('hostile');
    },
  });
  const answers = new Proxy(() => {}, { get: () => hostile });
  const throwing = {
    get status() {
      throw new Error('hostile');
    },
    get errors() {
      throw new Error('hostile');
    },
    code: 'ECONNRESET',
  };
  assert.equal(isTransient(failure(throwing)), true);
  assert.equal(defaultShouldDrop(failure(throwing)), true);
  for (const value of [proxy, hostile, answers]) {
    for (const error of [value, { cause: value }, { errors: value }, { response: value }, { $metadata: value }]) {
      assert.equal(isTransient(failure(error)), false);
      assert.equal(defaultShouldDrop(failure(error)), false);
    }
    assert.equal(isTransient(success(value)), false);
  }
});

test('a result is transient by its status or statusCode', () => {
  for (const status of [408, 425, 429, 500, 503, 599]) {
    assert.equal(isTransient(success({ status })), true);
    assert.equal(isTransient(success({ statusCode: status })), true);
    assert.equal(isTransient(success(new Response('', { status }))), true);
  }
  for (const status of [200, 301, 400, 404, 428, 499, NaN, '503', undefined, null]) {
    assert.equal(isTransient(success({ status })), false);
    assert.equal(isTransient(success({ statusCode: status })), false);
  }
  for (const result of [undefined, null, 503, 'text', {}]) assert.equal(isTransient(success(result)), false);
});

test('the fetch of this runtime: a broken connection is transient, what no repetition cures is not', async (t) => {
  const cut = net.createServer((socket) => socket.once('data', () => socket.destroy()));
  t.after(() => cut.close());
  await once(cut.listen(0), 'listening');
  const verdict = async (url) => {
    const error = await fetch(url).then(() => assert.fail(`${url} must fail`), (reason) => reason);
    return isTransient(failure(error));
  };
  assert.equal(await verdict(`http://localhost:${cut.address().port}`), true);
  for (const url of ['nonsense', 'ftp://localhost/', 'http://user:secret@localhost/', 'http://localhost:1/']) {
    assert.equal(await verdict(url), false, url);
  }
});
