// The ways in which the package stands before an application, and what must differ by them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { before, describe, test } from 'node:test';
import { ResiliencePipelineBuilder } from '@ylcnfrht/resilience';
import { protect } from '@ylcnfrht/resilience/http';
import { UNFINISHED } from './transparency-cases.mjs';
import { http1 } from './transparency-client.mjs';
import { OUTER, follow, recorded } from './transparency-recorder.mjs';

const { thread } = createRequire(import.meta.url)('../../lib/native.js');

const concurrency = { permitLimit: 50, queueLimit: 50 };
const plain = () => ({ timeout: '1m', concurrency });
/** A deadline for the whole response, and all that can be said without a header of its own. */
const whole = () => ({
  timeout: { timeout: '1m', body: true },
  concurrency,
  rateLimit: { permitLimit: 1_000_000, window: '1h' },
  headers: false,
  deadlineHeader: 'x-request-timeout-ms',
});
const adaptive = () => ({
  pipeline: new ResiliencePipelineBuilder({ name: 'adaptive' })
    .addAdaptiveConcurrencyLimiter({ initialLimit: 50, minLimit: 50, maxLimit: 50, queueLimit: 50 })
    .addTimeout('1m')
    .build(),
});

/** By name: what stands in front of the framework, and what is inside of it. */
export const VARIANTS = {
  'the adapter': { inside: plain },
  'the adapter, for whole responses': { inside: whole },
  'protect()': { before: plain },
  'protect() and the adapter': { before: whole, inside: adaptive },
};

export const ALL = Object.keys(VARIANTS);
/** In which every part of an admission takes part. */
export const STRICTEST = ['the adapter, for whole responses', 'protect() and the adapter'];

/**
 * What may be found on an object besides, each for its reason:
 *
 * - a request, its response and its connection are listened to, to know of the end of each;
 * - `newListener` is listened to, and `emit` covered once there are others: their listeners have the context;
 * - `writeHead` is covered to measure the first byte, `end` of a response that waits for its connection, which
 *   tells of its end by no event;
 * - a rate limit asks for the client's address, which Node.js then keeps as `_peername`.
 */
export const OURS = {
  own: {
    req: ['emit'],
    res: ['emit', 'writeHead', 'end', '_send'],
    socket: ['Symbol(@ylcnfrht/resilience.requests)', '_peername'],
  },
  listeners: { req: ['newListener'], res: ['newListener', 'prefinish', 'finish'], socket: ['close'] },
};
/** Who wants to be asked before a body is sent has to listen to this; the request is then handed on as ever. */
const ASKED = 'server.checkContinue';
/** Whether @hono/node-server reads what is left of a body depends on how soon its client has closed. */
const DRAINING = 'Symbol(incomingDraining)';

/**
 * Runs cases against an application behind `variant`, or without any.
 *
 * @param {any} app
 * @param {{ before?: () => any, inside?: () => any } | undefined} variant
 * @param {[string, any][]} cases
 */
export async function runCases(app, variant, cases, protocol) {
  const { server, resiliences, close } = await open(app, variant, protocol);
  const results = [];
  try {
    for (const [, script] of cases) {
      results.push(
        await recorded(
          () => protocol.exchange(server.address().port, script),
          () => thread.open === 0,
        ),
      );
    }
  } finally {
    await close();
    for (const { pipeline } of resiliences) pipeline.dispose();
  }
  return results;
}

/** A server of an application that listens, and how it is closed. */
export async function open(app, variant, protocol) {
  const made = await app.create(variant?.inside?.(), protocol.createServer);
  const { server, resilience } = made;
  const resiliences = resilience ? [resilience] : [];
  if (variant?.before) resiliences.push(protect(server, variant.before()));
  follow(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    const closed = once(server, 'close');
    server.closeAllConnections?.();
    server.close();
    await closed;
    await made.close?.();
  };
  return { server, resiliences, close };
}

/**
 * What differs between the results of cases without and with the package.
 *
 * @param {[string, any][]} cases
 * @param {any[]} expected
 * @param {any[]} actual
 * @param {boolean} dropsAborts Whether the adapter drops what fails because the client has left.
 */
