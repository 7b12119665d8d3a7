// How scenarios are read. The JSON Schema that is shipped says the same as the reader, but for what one field
// demands of another.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';
import Ajv from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { readScenario, scenarioNames, simulate } from '@ylcnfrht/resilience/simulate';
import { FULL, SMALL, pathOf, placesOf, refusal, replaced, scenario } from './support/scenarios.mjs';

const SEED = 20_260_402;
const folder = new URL('../scenarios/', import.meta.url);
const schema = JSON.parse(readFileSync(new URL('schema.json', folder), 'utf8'));
const isValid = new Ajv({ allowUnionTypes: true }).compile(schema);

/** What only the reader can check, in the words that its messages have for it. */
const BETWEEN_FIELDS = [
  /within the scenario's duration/,
  /must be after /,
  /must be below scenario\..*\.every/,
  /must differ from that of/,
  /names no caller that has a rate/,
  /must be at most 20000000 calls/,
  /at most 20000000 (stalls|pauses)/,
  /has no meaning without scenario\./,
  /must be at least scenario\.eventLoop\.overload\.targetDelay/,
  /must be an integer from \d+ to /,
];

test('the scenarios of the package are read, by the schema too, and are named as their files', async () => {
  const names = scenarioNames();
  assert.deepEqual(
    names,
    readdirSync(folder)
      .map((file) => file.slice(0, -5))
      .filter((name) => name !== 'schema')
      .sort(),
  );
  assert.ok(names.includes('steady') && names.includes('slowdown'));
  for (const name of names) {
    const given = readScenario(name);
    assert.equal(await refusal(given), undefined, name);
    assert.equal(await refusal(name), undefined, name);
    assert.ok(isValid(given), `${name}: ${JSON.stringify(isValid.errors)}`);
    assert.equal(given.name, name);
    assert.equal(typeof given.description, 'string');
  }
});

test("readScenario() gives an object of the caller's own", () => {
  const one = readScenario('steady');
  one.dependency.workers = 1;
  assert.notEqual(readScenario('steady').dependency.workers, 1);
});

test('an unknown name is told with the one that it is like', async () => {
  const names = scenarioNames().join(', ');
  const expected = {
    name: 'RangeError',
    message: `scenario 'stedy' is unknown; did you mean 'steady'? there are ${names}`,
  };
  assert.throws(() => readScenario('stedy'), expected);
  await assert.rejects(
    refusal('stedy').then((error) => Promise.reject(error)),
    expected,
  );
  for (const name of ['schema', '../package', '', 'constructor', 'x'.repeat(1e5)]) {
    assert.throws(() => readScenario(name), { name: 'RangeError', message: /there are / }, name.slice(0, 20));
  }
  assert.throws(() => readScenario(5), { name: 'TypeError', message: /must be a string, not 5/ });
});

test('everything that a scenario can have is accepted by both', async () => {
  assert.equal(await refusal(FULL), undefined);
  assert.ok(isValid(FULL), JSON.stringify(isValid.errors));
});

test('a bad value anywhere is refused with the path of its place', async () => {
  const junk = [null, NaN, Infinity, -1, 1e300, '', '-5s', 'x', true, [], {}, () => {}, Symbol('s'), 1n];
  let refused = 0;
  for (const place of placesOf(FULL)) {
    for (const value of junk) {
      const changed = replaced(FULL, place, value);
      const error = await refusal(changed);
      if (error === undefined) continue;
      refused += 1;
      assert.ok(error instanceof TypeError || error instanceof RangeError, String(error));
      assert.ok(error.message.startsWith('scenario'), error.message);
      // What is refused may be another field, that was good until this one changed.
      const isBetween = BETWEEN_FIELDS.some((pattern) => pattern.test(error.message));
      const inside = place.length === 0 || error.message.startsWith(pathOf(place));
      const isMeaning = / has no meaning | is unknown/.test(error.message);
      assert.ok(inside || isBetween || isMeaning, `${pathOf(place)}: ${error.message}`);
    }
  }
  assert.ok(refused > 800, `${refused} refused`);
});

