// The rows of the scoreboard: a scenario each, and what is read of it.

import * as read from './measures.mjs';

/**
 * @typedef {object} Row
 * @property {string} scenario
 * @property {import('./measures.mjs').Measure[]} measures With the targets of knee.
 */

const NONE = { atMost: 0 };
const LATE = 'goodput, minutes 18 to 20';

/** @type {Row[]} */
export const rows = [
  {
    scenario: 'full-load',
    measures: [
      read.goodput('goodput, minutes 10 to 20', 'late'),
      read.p99('p99', 'late'),
      read.limit('limit', 'late'),
    ],
  },
  {
    scenario: 'overload-110',
    measures: [
      read.goodput(LATE, 'late', { atLeast: 96.6 }, 'vegas by the second 97.9 %, failsafe-go 0 %'),
      read.p99('p99', 'late', { atMost: 158 }, 'vegas by the second 159 ms, failsafe-go 1081 ms'),
      read.drift('limit, change since minute 2', 'early', 'late', { atMost: 20 }),
    ],
  },
  {
    scenario: 'overload-130',
    measures: [
      read.goodput(
        LATE,
        'late',
        { atLeast: 98.8 },
        'vegas by the second 99.8 %, failsafe-go 0 to 94 %, Netflix gradient2 0 %',
      ),
      read.p99(
        'p99',
        'late',
        { atMost: 156 },
        'vegas by the second 188 ms, failsafe-go 210 ms, Netflix gradient2 920 ms',
      ),
      read.drift('limit, change since minute 2', 'early', 'late', { atMost: 20 }),
    ],
  },
  {
    scenario: 'overload-200',
    measures: [
      read.goodput(LATE, 'late', { atLeast: 99.7 }, 'as at 1.3 times'),
      read.p99('p99', 'late', { atMost: 152 }, 'as at 1.3 times'),
      read.drift('limit, change since minute 2', 'early', 'late', { atMost: 20 }),
    ],
  },
  {
    scenario: 'capacity-halved',
    measures: [
      read.goodput('goodput, halved', 'halved', { atLeast: 99.1 }, 'best 99.6 %'),
      read.p99('p99, halved', 'halved', { atMost: 175 }, 'best 177 ms'),
      read.recovery('recovery when it is back', 'back', { atMost: 0.6 }, 'best 2.3 s'),
    ],
  },
  {
    scenario: 'capacity-lost',
    measures: [
      read.goodput('goodput, first 5 s', 'lost'),
      read.p99('p99, first 5 s', 'lost'),
      read.goodput('goodput after 10 s', 'later'),
      read.p99('p99 after 10 s', 'later'),
    ],
  },
  {
    scenario: 'noisy-service',
    measures: [read.rejected('rejected', undefined, NONE, 'best 0 %')],
  },
  {
    scenario: 'mix-shift',
    measures: [
      read.rejected('rejected, first 30 s', 'shift', NONE, 'failsafe-go 1.4 %, vegas 74 %'),
      read.rejected('rejected, later', 'later', NONE, 'failsafe-go 0 %, vegas 31 %'),
    ],
  },
  {
    scenario: 'mix-shift-same-load',
    measures: [
      read.rejected('rejected, first 30 s', 'shift', NONE),
      read.rejected('rejected, later', 'later', NONE),
    ],
  },
  {
    scenario: 'slower-same-capacity',
    measures: [
      read.rejected(
        'rejected, first 30 s',
        'slower',
        NONE,
        'failsafe-go 0.1 %, Netflix gradient2 54 to 58 %',
      ),
      read.rejected('rejected, later', 'later', NONE),
    ],
  },
  {
    scenario: 'idle-then-3x',
    measures: [
      read.p99('p99, first 5 s', 'burst', { atMost: 157 }, 'best 162 ms'),
      read.goodput('goodput, first 5 s', 'burst'),
    ],
  },
  {
    scenario: 'stalls',
    measures: [
      read.rejected('rejected', undefined, NONE, 'best 0 %'),
      read.cuts('cuts of the limit', undefined, NONE),
    ],
  },
  {
    scenario: 'cold-start',
    measures: [
      read.rejected('rejected, first 5 s', 'start', { atMost: 3.9 }, 'Envoy 31 %, others 58 to 99 %'),
      read.rejected('rejected after 10 s', 'later', NONE, 'Envoy 0 %'),
    ],
  },
  {
    scenario: 'three-clients',
    measures: [
      read.fairness("Jain's index", 'later', { atLeast: 0.99 }, 'best 0.999'),
      read.goodput('goodput', 'later', { atLeast: 95 }),
    ],
  },
  {
    scenario: 'low-priority-spike',
    measures: [
      read.goodputOf('high')('high priority in time', 'spike', { atLeast: 99.9 }, 'Netflix 99.4 %'),
      read.goodput('goodput of all', 'spike'),
    ],
  },
  {
    scenario: 'slower-for-good',
    measures: [
      read.goodput('goodput after a minute', 'slower', { atLeast: 99 }),
      read.limit('limit after a minute', 'slower', {}, 'gradient2 and vegas settle lower'),
    ],
  },
];

