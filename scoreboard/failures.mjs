// What each algorithm is bad at, told in the figures of the tables.

import * as read from './measures.mjs';
import { runsOf } from './play.mjs';
import { reference, rows } from './rows.mjs';

/**
 * @typedef {import('./measures.mjs').Measure} Measure
 * @typedef {import('./measures.mjs').Run} Run
 */

const { highest, isMet, lowest, mean, print, printTarget } = read;
const LINE = 110;

const FIRST_P99 = read.p99('', 'lost');
const JAIN = read.fairness('', 'later');
const LATE = read.goodput('', 'late');
const LATE_LIMIT = read.limit('', 'late');
const LATE_P99 = read.p99('', 'late');
const MEAN_LATENCY = read.meanLatency('', 'before');
const REJECTED = read.rejected('', undefined);
const REJECTED_AT_FIRST = read.rejected('', 'start');
const REJECTED_LATER = read.rejected('', 'later');
const SLOWER = read.goodput('', 'slower');

/**
 * @param {import('./play.mjs').Reports} reports
 * @returns {string} Markdown.
 */
export function failures(reports) {
  return [
    '## What each is bad at',
    ...['### knee', knee(reports)],
    ...['### gradient2', gradient2(reports)],
    ...['### vegas', vegas(reports)],
    ...['### aimd', aimd(reports)],
  ].join('\n\n');
}

/** @param {import('./play.mjs').Reports} reports */
function knee(reports) {
  const [say, runs] = of(reports, 'knee');
  const [oracle] = of(reports, 'oracle');
  const [other] = of(reports, 'gradient2');
  const missed = [...rows, ...reference].flatMap(({ scenario, measures }) =>
    measures
      .filter((measure) => isMet(measure, runs(scenario)) === false)
      .map((measure) => ({
        what: `\`${scenario}\`, ${measure.name}`,
        by: `${say(scenario, measure)}, not ${printTarget(measure)}`,
      })),
  );
  const list = missed.map(({ what, by }) => `- ${what}: ${by}`).join('\n');
  const stalled = runs('stalls').filter((run) => REJECTED.read(run) > 1).length;
  const misjudged = runs('slower-for-good').filter((run) => SLOWER.read(run) < 97).length;
  const uneven = mean(JAIN, runs('three-clients')) < 0.99;
  const weaknesses = [
    weakness(
      'As many calls as can be served',
      'The limit does not bind, and the queue wanders. Only when the mean latency has doubled is it taken for a',
      `queue and cut: in \`full-load\` goodput is ${say('full-load', LATE)} and p99 ${say('full-load', LATE_P99)}.`,
      'With a `headroom` of 2 or a `maxLimit` near what is needed latency stays lower.',
    ),
    weakness(
      'Capacity that is lost while the limit does not bind',
      'The limit has been lifted ahead of time, and now fills the queue of the dependency:',
      `in \`capacity-lost\` p99 is ${say('capacity-lost', FIRST_P99)} in the first 5 s, that of`,
      `\`gradient2\` ${other('capacity-lost', FIRST_P99)}. A smaller \`headroom\` or a \`maxLimit\``,
      'near what is needed shortens it.',
    ),
    weakness(
      'Slight overload',
      `At 1.1 times the capacity it reaches ${say('overload-110', LATE)} /`,
      `${say('overload-110', LATE_P99)}, the best constant limit ${oracle('overload-110', LATE)} /`,
      `${oracle('overload-110', LATE_P99)}. The rest is what it costs to find the limit.`,
    ),
    stalled > 0 &&
      weakness(
        'Stalls while the limit is still low',
        `${stalled} of ${runs('stalls').length} runs of \`stalls\` turn more than 1 % of the calls away, the`,
        `worst ${say('stalls', REJECTED, highest)}: one of the first stalls fills the limit, and from`,
        'then on each of them counts as a queue. A higher `initialLimit` helps.',
      ),
    misjudged > 0 &&
      weakness(
        'A dependency that becomes slower while the limit binds',
        `In ${misjudged} of ${runs('slower-for-good').length} runs of \`slower-for-good\` goodput is below`,
        '97 %: it took the slowdown for a queue, and corrects that by probes, a minute or two later.',
      ),
    uneven &&
      weakness(
        'Several clients of one dependency',
        "What each of them measures has the queues of the others in it. Jain's index is",
        `${say('three-clients', JAIN)} in \`three-clients\`, and ${say('three-clients', JAIN, lowest)}`,
        'in the worst run.',
      ),
  ];
  return [
    missed.length === 0 ? 'It meets all of its targets.' : `It misses these of its targets:\n\n${list}`,
    'What it is bad at:',
    weaknesses.filter((one) => one !== false).join('\n'),
  ].join('\n\n');
}

