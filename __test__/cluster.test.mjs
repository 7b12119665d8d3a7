// Four processes behind one port: each has its own permits, and its death costs no other process anything.
import assert from 'node:assert/strict';
import cluster from 'node:cluster';
import { once } from 'node:events';
import http from 'node:http';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const PROCESSES = 4;
const PERMITS = 2;

cluster.setupPrimary({ exec: fileURLToPath(new URL('support/cluster-member.mjs', import.meta.url)) });

/** Starts a process; `port` is where the cluster listens. */
async function startProcess() {
  const worker = cluster.fork();
  const [{ port }] = await once(worker, 'listening');
  return { worker, port, pid: worker.process.pid };
}

/** Sends a request on a connection of its own; resolves with its status and text, or its error's code. */
function send(port) {
  return new Promise((resolve) => {
    const request = http.get({ port, host: '127.0.0.1', path: '/work', agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode, text }));
    });
    request.on('error', ({ code }) => resolve({ code }));
  });
}

/** Sends one request; gives its promise, and its answer or the process that has started it. */
async function offer(port) {
  const response = send(port);
  const over = new AbortController();
  const started = once(cluster, 'message', { signal: over.signal }).then(([{ process }]) => process.pid);
  // Nobody looks at it when the request is answered at once.
  started.catch(() => {});
  const first = await Promise.race([response, started]);
  over.abort();
  return typeof first === 'number' ? { response, startedBy: first } : { response, answer: first };
}

/** Sends requests until every permit is taken; `held` has the answers still to come, by process. */
async function takeEveryPermit(port, held) {
  const isFull = (responses) => responses.length === PERMITS;
  for (let refused = 0; ![...held.values()].every(isFull); ) {
    const { response, answer, startedBy } = await offer(port);
    if (startedBy !== undefined) {
      held.get(startedBy).push(response);
      assert.ok(held.get(startedBy).length <= PERMITS);
    } else {
      assert.equal(answer.status, 503);
      refused += 1;
      assert.ok(refused < 100, 'a process gets no request');
    }
  }
}

test('processes that are killed and restarted have their permits, and the others keep theirs', async (t) => {
  t.after(() => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGKILL');
  });
  const processes = await Promise.all(Array.from({ length: PROCESSES }, startProcess));
  const [{ port }] = processes;
  const held = new Map(processes.map(({ pid }) => [pid, []]));
  await takeEveryPermit(port, held);
  for (let index = 0; index < PROCESSES; index += 1) {
    const { worker, pid } = processes[index];
    // Until it is disconnected, the cluster goes on handing it connections.
    const gone = Promise.all([once(worker, 'exit'), once(worker, 'disconnect')]);
    worker.process.kill('SIGKILL');
    await gone;
    for (const response of held.get(pid)) assert.deepEqual(await response, { code: 'ECONNRESET' });
    held.delete(pid);
    processes[index] = await startProcess();
    assert.equal(processes[index].port, port);
    held.set(processes[index].pid, []);
    await takeEveryPermit(port, held);
    for (let count = 0; count < PROCESSES; count += 1) assert.equal((await send(port)).status, 503);
  }
  for (const { worker, pid } of processes) {
    worker.send('go');
    for (const response of held.get(pid)) {
      assert.deepEqual(await response, { status: 200, text: String(pid) });
    }
  }
  await Promise.all(
    processes.map(({ worker }) => {
      worker.disconnect();
      return once(worker, 'exit');
    }),
  );
});
