// Clients: one that speaks HTTP, and one that writes to its socket whatever a test wants.
import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';

/** An agent with one connection, which it keeps. */
export const oneConnection = () => new Agent({ keepAlive: true, maxSockets: 1 });

/** Sends a request, and keeps it at hand: `{ request, response }`; over `socket`, if that is given. */
export function send(port, path, { method = 'GET', headers, body, agent = false, socket } = {}) {
  const over = socket === undefined ? { agent } : { createConnection: () => socket };
  const request = httpRequest({ host: '127.0.0.1', port, path, method, headers, ...over });
  const response = new Promise((resolve, reject) => {
    request.on('response', resolve);
    request.on('error', reject);
  }).then(read);
  // A test looks at a broken connection when it gets there.
  response.catch(() => {});
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) request.end(body);
  else body(request);
  return { request, response };
}

async function read(response) {
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  return {
    status: response.statusCode,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text);
    },
  };
}

/** A raw connection that collects what it receives. */
export async function rawConnection(port) {
  const socket = connect(port, '127.0.0.1');
  socket.setEncoding('latin1');
  let received = '';
  const waiting = [];
  const check = () => {
    for (const each of [...waiting]) each();
  };
  socket.on('data', (chunk) => {
    received += chunk;
    check();
  });
  socket.on('error', () => {});
  socket.on('close', check);
  await once(socket, 'connect');
  return {
    socket,
    get received() {
      return received;
    },
    get(path, headers = '') {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: test\r\n${headers}\r\n`);
    },
    /** Resolves once `text` has arrived `count` times; rejects if the connection closes first. */
    receive(text, count = 1) {
      return new Promise((resolve, reject) => {
        const look = () => {
          const found = received.split(text).length > count;
          if (!found && !socket.closed) return;
          waiting.splice(waiting.indexOf(look), 1);
          if (found) resolve(received);
          else reject(new Error(`closed before '${text}' came ${count} times: ${received}`));
        };
        waiting.push(look);
        look();
      });
    },
  };
}
