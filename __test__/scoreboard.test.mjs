// The scoreboard that is committed, against the same simulations: what is printed is what comes out, and what
// misses its target is known.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import test from 'node:test';
import { readScenario, simulate } from '@ylcnfrht/resilience/simulate';
import { isMet } from '../scoreboard/measures.mjs';
import { PICTURES } from '../scoreboard/page.mjs';
import { SEEDS, play, runsOf } from '../scoreboard/play.mjs';
import { eventLoopRows, gradient2Reference, reference, rows } from '../scoreboard/rows.mjs';
import { cell } from '../scoreboard/table.mjs';
import { parseXml } from './support/xml.mjs';

const docs = new URL('../docs/', import.meta.url);
const page = readFileSync(new URL('scoreboard.md', docs), 'utf8');

/** What knee does not reach. */
const MISSED = [
  'stalls: rejected',
  'stalls: cuts of the limit',
  "three-clients: Jain's index",
  'slower-for-good: goodput after a minute',
];

/** The tables of the page: lines of cells by column. A scenario is named in its first line only. */
const tables = page
  .split('\n\n')
  .filter((block) => block.startsWith('| scenario '))
  .map((block) => {
    const [columns, , ...lines] = block.split('\n').map((line) => line.slice(2, -2).split(' | '));
    let scenario;
    return lines.map((cells) => {
      scenario = /`(.+)`/.exec(cells[0])?.[1] ?? scenario;
      return { ...Object.fromEntries(columns.map((column, index) => [column, cells[index]])), scenario };
    });
  });

/** What a column of a table should say. */
const lines = (of, reports, algorithm) =>
  of.flatMap(({ scenario, measures }) =>
    measures.map((measure) => ({
      scenario,
      figure: measure.name,
      [algorithm]: cell(measure, runsOf(reports, scenario, algorithm)),
    })),
  );
const committed = (table, algorithm) =>
  table.map((line) => ({ scenario: line.scenario, figure: line.figure, [algorithm]: line[algorithm] }));

async function playAll(of, algorithm) {
  const reports = new Map();
  for (const { scenario } of of) reports.set(scenario, await play(scenario, [algorithm], SEEDS));
  return reports;
}

test('knee: every figure is the committed one, and the targets are met but for those known', async () => {
  const all = [...rows, ...reference];
  const reports = await playAll(all, 'knee');
  assert.deepEqual(committed([...tables[0], ...tables[1]], 'knee'), lines(all, reports, 'knee'));
  const missed = all.flatMap(({ scenario, measures }) =>
    measures
      .filter((measure) => isMet(measure, runsOf(reports, scenario, 'knee')) === false)
      .map(({ name }) => `${scenario}: ${name}`),
  );
  assert.deepEqual(missed, MISSED);
});

test('gradient2 in the reference scenario: figures as committed, and within their targets', async () => {
  const reports = await playAll(gradient2Reference, 'gradient2');
  assert.deepEqual(committed(tables[1], 'gradient2'), lines(reference, reports, 'gradient2'));
  assert.deepEqual(committed(tables[2], 'gradient2'), lines(gradient2Reference, reports, 'gradient2'));
  for (const { scenario, measures } of gradient2Reference) {
    for (const measure of measures) {
      const met = isMet(measure, runsOf(reports, scenario, 'gradient2'));
      assert.notEqual(met, false, `${scenario}: ${measure.name}`);
    }
  }
});

test('overload: every figure is the committed one, and all targets are met', async () => {
  const reports = await playAll(eventLoopRows, 'overload');
  assert.deepEqual(committed(tables[3], 'overload'), lines(eventLoopRows, reports, 'overload'));
  for (const { scenario, measures } of eventLoopRows) {
    for (const measure of measures) {
      const runs = runsOf(reports, scenario, 'overload');
      assert.notEqual(isMet(measure, runs), false, `${scenario}: ${cell(measure, runs)}, ${measure.name}`);
    }
  }
});

test('the page has four tables, and its pictures are small and well-formed', () => {
  assert.equal(tables.length, 4);
  const files = readdirSync(new URL('scoreboard/', docs)).sort();
  assert.deepEqual(
    files,
    Object.keys(PICTURES)
      .map((name) => `${name}.svg`)
      .sort(),
  );
  let bytes = 0;
  for (const file of files) {
    const url = new URL(`scoreboard/${file}`, docs);
    bytes += statSync(url).size;
    assert.equal(parseXml(readFileSync(url, 'utf8')).name, 'svg');
    assert.ok(page.includes(`(scoreboard/${file})`), file);
  }
  assert.ok(bytes <= 150_000, `${bytes} bytes`);
});

test('an hour of 200 calls a second is simulated to its end', async () => {
  const { dependency, deadline } = readScenario('overload-130');
  const scenario = { duration: '1h', deadline, dependency, callers: { rate: 200 } };
  const { algorithms } = await simulate({ scenario, algorithms: 'fixed:19', points: 60 });
  const [{ figures, runs }] = algorithms;
  const calls = 200 * 3600;
  // Five standard deviations of a Poisson process.
  assert.ok(Math.abs(figures.offered * 3600 - calls) < 5 * Math.sqrt(calls), `${figures.offered} a second`);
  assert.ok(figures.goodput > 0.9 && figures.goodput <= 1, `${figures.goodput}`);
  const { time, latency } = runs[0].series;
  assert.equal(time.at(-1), 59 * 60_000);
  assert.ok(latency.every((ms) => ms > 0));
});
