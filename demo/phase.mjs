import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { countAnswers } from './computation.mjs';

const SETTLE_MS = 3000;
const POLL_MS = 20;

/**
 * One phase: a server of its own, the load against it, and afterwards what the server still holds.
 * @param {string} mode
 * @param {{ framework: string, short?: 'dependency' | 'cpu', rate: number, seconds: number, load?: object,
 *   onProgress: (progress: object) => void }} options short: what handlers are short of; load: the options of load.mjs
 * @returns {Promise<{ elapsedMs: number, clients: any, server: any, series: any, problems: string[] }>}
 */
export async function runPhase(mode, { framework, short = 'dependency', rate, seconds, load: given = {}, onProgress }) {
  const server = start('server.mjs', mode, framework, short);
  const { port } = await server.message('listening');
  const load = start('load.mjs', String(port), String(rate), String(seconds), JSON.stringify(given));
  await load.message('started');
  const startedAt = performance.now();

  const series = { limit: [], inflight: [], queued: [], waitMs: [] };
  const latest = {};
  server.child.on('message', ({ type, ...gauge }) => {
    if (type !== 'gauge' || load.ended) return;
    Object.assign(latest, gauge);
    series.inflight.push(gauge.inflight);
    if (gauge.limit !== undefined) series.limit.push(gauge.limit);
    if (gauge.queued !== undefined) series.queued.push(gauge.queued);
  });
  load.child.on('message', ({ type, ...progress }) => {
    if (type !== 'progress') return;
    series.waitMs.push(progress.waitMs);
    onProgress({ ...latest, ...progress });
  });

  const { result: clients } = await load.message('done');
  load.ended = true;
  const elapsedMs = performance.now() - startedAt;
  const state = await settledState(server, mode);
  const endedByItself = mode === 'none' ? server.child.kill() : await closes(server);
  const problems = findProblems(mode, clients, state, endedByItself);
  return { elapsedMs, clients, server: state, series, problems };
}

/** @param {string[]} args */
function start(script, ...args) {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), args);
  const died = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`${script} ended before its work was done (${signal ?? `exit code ${code}`}).`);
  });
  died.catch(() => {});
  /** @param {string} wanted */
  const message = (wanted) => {
    const arrived = new Promise((resolve) => {
      child.on('message', function listener(received) {
        if (received.type !== wanted) return;
        child.off('message', listener);
        resolve(received);
      });
    });
    return Promise.race([arrived, died]);
  };
  /** @param {string} wanted */
  const ask = (wanted) => {
    // A child that has died is reported by `message`.
    child.send({ type: wanted }, () => {});
    return message(wanted);
  };
  return { child, message, ask, ended: false };
}

/**
 * What an unprotected server whose handlers compute answers in a second.
 * @param {string} framework
 * @param {number} forMs
 */
export async function measureComputing(framework, forMs) {
  const server = start('server.mjs', 'none', framework, 'cpu');
  const { port } = await server.message('listening');
  const capacity = await countAnswers(port, { path: '/work', forMs });
  server.child.kill();
  return capacity;
}

/**
 * The last clients have only just left: the server may still have to hear of it. Without protection the
 * dependency's queue outlives the load by far, so nobody waits for that.
 */
async function settledState(server, mode) {
  const giveUpAt = performance.now() + SETTLE_MS;
  for (;;) {
    const state = await server.ask('state');
    const idle = state.inflight === 0 && !state.queued && state.pending === 0 && state.connections === 0;
    if (mode === 'none' || idle || performance.now() > giveUpAt) return state;
    await delay(POLL_MS);
  }
}

async function closes(server) {
  server.child.send({ type: 'close' });
  const ended = await Promise.race([once(server.child, 'exit'), delay(SETTLE_MS, undefined, { ref: false })]);
  if (ended === undefined) server.child.kill('SIGKILL');
  return ended !== undefined && ended[0] === 0;
}

/** What must hold whatever the load is. */
function findProblems(mode, clients, state, endedByItself) {
  const { offered, served, shed, timedOut, gaveUp, unexpected, failed, unhealthy } = clients;
  const { defects } = state;
  const accounted = served + shed + timedOut + gaveUp + unexpected + failed;
  const checks = [
    [accounted === offered, `${offered} requests were offered, but ${accounted} ended`],
    [unexpected === 0, `${unexpected} answers were neither 200, 503 nor 504`],
    [failed === 0, `${failed} connections broke`],
    [unhealthy === 0, `${unhealthy} health checks were answered with an error`],
    [clients.shedWithoutRetryAfter === 0, `${clients.shedWithoutRetryAfter} 503s had no usable Retry-After`],
    [defects.length === 0, `the server reported ${defects.length} defects, first ${defects[0]}`],
  ];
  if (mode !== 'none') {
    checks.push(
      [state.inflight === 0, `${state.inflight} permits were not returned`],
      [state.queued === 0, `${state.queued} requests are still in the queue`],
      [state.pending === 0, `${state.pending} calls are still in the dependency`],
      [state.connections === 0, `${state.connections} connections are still open`],
      [endedByItself, 'the idle server process did not end by itself'],
    );
  }
  return checks.filter(([holds]) => !holds).map(([, problem]) => problem);
}