const SERVICE = ['dependency', 'service'];
for (const [place, value, kind, ...lines] of [
  [[...SERVICE, 'mean'], -1, RangeError, ' must be a number of milliseconds or a string such as ', "'250ms'"],
  [[...SERVICE, 'shape'], 2.5, RangeError, ' must be an integer from 1 to 1000, not 2.5'],
  [[...SERVICE, 'jitter'], 0.5, TypeError, " has no meaning for the distribution 'erlang'"],
  [[...SERVICE, 'distribution'], 'gamma', RangeError, " must be one of 'constant', 'uniform', "],
  [['dependency', 'workers'], 0, RangeError, ' must be an integer from 1 to 100000, not 0'],
  [
    ['dependency', 'worker'],
    5,
    TypeError,
    " is unknown; did you mean 'workers'? ",
    'scenario.dependency takes workers, discipline, service, loss, stall',
  ],
  [['zzzzzz'], 5, TypeError, ' is unknown; scenario takes $schema, name, '],
  [['duration'], '366d', RangeError, " must be at most '365d', not '366d'"],
  [['duration'], undefined, TypeError, ' must be a number of milliseconds or a string such as '],
  [
    ['dependency', 'stall', 'length'],
    '1s',
    RangeError,
    " must be below scenario.dependency.stall.every (500 ms), not '1s'",
  ],
  [['callers'], [], RangeError, ' must be 1 to 16 callers, not []'],
  [
    ['callers', '1', 'name'],
    'web',
    RangeError,
    " must differ from that of scenario.callers[0]: both are 'web'",
  ],
  [['callers', '2', 'rate'], 5, TypeError, " has no meaning for arrivals 'closed'"],
  [['callers', '0', 'users'], 5, TypeError, " has no meaning for arrivals 'poisson'"],
  [['callers', '0', 'retries', 'attempts'], 0, RangeError, ' must be an integer from 1 to 100, not 0'],
  [
    ['phases', '0', 'rates', 'wob'],
    5,
    RangeError,
    " names no caller that has a rate; did you mean 'web'? ",
    'there are web, jobs, clockwork, noise, tail',
  ],
  [['phases', '0', 'rates', 'people'], 5, RangeError, ' names no caller that has a rate; there are web, '],
  [['phases', '0', 'at'], '3s', RangeError, " must be within the scenario's duration (2000 ms), not '3s'"],
  [['windows', 'late'], ['1s'], RangeError, " must be a list of two times, [from, to], not [ '1s' ]"],
  [['limiter', 'maxLimit'], 1, RangeError, ' must be an integer from 2 to 2^31-1, not 1'],
  [['limiter', 'initialLimit'], 500, RangeError, ' must be an integer from 2 to 200, not 500'],
  [['eventLoop', 'cpu', 'mean'], 0, RangeError, ' must be a number of milliseconds or a string such as '],
  [['eventLoop', 'calls'], 0, RangeError, ' must be an integer from 1 to 100, not 0'],
  [['eventLoop', 'before'], 1.5, RangeError, ' must be a number from 0 to 1, not 1.5'],
  [['eventLoop', 'connections'], 'new', RangeError, " must be one of 'kept', 'fresh', not 'new'"],
  [['eventLoop', 'costs', 'turn'], 0, RangeError, ' must be a number of milliseconds or a string such as '],
  [['eventLoop', 'costs', 'parse'], '2m', RangeError, " must be at most '1m', not '2m'"],
  [
    ['eventLoop', 'overload', 'maxDelay'],
    '10ms',
    RangeError,
    " must be at least scenario.eventLoop.overload.targetDelay (50 ms), not '10ms'",
  ],
  [['callers', '0', 'streams'], 'yes', TypeError, " must be a boolean, not 'yes'"],
  [['oracle'], '13', TypeError, " must be an integer from 1 to 2^31-1, not '13'"],
]) {
  test(`${pathOf(place)} of ${String(JSON.stringify(value))} is refused`, async () => {
    const error = await refusal(replaced(FULL, place, value));
    assert.ok(error instanceof kind, String(error));
    const expected = `${pathOf(place)}${lines.join('')}`;
    assert.equal(error.message.slice(0, expected.length), expected);
  });
}

