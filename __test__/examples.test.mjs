// The examples, as their readers run them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../examples', import.meta.url));
const examples = readdirSync(folder).filter((name) => name.endsWith('.mjs'));

/** Starts an example in a Node.js of its own, and waits for the URL that it prints. */
async function start(t, name) {
  const child = spawn(process.execPath, [`${folder}/${name}`], {
    env: { ...process.env, PORT: '0', LIMIT: '2' },
  });
  t.after(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const stderr = text(child.stderr);
  const [url] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    exited.then(async () => assert.fail(await stderr)),
  ]);
  return { child, exited, stderr, url };
}

for (const name of examples) {
  test(`${name} serves, refuses what is too much, and ends at SIGTERM`, { timeout: 60_000 }, async (t) => {
    const { child, exited, stderr, url } = await start(t, name);
    assert.match(url, /^http:\/\/localhost:\d+$/);
    const get = async (path) => {
      const response = await fetch(`${url}${path}`, { headers: { connection: 'close' } });
      return { status: response.status, headers: response.headers, body: await response.text() };
    };

    const hello = await get('/');
    assert.equal(hello.status, 200);
    assert.match(hello.body, /^(hello$|done, with)/);
    assert.equal(hello.headers.get('ratelimit-limit'), '600');
    const health = await get('/healthz');
    assert.deepEqual([health.status, health.body, health.headers.get('ratelimit-limit')], [200, 'ok', null]);

    // Twice the load that it takes, and a health check, which waits for nothing.
    const load = ['/slow', '/slow', '/slow', '/slow', '/healthz'].map(get);
    const statuses = (await Promise.all(load)).map(({ status }) => status);
    assert.deepEqual(statuses.slice(0, 4).sort(), [200, 200, 503, 503]);
    assert.equal(statuses[4], 200);

    if (name === 'outbound-fetch.mjs') {
      const [, left] = /^done, with (\d+) ms left$/.exec((await get('/slow')).body);
      assert.ok(left > 0 && left <= 2000, `${left} ms left`);
    }

    const running = get('/slow');
    // It has come before the signal: the server takes connections in their order.
    await get('/healthz');
    child.kill('SIGTERM');
    const { status, body } = await running;
    assert.equal(status, 200);
    assert.match(body, /^done/);
    assert.deepEqual(await exited, [0, null]);
    assert.equal(await stderr, '');
  });
}

test('README.md names every example, and each is short', () => {
  const readme = readFileSync(`${folder}/README.md`, 'utf8');
  const named = [...readme.matchAll(/`node examples\/(\S+)`/g)].map(([, name]) => name);
  assert.deepEqual(named.sort(), [...examples].sort());
  for (const name of examples) {
    assert.ok(readFileSync(`${folder}/${name}`, 'utf8').split('\n').length < 60, name);
  }
});