const WINDOWS = /** @type {const} */ (['before', 'slowed', 'after']);
const REFERENCE = ['slowdown', 'slowdown-jitter-10', 'slowdown-jitter-30'];

/** The reference scenario. @type {Row[]} */
export const reference = REFERENCE.map((scenario) => ({
  scenario,
  measures: WINDOWS.flatMap((window) => [
    read.goodput(`goodput, ${window}`, window, { atLeast: 99.3 }),
    read.meanLatency(`mean latency, ${window}`, window),
  ]),
}));

/** Where gradient2's limit settles; at 30 % jitter it has no target. */
const LIMITS = {
  before: { atLeast: 48, atMost: 62 },
  slowed: { atLeast: 16, atMost: 23 },
  after: { atLeast: 48, atMost: 64 },
};

/** The same with the targets of gradient2. @type {Row[]} */
export const gradient2Reference = REFERENCE.map((scenario) => ({
  scenario,
  measures: WINDOWS.flatMap((window) => [
    read.goodput(`goodput, ${window}`, window, { atLeast: 98 }),
    read.limit(`limit, ${window}`, window, scenario === 'slowdown-jitter-30' ? {} : LIMITS[window]),
  ]),
}));

/** @param {number} goodput @param {number} p99 @param {number} refusals */
const loaded = (goodput, p99, refusals) => [
  read.goodput('goodput', 'loaded', { atLeast: goodput }),
  read.p99('p99', 'loaded', { atMost: p99 }),
  read.rejectedP99('p99 of refusals', 'loaded', { atMost: refusals }),
];

/** With the targets of `overload`. @type {Row[]} */
export const eventLoopRows = [
  { scenario: 'event-loop-200', measures: loaded(97, 115, 10) },
  { scenario: 'event-loop-500', measures: loaded(91, 115, 10) },
  { scenario: 'event-loop-fresh-200', measures: loaded(94, 115, 10) },
  { scenario: 'event-loop-fresh-500', measures: loaded(82, 120, 10) },
  { scenario: 'event-loop-after-io-200', measures: loaded(97, 250, 60) },
  { scenario: 'event-loop-after-io-500', measures: loaded(91, 250, 60) },
  { scenario: 'event-loop-pauses', measures: [read.rejected('rejected', undefined, NONE)] },
  { scenario: 'event-loop-back', measures: [read.rejected('rejected after a second', 'after', NONE)] },
  {
    scenario: 'event-loop-priorities',
    measures: [
      read.goodputOf('important')('important in time', 'loaded', { atLeast: 99.5 }),
      read.goodput('goodput of all', 'loaded', { atLeast: 90 }),
    ],
  },
  {
    scenario: 'event-loop-streams',
    measures: [
      read.goodputOf('calls')('ordinary calls in time', 'loaded', { atLeast: 99 }),
      read.rejected('rejected', undefined, NONE),
    ],
  },
];
