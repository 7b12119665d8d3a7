// The gate of the event loop at its border: what JavaScript asks, and what it is answered. How well it decides is
// tested in simulated time (tests/event_loop/). The test is the loop here: it tells how long that has slept.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { afterEach, test } from 'node:test';

const require = createRequire(import.meta.url);
const loop = require('../lib/event-loop.js');
const { hot, thread } = require('../lib/native.js');
const { END, NEWS, TURN } = loop;

/** Its only purpose is to take time. */
function burn(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

let idle = 1;
const doors = [];
const door = (targetMs = 100, maxMs = 500) => {
  doors.push(loop.addDoor(targetMs, maxMs));
  return doors[doors.length - 1];
};
/** One that comes after the loop has slept. */
const offerFirst = (at) => loop.offer(at, 0, Infinity, (idle += 1));
/** One more in the same turn. */
const offer = (at, level = 0, patience = Infinity) => loop.offer(at, level, patience, NaN);
const refused = () => {
  const all = [];
  for (let key = loop.takeRefused(); key !== 0; key = loop.takeRefused()) {
    all.push([key, loop.refusalReason()]);
  }
  return all;
};
/** Turns until requests are to be started, or nobody waits. */
function turnUntilWork() {
  for (let turns = 0; turns < 1000; turns += 1) {
    const answer = loop.turn(idle, 0);
    if (answer === TURN.WORK || answer === TURN.OFF) return answer;
    burn(1);
  }
  assert.fail('it never works');
}

afterEach(() => {
  for (const one of doors.splice(0)) loop.removeDoor(one);
  refused();
  assert.equal(turnUntilWork(), TURN.OFF);
  assert.equal(thread.requests, 0, 'every request has ended');
});

test('a request that comes after the loop has slept starts at once, and one key ends it once', () => {
  const at = door();
  const key = offerFirst(at);
  assert.ok(key > 0);
  assert.equal(thread.requests, 1);
  assert.equal(loop.read(at).inflight, 1);
  assert.equal(loop.end(key), END.NOTHING);
  assert.equal(loop.end(key), END.NOTHING);
  assert.equal(loop.read(at).inflight, 0);
  assert.equal(loop.read(at).started, 1);
  assert.equal(loop.turn(idle, 0), TURN.OFF);
});

test('requests that come to a busy loop wait, and start in slices by importance, then by arrival', () => {
  const at = door();
  const first = offerFirst(at);
  burn(6);
  loop.end(first);
  const [low, high, low2] = [7, 0, 7].map((level) => -offer(at, level));
  assert.equal(loop.queued(), 3);
  const started = [];
  while (turnUntilWork() === TURN.WORK) {
    for (let key = loop.next(); key !== 0; key = loop.next()) {
      started.push(key);
      loop.end(key);
    }
  }
  assert.deepEqual(started, [high, low, low2]);
  assert.equal(loop.next(), 0, 'nobody, outside of a slice');
});

test('a client that leaves while its request waits: it never starts', () => {
  const at = door();
  const first = offerFirst(at);
  burn(6);
  loop.end(first);
  const [gone, stays] = [-offer(at), -offer(at)];
  loop.end(gone);
  assert.equal(loop.queued(), 1);
  assert.equal(turnUntilWork(), TURN.WORK);
  assert.equal(loop.next(), stays);
  assert.equal(loop.end(stays), END.NOTHING);
  assert.equal(loop.next(), 0);
});

test('a closed door: those that wait there are refused as disposed, those at another stay', () => {
  const [one, other] = [door(), door()];
  const first = offerFirst(one);
  burn(6);
  loop.end(first);
  const [closed, stays] = [-offer(one), -offer(other)];
  loop.closeDoor(one);
  assert.ok(loop.hasRefused());
  assert.deepEqual(refused(), [[closed, 'disposed']]);
  assert.equal(loop.hasRefused(), false);
  assert.equal(loop.read(one).disposed, 1);
  assert.equal(loop.readOverload(one, idle), null, 'no overload');
  assert.equal(turnUntilWork(), TURN.WORK);
  assert.equal(loop.next(), stays);
  loop.end(stays);
  assert.equal(loop.next(), 0);
});

test('more than can be served: refusals with the wait they would have had, counted, and told of once', () => {
  const at = door(1, 40);
  // So many tell what a request takes.
  for (let count = 0; count < 64; count += 1) {
    const first = offerFirst(at);
    burn(1);
    loop.end(first);
    loop.turn(idle, 0);
  }
  burn(6);
  // The loop has not slept since. Enough for one that takes a tenth of a millisecond for each.
  const offered = 400;
  const answers = Array.from({ length: offered }, () => offer(at));
  const waiting = answers.filter((answer) => answer < 0).length;
  assert.ok(waiting >= 1 && waiting < offered, `${waiting} wait`);
  assert.equal(answers.filter((answer) => answer === 0).length, offered - waiting);
  assert.ok(loop.refusalDelay() > 0, `${loop.refusalDelay()} ms`);
  const { full, queued, pace, delay } = loop.read(at);
  assert.deepEqual({ full, queued }, { full: offered - waiting, queued: waiting });
  assert.ok(pace > 0 && delay >= pace, `${pace} ms, ${delay} ms`);
  const { cpuShare, again, ...news } = loop.readOverload(at, idle);
  assert.ok(cpuShare === undefined || (cpuShare >= 0 && cpuShare <= 1), `${cpuShare}`);
  assert.equal(again, 1000);
  const began = { news: NEWS.BEGAN, refused: offered - waiting, started: 0, duration: 0 };
  assert.deepEqual({ ...news, duration: 0 }, began);
  assert.equal(loop.readOverload(at, idle).news, NEWS.NOTHING);
  // They have waited longer than maxMs when the loop comes to them.
  burn(41);
  assert.equal(turnUntilWork(), TURN.OFF);
  assert.deepEqual(
    refused(),
    answers.filter((answer) => answer < 0).map((answer) => [-answer, 'queue-timeout']),
  );
  assert.equal(loop.read(at).queueTimeout, waiting);
});

test('a door that does not exist: a failure that says so', () => {
  assert.ok(Number.isNaN(loop.offer(1, 0, Infinity, NaN)));
  assert.match(hot.fault(), /no such door/);
});