/** @param {import('./play.mjs').Reports} reports */
function gradient2(reports) {
  const [say, runs] = of(reports, 'gradient2');
  const all = runs('overload-130');
  const low = all.filter((run) => LATE_LIMIT.read(run) < 12);
  const high = all.filter((run) => LATE_LIMIT.read(run) > 100);
  const range = (/** @type {readonly Run[]} */ some) =>
    `${print(LATE, lowest(LATE, some))} to ${print(LATE, highest(LATE, some))}`;
  return [
    weakness(
      'Service times that vary',
      'Its baseline falls to the luckiest short average, and the limit with it. In',
      `${low.length} of ${all.length} runs of \`overload-130\` the limit ends below 12, where 17 is right,`,
      `and goodput is ${range(low)}. \`noisy-service\` turns ${say('noisy-service', REJECTED)} away at`,
      `half load, \`cold-start\` ${say('cold-start', REJECTED_LATER)} after 10 s.`,
    ),
    weakness(
      'Long overload',
      'The baseline follows a queue that grows within its tolerance. In',
      `${high.length} of the same ${all.length} runs the limit ends above 100, and goodput is`,
      `${range(high)}. Which of the two comes is chance: the mean, ${say('overload-130', LATE)}, is that of`,
      'no usual run.',
    ),
    weakness(
      'A dependency that becomes slower',
      'In `slower-same-capacity` every call could be served, and',
      `${say('slower-same-capacity', REJECTED_LATER)} are turned away.`,
    ),
  ].join('\n');
}

/** @param {import('./play.mjs').Reports} reports */
function vegas(reports) {
  const [say] = of(reports, 'vegas');
  return [
    weakness(
      'Service times that vary',
      'It takes the quickest call for what every call would need without a queue. In',
      `\`overload-130\` the limit is ${say('overload-130', LATE_LIMIT)} and goodput`,
      `${say('overload-130', LATE)}; \`noisy-service\` turns ${say('noisy-service', REJECTED)} away at half`,
      `load, \`cold-start\` ${say('cold-start', REJECTED_LATER)} after 10 s. With the even times of the`,
      'reference scenario it does well.',
    ),
    weakness(
      'A dependency that becomes slower',
      `\`slower-same-capacity\` turns ${say('slower-same-capacity', REJECTED_LATER)} away.`,
    ),
  ].join('\n');
}

/** @param {import('./play.mjs').Reports} reports */
function aimd(reports) {
  const [say] = of(reports, 'aimd');
  return [
    weakness(
      'Latency',
      'It fills the queue until calls time out, and stays there: p99 is',
      `${say('overload-130', LATE_P99)} in \`overload-130\` with a timeout of 500 ms, and in \`slowdown\``,
      `with one of 120 ms the mean is ${say('slowdown', MEAN_LATENCY)}. Without a timeout nothing lowers its`,
      'limit.',
    ),
    weakness(
      'A dependency that becomes slower',
      'Some calls then need longer than the timeout, which counts as overload:',
      `\`slower-same-capacity\` turns ${say('slower-same-capacity', REJECTED_LATER)} away.`,
    ),
    weakness(
      'A limit that is far too low',
      `It grows by one a round trip: \`cold-start\` turns ${say('cold-start', REJECTED_AT_FIRST)} away`,
      'in the first 5 s.',
    ),
  ].join('\n');
}

/**
 * Figures of an algorithm as text, and its runs.
 *
 * @param {import('./play.mjs').Reports} reports
 * @param {string} algorithm
 */
function of(reports, algorithm) {
  const runs = (/** @type {string} */ scenario) => runsOf(reports, scenario, algorithm);
  const say = (/** @type {string} */ scenario, /** @type {Measure} */ measure, figure = mean) =>
    print(measure, figure(measure, runs(scenario)));
  return /** @type {const} */ ([say, runs]);
}

/**
 * An item of a list, in lines of the usual length.
 *
 * @param {string} title
 * @param {...string} text
 */
function weakness(title, ...text) {
  const lines = [`- **${title}.**`];
  for (const word of text.join(' ').split(' ')) {
    const line = lines[lines.length - 1];
    if (line.length + word.length < LINE) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(`  ${word}`);
  }
  return lines.join('\n');
}
