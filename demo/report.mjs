// The text of the result: a table, a plot of each phase, and what they show in words.
import { plot } from './plot.mjs';
import { clientTimeoutMs, fixed } from './settings.mjs';
import { FIGURES, align, figures, percent, tenths, whole } from './table.mjs';

/** Fits a terminal of 100 columns. */
const WIDTH = 98;
/** A load generator that is this late has not had the processor time it needs, nor has the server. */
const BUSY_MS = 20;
export const titles = {
  none: 'unprotected',
  fixed: 'fixed limiter',
  gradient2: 'gradient2',
  knee: 'knee',
  overload: 'overload',
};

/** What is plotted of a phase, by what its server is short of: titles, and where the values are. */
const DEPENDENCY_CHARTS = { '  limit': 'limit', '  in flight': 'inflight', '  latency, ms': 'waitMs' };
const CPU_CHARTS = { '  in queue': 'queued', '  latency, ms': 'waitMs' };

/**
 * Of servers that are short of their dependency.
 * @param {any[]} phases what runPhase returned, and the mode of each
 * @param {{ capacity: number, seconds: number, overload: number }} run
 */
export function report(phases, run) {
  return compose(phases, run, { charts: DEPENDENCY_CHARTS, sentence });
}

/**
 * Of servers whose handlers compute.
 * @param {any[]} phases
 * @param {{ capacity: number, seconds: number, overload: number }} run
 */
export function reportComputing(phases, run) {
  return compose(phases, run, { charts: CPU_CHARTS, sentence: computingSentence });
}

function compose(phases, run, { charts, sentence: sentenceOf }) {
  const blocks = [
    table(phases, run),
    ...phases.map((phase) => plots(phase, charts)),
    phases.flatMap((phase) => wrap(sentenceOf(phase, run))),
    wrap(notes(phases, run.overload)),
  ];
  return blocks.map((lines) => lines.join('\n')).join('\n\n');
}

function table(phases, run) {
  const rows = phases.map(({ mode, clients }) => [titles[mode], ...figures(clients, run)]);
  return align(['phase', ...FIGURES], rows);
}

function plots({ mode, elapsedMs, series }, charts) {
  const shown = Object.entries(charts).filter(([, values]) => series[values].length > 0);
  return [
    `${titles[mode]}, over ${(elapsedMs / 1000).toFixed(0)} s`,
    ...shown.flatMap(([title, values]) => plot(title, series[values], WIDTH)),
  ];
}

function computingSentence({ mode, clients }, { capacity, seconds }) {
  const name = titles[mode];
  const { served, gaveUp, offered, healthChecks, healthy, healthCheckP99 } = clients;
  const health =
    healthy < healthChecks
      ? `${healthChecks - healthy} of ${healthChecks} health checks had no answer`
      : `health checks were answered within ${tenths(healthCheckP99)} ms`;
  return (
    `${name[0].toUpperCase()}${name.slice(1)}: ${percent(served / seconds / capacity)} of what the server can do ` +
    `became answers in time; ${percent(gaveUp / offered)} of the clients gave up; ${health}.`
  );
}

function sentence({ mode, clients, server, series }, { capacity, seconds }) {
  const share = percent(clients.served / seconds / capacity);
  const good = `${share} of the dependency's capacity became answers in time`;
  const p99 = clients.p99 === undefined ? '' : ` (p99 ${tenths(clients.p99)} ms)`;
  if (mode === 'none') {
    return (
      `Unprotected: ${good}${p99}; ${percent(clients.gaveUp / clients.offered)} of the clients gave up, ` +
      `and ${whole(server.pending)} calls for clients already gone were still in the dependency.`
    );
  }
  const refused =
    clients.shed === 0 ? 'nobody was refused' : `99 % of refusals came within ${tenths(clients.shedP99)} ms`;
  const limit =
    mode === 'fixed'
      ? `${fixed.concurrency.permitLimit} permits`
      : `limit ${series.limit[0]} at first, ${Math.min(...lastHalf(series.limit))} to ` +
        `${Math.max(...lastHalf(series.limit))} in the second half`;
  const name = titles[mode];
  return `${name[0].toUpperCase()}${name.slice(1)} (${limit}): ${good}${p99}; ${refused}.`;
}

function notes(phases, overload) {
  const checks = phases.map(({ clients }) => `${clients.healthy} of ${clients.healthChecks}`).join(', ');
  const lateMax = Math.max(...phases.map(({ clients }) => clients.lateMax));
  const lateP99 = Math.max(...phases.map(({ clients }) => clients.lateP99));
  const busy =
    lateP99 > BUSY_MS ? ' The machine was too busy with other work for the figures to mean much.' : '';
  return (
    `Load: ${overload} times the capacity, Poisson arrivals; a client leaves after ${clientTimeoutMs} ms, ` +
    `and good is a 200 before that. Health checks answered: ${checks}. ` +
    `99 % of the requests left within ${tenths(lateP99)} ms of their time, ` +
    `all within ${tenths(lateMax)} ms.${busy}`
  );
}

/** @param {string} text */
function wrap(text) {
  return text.match(new RegExp(`.{1,${WIDTH}}(?:\\s|$)`, 'g')).map((line) => line.trimEnd());
}

function lastHalf(values) {
  return values.slice(Math.floor(values.length / 2));
}
