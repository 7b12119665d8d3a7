// Starts the server that was built, and asks it once.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';

const next = createRequire(import.meta.url)('next');
const app = next({ dev: false, dir: import.meta.dirname ?? process.cwd() });
await app.prepare();
const server = createServer(app.getRequestHandler()).listen(0, '127.0.0.1');
server.once('listening', async () => {
  const response = await fetch(`http://127.0.0.1:${server.address().port}/api/hello`);
  assert.deepEqual([response.status, await response.text()], [200, 'hello']);
  process.exit();
});
