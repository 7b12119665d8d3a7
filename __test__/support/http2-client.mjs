import { once } from 'node:events';
import { connect } from 'node:http2';

/** Sends a request over HTTP/2, and keeps it at hand: `{ request, response }`. */
export function sendHttp2(port, path, { method = 'GET', headers, body } = {}) {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  const request = session.request({ ':path': path, ':method': method, ...headers });
  const response = read(request).finally(() => session.destroy());
  // A test looks at a broken connection when it gets there.
  response.catch(() => {});
  if (typeof body === 'function') body(request);
  else request.end(body);
  request.on('error', () => {});
  return { request, response };
}

async function read(request) {
  const closed = new AbortController();
  request.once('close', () => closed.abort(new Error('closed')));
  const [{ ':status': status, ...headers }] = await once(request, 'response', { signal: closed.signal });
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return {
    status,
    headers,
    text,
    get json() {
      return JSON.parse(text);
    },
  };
}