function differences(cases, expected, actual, dropsAborts) {
  return cases.flatMap(([name], index) => {
    const isDropped = dropsAborts && name === UNFINISHED;
    const [without, withIt] = [expected, actual].map((all) =>
      isDropped ? untilAborted(all[index]) : all[index],
    );
    const found = [
      ...(without.answer === withIt.answer ? [] : [`bytes: ${without.answer}\n  but: ${withIt.answer}`]),
      ...differentLogs(without.log, withIt.log),
      ...differentStates(without.states, withIt.states),
    ];
    return found.map((difference) => `${name}: ${difference}`);
  });
}

/**
 * The adapters of Koa and Fastify drop an error that a body was cut off by: it is no failure of the application,
 * and so the framework goes no further with it. All that Node.js tells before is the same.
 */
function untilAborted({ answer, log }) {
  const events = log.filter((line) => !line.startsWith('  '));
  return { answer, log: events.slice(0, events.indexOf('req.close()') + 1), states: {} };
}

function differentLogs(before, after) {
  const [without, log] = [before, after.filter((line) => !line.startsWith(ASKED))].map(outerLast);
  if (without.join('\n') === log.join('\n')) return [];
  const at = log.findIndex((line, index) => line !== without[index]);
  const from = at === -1 ? log.length : at;
  const excerpt = (lines) => lines.slice(Math.max(0, from - 2), from + 6).join('\n    ');
  return [`events:\n    ${excerpt(without)}\n  but:\n    ${excerpt(log)}`];
}

/**
 * An adapter puts promises of its own between the handler and the middlewares further out, which hear of the end
 * a few microtasks later.
 */
const outerLast = (log) => {
  const isOuter = (line) => line.startsWith(OUTER);
  return [...log.filter((line) => !isOuter(line)), ...log.filter(isOuter)];
};

function differentStates(without, withIt) {
  return Object.entries(without).flatMap(([subject, { own, listeners }]) => {
    const found = withIt[subject];
    if (found === undefined) return [`no ${subject}`];
    const kind = subject.replace(/\d+$/, '');
    const isOurs = (key) => OURS.own[kind].includes(nameOf(key)) || nameOf(key) === '_eventsCount';
    const missing = own.filter((key) => !found.own.includes(key));
    const extra = found.own.filter((key) => !own.includes(key) && !isOurs(key));
    if ([...own, ...extra].some((key) => nameOf(key) === DRAINING)) return [];
    const counts = [...new Set([...listeners.keys(), ...found.listeners.keys()])].filter((event) => {
      const more = (found.listeners.get(event) ?? 0) - (listeners.get(event) ?? 0);
      // One for each of two admissions, at most.
      return OURS.listeners[kind].includes(event) ? more < 0 || more > 2 : more !== 0;
    });
    return [
      ...missing.map((key) => `${subject} without ${nameOf(key)}`),
      ...extra.map((key) => `${subject} with ${nameOf(key)}`),
      ...counts.map((event) => {
        const [expected, actual] = [listeners, found.listeners].map((all) => all.get(event) ?? 0);
        return `${subject} has ${actual} listeners of ${nameOf(event)} instead of ${expected}`;
      }),
    ];
  });
}

/** @param {string | symbol} key */
const nameOf = (key) => (typeof key === 'symbol' ? key.toString() : key);

/**
 * Tests that an application is the same behind each of `variants` as without any.
 *
 * @param {any} app
 * @param {[string, any][]} cases
 * @param {string[]} variants
 * @param {{ createServer: any, exchange: (port: number, script: any) => Promise<unknown> }} protocol
 */
export function compare(app, cases, variants, protocol = http1) {
  describe(app.name, { timeout: 60_000 }, () => {
    let expected;
    before(async () => {
      expected = await runCases(app, undefined, cases, protocol);
    });
    for (const variant of variants) {
      test(`the same with ${variant}`, async () => {
        const actual = await runCases(app, VARIANTS[variant], cases, protocol);
        const dropsAborts = app.dropsAborts === true && VARIANTS[variant].inside !== undefined;
        assert.deepEqual(differences(cases, expected, actual, dropsAborts), []);
      });
    }
  });
}
