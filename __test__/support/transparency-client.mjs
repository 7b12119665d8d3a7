// A client that writes to its socket whatever a case wants, and keeps every byte that it receives.
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { turn } from './http-server.mjs';
import { note, timesNoted } from './transparency-recorder.mjs';

/** An exchange that takes longer has got stuck. */
const LIMIT_MS = 5000;

/**
 * Runs a case on a connection of its own; resolves with what came back.
 *
 * @param {number} port
 * @param {string | ((client: RawClient) => Promise<unknown>)} script
 */
async function exchange(port, script) {
  const client = new RawClient(port);
  const limit = setTimeout(() => {
    note('the client gave up');
    client.destroy();
  }, LIMIT_MS);
  try {
    if (typeof script === 'string') client.write(script);
    else await script(client);
    await client.closed;
    return comparable(client.received);
  } finally {
    clearTimeout(limit);
    client.destroy();
  }
}

export const http1 = { createServer, exchange };

/** Without what depends on the time. */
const comparable = (text) => text.replace(/^Date: .*$/gim, 'Date: now');

export class RawClient {
  received = '';
  #waiting = new Set();

  constructor(port) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.socket.setEncoding('latin1');
    this.socket.on('error', () => {});
    this.socket.on('data', (chunk) => {
      this.received += chunk;
      for (const look of [...this.#waiting]) look();
    });
    this.closed = new Promise((resolve) => this.socket.once('close', resolve));
    this.closed.then(() => {
      for (const look of [...this.#waiting]) look();
    });
  }

  write(text) {
    this.socket.write(text, 'latin1');
  }

  destroy() {
    this.socket.destroy();
  }

  /** How many answers have begun. */
  get answers() {
    return this.received.split('HTTP/1.1 ').length - 1;
  }

  /** Whether the last answer has come to its end. */
  isComplete() {
    const answer = this.received.slice(this.received.lastIndexOf('HTTP/1.1 '));
    const end = answer.indexOf('\r\n\r\n');
    if (end === -1) return false;
    const [headers, body] = [answer.slice(0, end).toLowerCase(), answer.slice(end + 4)];
    if (headers.includes('transfer-encoding: chunked')) return /(^|\r\n)0\r\n([^\r]+\r\n)*\r\n$/.test(body);
    return body.length >= Number(/content-length: (\d+)/.exec(headers)?.[1] ?? 0);
  }

  receive(text) {
    return this.until(() => this.received.includes(text));
  }

  /** Resolves once the application has noted `text`, or when the connection closes. */
  async noted(text) {
    while (!this.socket.closed && timesNoted(text) === 0) await turn();
  }

  /** Resolves as soon as `condition()` holds, looked at whenever something comes, or when the connection closes. */
  until(condition) {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition() && !this.socket.closed) return;
        this.#waiting.delete(look);
        resolve(undefined);
      };
      this.#waiting.add(look);
      look();
    });
  }
}
