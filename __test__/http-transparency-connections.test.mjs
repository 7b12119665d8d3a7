// Around requests: upgrades, and clients that leave the queue, are the same behind each adapter as without it.
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { until } from './support/http-server.mjs';
import { LEAVE, head } from './support/transparency-cases.mjs';
import { RawClient, http1 } from './support/transparency-client.mjs';
import { expressApps } from './support/transparency-express.mjs';
import { fastifyApps } from './support/transparency-fastify.mjs';
import { honoApps } from './support/transparency-hono.mjs';
import { koaApps } from './support/transparency-koa.mjs';
import { nodeApp } from './support/transparency-node.mjs';
import { recorded, timesNoted } from './support/transparency-recorder.mjs';
import { ignoredUpgradeCases, upgradeCases, withUpgrades } from './support/transparency-upgrades.mjs';
import { STRICTEST, compare, open } from './support/transparency-variants.mjs';

const apps = [...expressApps, ...fastifyApps, ...koaApps, ...honoApps, nodeApp];

describe('upgrades', () => {
  for (const app of apps) {
    compare(withUpgrades(app), upgradeCases, STRICTEST);
    compare(app, ignoredUpgradeCases, STRICTEST);
  }
});

describe('a client that leaves the queue', { timeout: 60_000 }, () => {
  const requests = {
    'without a body': head('/native/get/length'),
    'amid its body': `${head('/native/post/pipe', 'Content-Length: 1000\r\n', 'POST')}some of it`,
    'after its body': `${head('/native/post/pipe', 'Content-Length: 4\r\n', 'POST')}body`,
    'with another request behind': head('/native/get/length') + head('/native/get/length'),
  };
  const cases = Object.entries(LEAVE).flatMap(([how, leave]) =>
    Object.entries(requests).map(([when, text]) => ({ name: `${how} ${when}`, leave, text })),
  );
  const count = ({ text }) => text.split('HTTP/1.1').length - 1;

  /** What is to be seen of each request, whose client leaves as soon as `hasArrived` says that it waits. */
  async function leaveEach(port, hasArrived, isSettled) {
    const events = {};
    for (const each of cases) {
      const leave = async (client) => {
        client.write(each.text);
        await until(() => client.socket.closed || hasArrived(count(each)));
        each.leave(client);
      };
      const { log } = await recorded(() => http1.exchange(port, leave), isSettled);
      events[each.name] = log.filter((line) => /^(req|res)\d?\./.test(line) || /socket close/.test(line));
    }
    return events;
  }

  /** The events where nobody is in the way, and the handler does nothing. */
  async function expectedEvents() {
    const idle = { create: (_options, createServer) => ({ server: createServer(() => {}) }) };
    const { server, close } = await open(idle, undefined, http1);
    try {
      return await leaveEach(
        server.address().port,
        (count) => timesNoted('server.request') === count,
        () => true,
      );
    } finally {
      await close();
    }
  }

  let expected;
  before(async () => {
    expected = await expectedEvents();
  });

  const options = () => ({ timeout: '1m', concurrency: { permitLimit: 1, queueLimit: 9 } });
  for (const app of apps) {
    for (const [name, variant] of Object.entries({
      'the adapter': { inside: options },
      'protect()': { before: options },
    })) {
      test(`is one that nobody has answered: ${app.name}, ${name}`, async () => {
        const { server, resiliences, close } = await open(app, variant, http1);
        const limiter = resiliences[0].pipeline.getStrategy('ConcurrencyLimiter');
        const { port } = server.address();
        const holder = new RawClient(port);
        try {
          holder.write(head('/native/hold/waiting'));
          await until(() => limiter.inflight === 1);
          const events = await leaveEach(
            port,
            (count) => limiter.queued === count,
            () => limiter.queued === 0,
          );
          assert.deepEqual(events, expected);
        } finally {
          holder.destroy();
          await until(() => limiter.inflight === 0);
          await close();
        }
      });
    }
  }
});
