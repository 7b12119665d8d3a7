// A server that is made inside of a request whose client has left answers as any other.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inside } from './support/transparency-bodies.mjs';
import { get, head } from './support/transparency-cases.mjs';
import { RawClient, http1 } from './support/transparency-client.mjs';
import { expressApps } from './support/transparency-express.mjs';
import { fastifyApps } from './support/transparency-fastify.mjs';
import { honoApps } from './support/transparency-hono.mjs';
import { koaApps } from './support/transparency-koa.mjs';
import { nodeApp } from './support/transparency-node.mjs';
import { VARIANTS, open } from './support/transparency-variants.mjs';

/** Answers of servers, each of which is made by the handler of an aborted request to the one before. */
async function generations(app, variant, left) {
  const { server, close } = await open(app, variant, http1);
  const { port } = server.address();
  const answers = [];
  try {
    for (let request = 0; request < 2; request += 1) {
      answers.push(await http1.exchange(port, get('/native/get/length')));
    }
    if (left > 0) {
      const later = await new Promise((resolve, reject) => {
        const client = new RawClient(port);
        client.socket.once('data', (answer) =>
          reject(new Error(`answered in its handler's place: ${answer}`)),
        );
        inside.begin = () => client.destroy();
        inside.leave = () => generations(app, variant, left - 1).then(resolve, reject);
        client.write(head('/native/hold/acting'));
      });
      answers.push(...later);
    }
  } finally {
    await close();
  }
  return answers;
}

for (const app of [...expressApps, ...fastifyApps, ...koaApps, ...honoApps, nodeApp]) {
  test(`a server made inside of an aborted request answers as any other: ${app.name}`, async () => {
    const expected = await generations(app, undefined, 2);
    for (const [name, variant] of Object.entries(VARIANTS)) {
      assert.deepEqual(await generations(app, variant, 2), expected, name);
    }
  });
}
