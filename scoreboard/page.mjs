// docs/scoreboard.md.

import { failures } from './failures.mjs';
import { ALGORITHMS, LOOP_ALGORITHMS, SEEDS } from './play.mjs';
import { eventLoopRows, gradient2Reference, reference, rows } from './rows.mjs';
import { table } from './table.mjs';

/** The scenarios that are drawn, with what is to be seen. */
export const PICTURES = {
  'overload-130': '`knee` keeps a queue of a few calls. `gradient2` is too low here; in other runs it grows.',
  'capacity-halved': 'Half of the workers are gone for a minute, and come back.',
  slowdown: 'The reference scenario without jitter: both find the limit, `gradient2` with a longer queue.',
};

/** @param {import('./play.mjs').Reports} reports */
export const page = (reports) => `# Scoreboard

What limit algorithms make of the same troubles, in [simulated time](simulate.md). \`npm run scoreboard\`
plays them all, and writes this page and its pictures; a test plays \`knee\` again and compares.

Unless its scenario says otherwise, a dependency has ten workers that take 50 ms for a call (an Erlang
distribution of shape 4), so that it can answer 200 calls a second, first come first served. Calls come at
random (a Poisson process), and an answer counts if it comes within 500 ms. The limit begins at 20, and every
algorithm has the same options in all rows: its defaults.

- Each figure is the mean of ${SEEDS.length} runs, with the seeds ${SEEDS[0]} to ${SEEDS[SEEDS.length - 1]}; \
the worst of them is in parentheses.
- Goodput is the share of the capacity, or of the calls where these are fewer, that was answered in time.
  Service times that happen to be short can lift it above 100 %.
- Targets are those of \`knee\`. Bold figures meet them, as they are printed.
- Recovery is the time until the goodput of 5 s is 95 %; it has no figure if one of the runs never gets there.
- \`aimd\` has a timeout of 500 ms in addition: drops are its only signal.
- \`oracle\` is a constant limit, the best in hindsight: most goodput within the target for p99. Where the
  capacity changes there is none.
- The last column has what public limiters reach, measured by ports of them in another simulator of the same
  definitions: \`gradient2\` and \`vegas\` of Netflix's concurrency-limits ("by the second": over windows of a
  second), failsafe-go, Envoy, Vector and go-zero. "best" is the best of them all.

${table(rows, reports, ALGORITHMS, true)}

## The reference scenario

30 workers of 40 ms get twice as many calls as they can serve, at even distances, with a timeout of 120 ms.
From 10 s to 20 s only 10 workers are left. Service times have no jitter, up to 10 % or up to 30 % of it. The
windows are 5 to 10 s, 15 to 20 s and 25 to 30 s.

${table(reference, reports, ALGORITHMS.slice(0, -1), false)}

The same with the targets of \`gradient2\`:

${table(gradient2Reference, reports, ['gradient2'], false)}

## An event loop that is short of time

One thread that computes 5 ms for each call, as that of Node.js does, and can do about 195 of them a second;
an answer counts if it comes within a second. \`overload\` is the protection of the loop, \`none\` is nothing.
The limiters count what is in flight, which is one at a time where a handler does not wait for anything: the
calls wait in the kernel, where no limiter looks. Targets are those of \`overload\`. What refusing costs bounds
goodput: 93 % at five times the capacity over kept connections, 85 % with a connection for each call.

${table(eventLoopRows, reports, LOOP_ALGORITHMS, false)}

${failures(reports)}

## Pictures

${Object.entries(PICTURES)
  .map(([name, caption]) => `${caption}\n\n![${name}](scoreboard/${name}.svg)`)
  .join('\n\n')}
`;
