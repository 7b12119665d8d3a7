// By what a client is known that has no key.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import test from 'node:test';
import express from 'express';
import fastify from 'fastify';
import Koa from 'koa';
import {
  fastifyResilience,
  koaResilience,
  resilienceMiddleware,
  withResilience,
} from '@ylcnfrht/resilience/http';
import { send } from './support/http-client.mjs';
import { listen } from './support/http-server.mjs';

const { addressKey } = createRequire(import.meta.url)('../lib/http/client-address.js');

for (const [address, key] of [
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:192.0.2.1', '192.0.2.1'],
  ['::ffff:c000:201', '192.0.2.1'],
  ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2:FFFF::1', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8::1:0:0:1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['FE80::2%25', 'fe80:0:0:0::/64'],
  // What a NAT64 translates is the IPv4 address of a client.
  ['64:ff9b::192.0.2.1', '192.0.2.1'],
  ['64:FF9B::c000:201', '192.0.2.1'],
  ['64:ff9b::', '0.0.0.0'],
  ['64:ff9b::0.0.0.7', '0.0.0.7'],
  ['::ffff:0.0.0.0', '0.0.0.0'],
  // An IPv4 address inside of another prefix is not.
  ['64:ff9b:1::192.0.2.1', '64:ff9b:1:0::/64'],
  ['64:ff9b::1:192.0.2.1', '64:ff9b:0:0::/64'],
  ['2001:db8::192.0.2.1', '2001:db8:0:0::/64'],
  ['::192.0.2.1', '0:0:0:0::/64'],
  // With a port, as some proxies write it.
  ['192.0.2.1:567', '192.0.2.1'],
  ['192.0.2.1:65535', '192.0.2.1'],
  ['192.0.2.1:', '192.0.2.1'],
  ['192.0.2.1:_hidden', '192.0.2.1'],
  ['[192.0.2.1]', '192.0.2.1'],
  ['[192.0.2.1]:567', '192.0.2.1'],
  ['[2001:db8:1:2::9]', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::9]:567', '2001:db8:1:2::/64'],
  ['[2001:DB8:1:2::9%eth0]:567', '2001:db8:1:2::/64'],
  ['[::ffff:192.0.2.1]:567', '192.0.2.1'],
  ['::ffff:192.0.2.1:567', '192.0.2.1'],
  ['[::ffff:c000:201]:567', '192.0.2.1'],
  ['[64:ff9b::192.0.2.1]:567', '192.0.2.1'],
  ['64:ff9b::192.0.2.1%eth0', '192.0.2.1'],
  ['"[2001:db8:1:2::9]:567"', '2001:db8:1:2::/64'],
  ['"192.0.2.1:567"', '192.0.2.1'],
  [' 192.0.2.1:567 ', '192.0.2.1'],
  [' 2001:db8:1:2::9', '2001:db8:1:2::/64'],
  // Without brackets, what is behind the last colon is of the address.
  ['2001:db8:1:2::9:567', '2001:db8:1:2::/64'],
  ['192.0.2.999:567', '192.0.2.999:567'],
  ['[not:an:address]:1', '[not:an:address]:1'],
  ['unknown', 'unknown'],
  ['proxy.example:443', 'proxy.example:443'],
  ['unix:', 'unix:'],
  ['not:an:address', 'not:an:address'],
  ['', ''],
  [undefined, undefined],
]) {
  test(`${address} is known by ${key}`, () => assert.equal(addressKey(address), key));
}

const options = { rateLimit: { permitLimit: 1, window: '1h' } };

/** Servers that believe what a proxy says of the client's address. */
const behindProxy = {
  Express: () => {
    const resilience = resilienceMiddleware(options);
    const app = express().set('trust proxy', true);
    app.use(resilience, (_req, res) => res.send('served'));
    return [app, resilience];
  },
  Fastify: async () => {
    const app = fastify({ trustProxy: true });
    await app.register(fastifyResilience, options);
    app.get('/', async () => 'served');
    await app.ready();
    return [(req, res) => app.routing(req, res), app.resilience];
  },
  Koa: () => {
    const resilience = koaResilience(options);
    const app = new Koa({ proxy: true });
    app.use(resilience).use((ctx) => {
      ctx.body = 'served';
    });
    return [app.callback(), resilience];
  },
};

for (const [name, make] of Object.entries(behindProxy)) {
  test(`${name} says which address a client has behind a proxy`, async (t) => {
    const { port } = (await listen(t, ...(await make()))).address();
    const status = async (address) =>
      (await send(port, '/', { headers: { 'x-forwarded-for': address } }).response).status;
    assert.equal(await status('2001:db8::1'), 200);
    // A neighbour, in the same 64 bits.
    assert.equal(await status('2001:DB8::ffff'), 429);
    assert.equal(await status('2001:db8:0:1::1'), 200);
    assert.equal(await status('192.0.2.1'), 200);
    assert.equal(await status('::ffff:192.0.2.1'), 429);
    assert.equal(await status('192.0.2.2'), 200);
    // Each connection has a port of its own.
    assert.equal(await status('192.0.2.3:40001'), 200);
    assert.equal(await status('192.0.2.3:40002'), 429);
    assert.equal(await status('192.0.2.3'), 429);
    assert.equal(await status('[2001:db8:0:2::1]:40001'), 200);
    assert.equal(await status('[2001:db8:0:2::2]:40002'), 429);
    assert.equal(await status('64:ff9b::192.0.2.3'), 429);
  });
}

test('clients without an address have one quota together', async (t) => {
  const listener = withResilience((_req, res) => res.end('served'), options);
  const server = await listen(t, listener, listener);
  server.on('connection', (socket) => Object.defineProperty(socket, 'remoteAddress', { value: undefined }));
  const { port } = server.address();
  assert.equal((await send(port, '/').response).status, 200);
  assert.equal((await send(port, '/').response).status, 429);
});

test('the same client is known on IPv4 and on a socket that takes both', async (t) => {
  const listener = withResilience((_req, res) => res.end('served'), options);
  await listen(t, listener, listener);
  const both = createServer(listener);
  await new Promise((resolve) => both.listen(0, '::', resolve));
  t.after(() => both.close());
  assert.equal((await send(both.address().port, '/').response).status, 200);
  assert.equal((await send(both.address().port, '/').response).status, 429);
  assert.equal(listener.pipeline.getStrategy('RateLimiter').availableFor('127.0.0.1'), 0);
});
