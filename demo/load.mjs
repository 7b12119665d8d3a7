// The clients, a process of its own: `node load.mjs PORT RATE SECONDS [OPTIONS]`. Open loop: requests leave when they
// are due, however late the answers are, as those of independent users do. It reports to its parent over IPC.
import http from 'node:http';
import { Histogram } from './histogram.mjs';
import { seededRandom } from './random.mjs';
import * as settings from './settings.mjs';

const [port, ratePerSecond, seconds] = process.argv.slice(2, 5).map(Number);
/**
 * - `connections`: how many are open before the load begins; by default more than the protected servers ever have in
 *   progress. With 0, each request has one of its own.
 * - `warmUpMs`: how long requests are sent before they are counted.
 * - `importantShare`: of the requests, how many are to `/work?important`.
 * - `burst`: so many requests at once, every two seconds, beside the others.
 */
const options = JSON.parse(process.argv[5] ?? '{}');
const { connections = 200, importantShare = 0, burst = 0, warmUpMs = settings.warmUpMs } = options;
const { clientTimeoutMs, reportMs } = settings;
const HEALTH_CHECK_MS = 250;
const BURST_EVERY_MS = 2000;
const agent = connections > 0 && new http.Agent({ keepAlive: true, maxFreeSockets: Infinity });
const random = seededRandom(2);

/** How the counted requests ended: each in exactly one way. */
const ends = { served: 0, shed: 0, timedOut: 0, gaveUp: 0, unexpected: 0, failed: 0 };
const endOfStatus = { 200: 'served', 503: 'shed', 504: 'timedOut' };
const counts = { offered: 0, shedWithoutRetryAfter: 0, healthChecks: 0, healthy: 0, unhealthy: 0 };
const important = { offered: 0, served: 0 };
const latency = {
  served: new Histogram(clientTimeoutMs),
  shed: new Histogram(clientTimeoutMs),
  important: new Histogram(clientTimeoutMs),
  healthCheck: new Histogram(clientTimeoutMs),
};
const lateness = new Histogram(clientTimeoutMs);
/** What the requests since the last report took, those that a client gave up on included, 503s not. */
const waits = new Histogram(clientTimeoutMs);

await openConnections();
process.send({ type: 'started' });
const startedAt = performance.now();
const countFrom = startedAt + warmUpMs;
const stopAt = countFrom + seconds * 1000;
let dueAt = startedAt;
let burstAt = burst > 0 ? startedAt + BURST_EVERY_MS / 2 : Infinity;
let pending = 0;

const reporting = setInterval(() => {
  process.send({ type: 'progress', offered: counts.offered, ...ends, waitMs: waits.quantile(0.5) });
  waits.clear();
}, reportMs);
const checking = setInterval(checkHealth, HEALTH_CHECK_MS);
process.on('disconnect', () => process.exit());
sendDue();

/**
 * A crowd of clients keeps its connections open. Opening hundreds at the first instant of the load would
 * measure the accept queue of the operating system instead.
 */
function openConnections() {
  const connect = () =>
    new Promise((resolve, reject) => {
      const request = http.get({ agent, host: '127.0.0.1', port, path: '/healthz' }, (response) => {
        response.resume().on('end', resolve);
      });
      request.on('error', reject);
    });
  return Promise.all(Array.from({ length: connections }, connect));
}

/** Poisson arrivals: the gaps between requests are exponentially distributed. */
function sendDue() {
  const now = performance.now();
  if (burstAt <= Math.min(now, stopAt)) {
    for (let i = 0; i < burst; i++) sendRequest(burstAt);
    burstAt += BURST_EVERY_MS;
  }
  while (dueAt <= now && dueAt < stopAt) {
    sendRequest(dueAt);
    dueAt += (-Math.log(1 - random()) * 1000) / ratePerSecond;
  }
  if (dueAt < stopAt) setTimeout(sendDue, 1);
  else clearInterval(checking);
}

/** @param {number} due latency runs from here, so that a generator that is late does not hide a wait */
function sendRequest(due) {
  const counted = due >= countFrom;
  const isImportant = importantShare > 0 && random() < importantShare;
  if (counted) {
    counts.offered += 1;
    if (isImportant) important.offered += 1;
    lateness.record(performance.now() - due);
  }
  pending += 1;
  let ended = false;

  /** @param {keyof typeof ends} how */
  const end = (how) => {
    if (ended) return;
    ended = true;
    clearTimeout(patience);
    const ms = performance.now() - due;
    if (how !== 'shed') waits.record(ms);
    if (counted) {
      ends[how] += 1;
      latency[how]?.record(ms);
      if (isImportant && how === 'served') {
        important.served += 1;
        latency.important.record(ms);
      }
    }
    pending -= 1;
    if (pending === 0 && dueAt >= stopAt) finish();
  };

  const request = http.get({ agent, host: '127.0.0.1', port, path: isImportant ? '/work?important' : '/work' });
  const patience = setTimeout(() => {
    end('gaveUp');
    // A reset, because thousands of orderly closes would use up the local ports (TIME_WAIT) on some systems.
    if (request.socket) request.socket.resetAndDestroy();
    else request.destroy();
  }, clientTimeoutMs);
  request.on('error', () => end('failed'));
  request.on('response', (response) => {
    response.resume();
    response.on('end', () => {
      if (counted && response.statusCode === 503 && !(Number(response.headers['retry-after']) >= 1)) {
        counts.shedWithoutRetryAfter += 1;
      }
      end(endOfStatus[response.statusCode] ?? 'unexpected');
    });
    response.on('close', () => end('failed'));
    response.on('error', () => end('failed'));
  });
}

/** On a connection of its own, as a load balancer's probe is. */
function checkHealth() {
  counts.healthChecks += 1;
  pending += 1;
  const sentAt = performance.now();
  const address = { host: '127.0.0.1', port, path: '/healthz' };
  const request = http.get({ ...address, agent: false, timeout: clientTimeoutMs });
  request.on('timeout', () => request.destroy());
  request.on('response', (response) => {
    counts[response.statusCode === 200 ? 'healthy' : 'unhealthy'] += 1;
    response.resume();
  });
  request.on('error', () => {});
  request.on('close', () => {
    pending -= 1;
    latency.healthCheck.record(performance.now() - sentAt);
    if (pending === 0 && dueAt >= stopAt) finish();
  });
}

function finish() {
  clearInterval(reporting);
  if (agent) agent.destroy();
  const result = {
    ...counts,
    ...ends,
    important: { ...important, p99: latency.important.quantile(0.99) },
    p50: latency.served.quantile(0.5),
    p99: latency.served.quantile(0.99),
    shedP99: latency.shed.quantile(0.99),
    healthCheckP99: latency.healthCheck.quantile(0.99),
    lateP99: lateness.quantile(0.99),
    lateMax: lateness.max,
  };
  process.send({ type: 'done', result }, () => process.disconnect());
}