test('a field whose name is no word is quoted, and cut off', async () => {
  const messageFor = async (name) => (await refusal({ ...SMALL, [name]: 5 })).message;
  assert.match(await messageFor('a b'), /^scenario\["a b"\] is unknown; scenario takes /);
  assert.match(await messageFor('"\n'), /^scenario\["\\"\\n"\] is unknown; /);
  assert.match(await messageFor('x'.repeat(1e6)), /^scenario\["x{60}\.\.\."\] is unknown; /);
});

test('a window has to end after it begins', async () => {
  const { message } = await refusal(replaced(FULL, ['windows', 'late'], ['2s', '1s']));
  assert.equal(
    message,
    "scenario.windows.late[1] must be after scenario.windows.late[0] (2000 ms), not '1s'",
  );
});

test('more calls than a run can hold are refused, whenever they come', async () => {
  for (const place of [
    ['callers', '0', 'rate'],
    ['phases', '0', 'rates', 'jobs'],
  ]) {
    const { message } = await refusal(replaced(FULL, place, 1e9));
    const [, calls] = /^scenario\.duration times .* must be at most 20000000 calls, not (\d+)$/.exec(message);
    assert.ok(calls > 2e9 && calls < 2.1e9, message);
  }
});

test('what belongs to a dependency or an event loop has no meaning without it', async () => {
  const loop = { cpu: FULL.eventLoop.cpu };
  const meaningless = (scenario) => refusal(scenario).then(({ message }) => message);
  const callers = { rate: 5 };
  const alone = { duration: 1000, callers, eventLoop: loop };
  assert.equal(await refusal(alone), undefined);
  for (const [changed, expected] of [
    [{ eventLoop: { ...loop, calls: 1 } }, 'eventLoop.calls'],
    [{ eventLoop: { ...loop, before: 1 } }, 'eventLoop.before'],
    [{ callers: { ...callers, streams: true } }, 'callers.streams'],
    [{ phases: [{ at: 0, slowdown: 2 }] }, 'phases[0].slowdown'],
  ]) {
    const message = `scenario.${expected} has no meaning without scenario.dependency`;
    assert.equal(await meaningless({ ...alone, ...changed }), message);
  }
  assert.match(await meaningless({ ...alone, eventLoop: undefined }), /^scenario\.dependency must be an object/);
  const plain = { ...SMALL, callers: { rate: 5, cpu: loop.cpu } };
  assert.equal(await meaningless(plain), 'scenario.callers.cpu has no meaning without scenario.eventLoop');
});

test('more stalls than a run can hold are refused', async () => {
  const error = await refusal(replaced(FULL, ['dependency', 'stall'], { every: 1e-6, length: 1e-7 }));
  assert.match(
    error.message,
    /^scenario\.duration must have room for at most 20000000 stalls, not 2000000000$/,
  );
});

test('what only looks like an object of fields is refused', async () => {
  for (const value of [undefined, null, 5, [], [SMALL], new Map(Object.entries(SMALL)), new Set()]) {
    const error = await refusal(value);
    assert.ok(error instanceof TypeError);
    assert.match(error.message, /^scenario must be an object, not /);
  }
});

test('what a getter or a trap throws is passed on', async () => {
  const mine = new Error('mine');
  const biting = () => {
    throw mine;
  };
  assert.equal(
    await refusal(Object.defineProperty({ ...SMALL }, 'name', { get: biting, enumerable: true })),
    mine,
  );
  assert.equal(await refusal(new Proxy(SMALL, { ownKeys: biting })), mine);
  assert.equal(await refusal({ ...SMALL, dependency: new Proxy({}, { ownKeys: biting }) }), mine);
});

test('each field is read once', async () => {
  const reads = [];
  const watched = (value, path) =>
    typeof value !== 'object' || value === null || Array.isArray(value)
      ? value
      : new Proxy(value, {
          get: (target, key) => {
            if (typeof key === 'string') reads.push(`${path}.${key}`);
            return watched(target[key], `${path}.${String(key)}`);
          },
        });
  assert.equal(await refusal(watched(structuredClone(FULL), 'scenario')), undefined);
  assert.ok(reads.length > 20);
  assert.deepEqual(
    reads.filter((path, index) => reads.indexOf(path) < index),
    [],
  );
});

test('the names of callers and windows may be any text, and are those of the report', async () => {
  for (const name of ['__proto__', 'constructor', 'a b', '1', '\u{1f600}', '\ud800']) {
    const { algorithms } = await simulate({
      scenario: {
        ...SMALL,
        callers: [{ name, rate: 500, client: name, operation: name }],
        phases: [{ at: 1, rates: Object.fromEntries([[name, 300]]) }],
        windows: Object.fromEntries([[name, [0, 900]]]),
      },
    });
    const [{ figures, windows, runs }] = algorithms;
    assert.deepEqual(Object.keys(windows), [name]);
    for (const { callers } of [figures, Object.values(windows)[0], runs[0].figures]) {
      assert.deepEqual(Object.keys(callers), [name]);
      assert.ok(Object.values(callers)[0].offered > 200);
    }
  }
});

test('good scenarios are accepted by both', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async (good) => {
      assert.equal(await refusal(good), undefined);
      assert.ok(isValid(good), JSON.stringify(isValid.errors));
    }),
    { seed: SEED, numRuns: 300 },
  );
});

test('reader and schema agree on scenarios of which any part is something else', async () => {
  const anything = fc.oneof(
    fc.anything({ maxDepth: 1, values: [fc.double(), fc.string(), fc.boolean(), fc.constant(null)] }),
    fc.double(),
    fc.integer({ min: -2, max: 1001 }),
    fc.constantFrom('0s', '5s', '1.5ms', '1e3ms', ' 5s', 'fifo', 'closed', 'even', 'constant', 'erlang'),
    fc.constantFrom(0, 1, 16, 100, 1000, 1001, 2 ** 31 - 1, 2 ** 31, 0.5, 1.5, -0),
  );
  let [accepted, refused] = [0, 0];
  await fc.assert(
    fc.asyncProperty(scenario, fc.nat(), anything, fc.boolean(), async (good, at, value, adds) => {
      const places = placesOf(good);
      const place = places[at % places.length];
      const changed = replaced(good, adds ? [...place.slice(0, -1), 'added'] : place, value);
      // As a file has it: no NaN, no undefined, no key of a prototype.
      const plain = JSON.parse(JSON.stringify(changed ?? null));
      const error = await refusal(plain);
      if (error === undefined) {
        accepted += 1;
        assert.ok(isValid(plain), JSON.stringify(isValid.errors));
        return;
      }
      refused += 1;
      assert.ok(error instanceof TypeError || error instanceof RangeError, String(error));
      assert.match(error.message, /^scenario/);
      if (isValid(plain))
        assert.ok(
          BETWEEN_FIELDS.some((pattern) => pattern.test(error.message)),
          error.message,
        );
    }),
    { seed: SEED, numRuns: 3000 },
  );
  assert.ok(accepted > 200 && refused > 500, `${accepted} accepted, ${refused} refused`);
});
