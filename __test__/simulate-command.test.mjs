// The command: what it prints where, and how it exits.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { scenarioNames, simulate } from '@ylcnfrht/resilience/simulate';
import { parseXml } from './support/xml.mjs';
import { FULL, LONG, SMALL } from './support/scenarios.mjs';

const command = fileURLToPath(new URL('../bin/resilience.js', import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), 'simulate-'));
test.after(() => rmSync(folder, { recursive: true }));

/** Starts the command; `ended` is what became of it. */
function start(...args) {
  const child = spawn(process.execPath, [command, ...args], { cwd: folder, timeout: 60_000 });
  const closed = new Promise((resolve) => child.once('close', resolve));
  const ended = Promise.all([closed, text(child.stdout), text(child.stderr)]).then(
    ([code, stdout, stderr]) => ({
      code,
      stdout,
      stderr,
    }),
  );
  return { child, ended };
}
const run = (...args) => start(...args).ended;

/** Writes a scenario to a file of its own. */
function file(name, content) {
  writeFileSync(path.join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  return `./${name}`;
}

test('a scenario of the package: a table, and a picture of each limit', async () => {
  const { code, stdout, stderr } = await run(
    'simulate',
    'steady',
    '--algorithm',
    'knee,vegas,fixed:13',
    '--seeds',
    '2',
  );
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  const lines = stdout.split('\n');
  assert.match(lines[0], /^steady: 10 workers /);
  assert.equal(lines[1], '60 s of simulated time, means of 2 seeds.');
  assert.match(lines[3], /^algorithm +goodput +answers\/s +p50 ms +p99 ms +rejected +false rejects +limit$/);
  const { algorithms } = await simulate({
    scenario: 'steady',
    algorithms: ['knee', 'vegas', 'fixed:13'],
    seeds: 2,
  });
  for (const [index, { algorithm, figures }] of algorithms.entries()) {
    const cells = lines[5 + index].split(/ {2,}/);
    const percent = (share) => `${(100 * share).toFixed(1)} %`;
    assert.deepEqual(cells, [
      algorithm,
      percent(figures.goodput),
      ...[figures.throughput, figures.p50, figures.p99].map((value) => value.toFixed(1)),
      percent(figures.rejected),
      percent(figures.falseRejects),
      figures.limit.toFixed(1),
    ]);
  }
  for (const name of ['knee', 'vegas', 'fixed:13']) {
    assert.match(
      stdout,
      new RegExp(`^${name}: limit \\d+( to \\d+)?.*\n( +\\d* ┤.*\n){5}.*└[─┬]+\n +0 s.* 60 s$`, 'm'),
    );
  }
  assert.match(stdout, /^fixed:13: limit 13$/m);
  assert.match(stdout, /[\u2801-\u28ff]/);
  assert.ok(Math.max(...lines.map((line) => line.length)) <= 110);
});

test('a file: a table for each window, the default algorithms, the oracle', async () => {
  const { code, stdout, stderr } = await run('simulate', file('own.json', { ...FULL, name: undefined }));
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  assert.match(stdout, /^own: Everything$/m);
  for (const heading of ['early, 0 ms to 1 s', 'late, 1 s to 2 s']) {
    assert.match(
      stdout,
      new RegExp(
        `^${heading}\nalgorithm .*\n─.*\n` +
          'overload .*\nnone .*\nknee .*\ngradient2 .*\nvegas .*\naimd .*\noracle ',
        'm',
      ),
    );
  }
  const { oracle: _, ...without } = FULL;
  const other = await run('simulate', file('without.json', `\ufeff${JSON.stringify(without)}`));
  assert.equal(other.code, 0);
  assert.doesNotMatch(other.stdout, /oracle/);
});

test('--json prints the report and nothing else; the series only with --points', async () => {
  const own = file('json.json', SMALL);
  const args = ['simulate', own, '--json', '--algorithm', 'knee', '--seeds', '2'];
  const [short, long] = await Promise.all([run(...args), run(...args, '--points', '300')]);
  for (const { code, stderr } of [short, long]) assert.deepEqual([code, stderr], [0, '']);
  const expected = await simulate({ scenario: { ...SMALL, name: 'json' }, seeds: 2 });
  // As JSON has it: without undefined, and with null in place of NaN.
  const plain = JSON.parse(JSON.stringify(expected));
  assert.deepEqual(JSON.parse(long.stdout), plain);
  for (const { runs } of plain.algorithms) for (const one of runs) delete one.series;
  assert.deepEqual(JSON.parse(short.stdout), plain);
});

test('--svg writes a picture that is well-formed, with every part', async () => {
  const name = '<b>&"\'\u0001\ud800';
  const own = file('svg.json', { ...FULL, name, windows: { '<&>': [0, '1s'] }, deadline: 1 });
  const { code, stdout } = await run('simulate', own, '--svg', 'out.svg', '--seeds', '2');
  assert.equal(code, 0);
  assert.match(stdout, /^algorithm /m, 'the table is printed as well');
  const svg = parseXml(readFileSync(path.join(folder, 'out.svg'), 'utf8'));
  assert.equal(svg.name, 'svg');
  assert.equal(svg.attributes.xmlns, 'http://www.w3.org/2000/svg');
  const [, , width, height] = svg.attributes.viewBox.split(' ').map(Number);
  assert.deepEqual([svg.attributes.width, svg.attributes.height], [String(width), String(height)]);
  const all = [];
  const visit = (node) => {
    all.push(node);
    node.children.forEach(visit);
  };
  visit(svg);
  const byClass = (wanted) => all.filter(({ attributes }) => attributes.class === wanted);
  const texts = all.filter((node) => node.name === 'text').map((node) => node.text);
  assert.equal(byClass('title')[0].text, '<b>&"\'\ufffd\ufffd');
  assert.deepEqual(
    byClass('name').map((node) => node.text),
    ['overload', 'none', 'knee', 'gradient2', 'vegas', 'aimd', 'oracle'],
  );
  assert.ok(texts.includes('<&>'));
  for (const label of [
    'limit',
    'in flight',
    'capacity of the dependency',
    'drops',
    'mean latency',
    'deadline',
    'calls',
    'ms',
    'simulated time in seconds',
    'curves: seed 1; figures: means of 2 seeds',
  ]) {
    assert.ok(texts.includes(label), label);
  }
  const panels = byClass('panel');
  assert.equal(panels.length, 7);
  for (const panel of panels) {
    const inside = [];
    const collect = (node) => {
      inside.push(node);
      node.children.forEach(collect);
    };
    collect(panel);
    for (const part of ['limit', 'inflight', 'capacity', 'latency', 'drops', 'deadline']) {
      const paths = inside.filter(({ attributes }) => attributes.class === part);
      assert.equal(paths.length, 1, part);
      assert.match(paths[0].attributes.d, /^M[\d.]+ [\d.]+[LMvh]/, part);
      assert.doesNotMatch(paths[0].attributes.d, /NaN|Infinity|undefined/);
    }
  }
  const style = all.find((node) => node.name === 'style').text;
  assert.match(style, /prefers-color-scheme: dark/);
  for (const { attributes } of all) {
    for (const value of Object.values(attributes)) assert.doesNotMatch(value, /NaN|undefined/);
  }
});

test('a picture of nothing at all is well-formed too', async () => {
  const own = file('nothing.json', { ...SMALL, callers: { rate: 0 }, phases: [{ at: 0, workers: 0 }] });
  const { code, stdout } = await run('simulate', own, '--svg', 'nothing.svg');
  assert.equal(code, 0);
  assert.match(stdout, /^knee +- /m);
  const source = readFileSync(path.join(folder, 'nothing.svg'), 'utf8');
  assert.equal(parseXml(source).name, 'svg');
  assert.doesNotMatch(source, /NaN|undefined|Infinity/);
});

test('--list prints every name, --help every option', async () => {
  const list = await run('simulate', '--list');
  assert.deepEqual([list.code, list.stderr], [0, '']);
  assert.deepEqual(
    list.stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' ')[0]),
    scenarioNames(),
  );
  for (const args of [['--help'], ['simulate', '--help'], ['simulate', '-h']]) {
    const { code, stdout, stderr } = await run(...args);
    assert.deepEqual([code, stderr], [0, '']);
    for (const option of ['algorithm', 'seeds', 'svg', 'json', 'points', 'list', 'help']) {
      assert.match(stdout, new RegExp(`^ {2}--${option} `, 'm'));
    }
  }
});

file('broken.json', '{ "duration": }');
file('bad.json', { ...SMALL, dependency: { ...SMALL.dependency, workers: 0 } });
file('list.json', [1, 2]);
file('misspelled.json', { ...SMALL, phase: [] });
for (const [args, message] of [
  [[], /^resilience: name a command: resilience simulate <scenario>; see --help$/],
  [['simulat', 'steady'], /^resilience: 'simulat' is no command; did you mean 'simulate'\?; see --help$/],
  [['simulate'], /^resilience: name a scenario, or a file of JSON; --list prints the names$/],
  [['simulate', 'steady', 'slowdown'], /^resilience: simulate takes one scenario, not 2$/],
  [
    ['simulate', 'stedy'],
    /^resilience: scenario 'stedy' is unknown; did you mean 'steady'\? there are .*slowdown/,
  ],
  [
    ['simulate', 'steady', '--seed', '5'],
    /^resilience: Unknown option '--seed'; did you mean 'seeds'\?; see --help$/,
  ],
  [['simulate', 'steady', '--seeds'], /^resilience: Option '--seeds <value>' argument missing; see --help$/],
  [
    ['simulate', 'steady', '--seeds', 'few'],
    /^resilience: seeds must be an integer from 1 to 1000, not 'few'$/,
  ],
  [['simulate', 'steady', '--seeds', '0'], /^resilience: seeds must be an integer from 1 to 1000, not 0$/],
  [
    ['simulate', 'steady', '--points', '1'],
    /^resilience: points must be an integer from 10 to 10000, not 1$/,
  ],
  [
    ['simulate', 'steady', '--algorithm', 'knee,kne'],
    /^resilience: algorithms\[1\] 'kne' is unknown; did you mean 'knee'\?/,
  ],
  [['simulate', 'slowdown', '--algorithm', 'oracle'], /^resilience: algorithms\[0\] cannot be 'oracle'/],
  [['simulate', './missing.json'], /^resilience: cannot read \.\/missing\.json: ENOENT/],
  [['simulate', '.'], /^resilience: cannot read \.: EISDIR/],
  [['simulate', './broken.json'], /^resilience: \.\/broken\.json is no JSON: /],
  [
    ['simulate', './bad.json'],
    /^resilience: \.\/bad\.json: scenario\.dependency\.workers must be an integer from 1 to 100000, not 0$/,
  ],
  [['simulate', './list.json'], /^resilience: \.\/list\.json: scenario must be an object, not \[ 1, 2 \]$/],
  [
    ['simulate', './misspelled.json'],
    /^resilience: \.\/misspelled\.json: scenario\.phase is unknown; did you mean 'phases'\?/,
  ],
  [
    ['simulate', 'steady', '--svg', 'no/such/folder.svg'],
    /^resilience: cannot write no\/such\/folder\.svg: ENOENT/,
  ],
  [['simulate', 'steady', '--svg', '.', '--algorithm', 'fixed:5'], /^resilience: cannot write \.: EISDIR/],
]) {
  test(`resilience ${args.join(' ')}: one line, and exit code 2`, async () => {
    const { code, stdout, stderr } = await run(...args);
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' });
    const lines = stderr.trimEnd().split('\n');
    assert.equal(lines.length, 1, stderr);
    assert.match(lines[0], message);
  });
}

test(
  'Ctrl+C ends it with exit code 130 and leaves no file',
  { skip: process.platform === 'win32' },
  async () => {
    const own = file('long.json', LONG);
    const { child, ended } = start('simulate', own, '--svg', 'long.svg');
    // A long run says now and then how far it is.
    await new Promise((resolve) => child.stderr.once('data', resolve));
    child.kill('SIGINT');
    const { code, stdout, stderr } = await ended;
    assert.deepEqual({ code, stdout }, { code: 130, stdout: '' });
    assert.match(stderr, /^Simulating long: \d+ %, 0 of 4 runs\n/);
    assert.equal(existsSync(path.join(folder, 'long.svg')), false);
  },
);

test('a reader that goes away early is no error', { skip: process.platform === 'win32' }, async () => {
  const args = [command, 'simulate', 'slowdown', '--json', '--points', '10000', '--algorithm', 'knee'];
  const child = spawn(process.execPath, args, { timeout: 60_000 });
  child.stdout.once('data', () => child.stdout.destroy());
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
});

test('escape sequences in the names of a scenario reach the terminal as text', async () => {
  const evil = 'a\u001b]0;owned\u0007\u009b2J\r\u202ename\nline';
  const own = file('evil.json', {
    ...SMALL,
    name: evil,
    description: evil,
    callers: { ...[SMALL.callers].flat()[0], name: evil },
    windows: { [evil]: [0, 1] },
  });
  const wrong = file('wrong.json', { ...SMALL, [evil]: 1, name: evil });
  for (const args of [['simulate', own], ['simulate', own, '--json'], ['simulate', wrong], ['simulate', evil]]) {
    const { stdout, stderr } = await run(...args, '--algorithm', 'fixed:5');
    assert.notEqual(`${stdout}${stderr}`, '');
    for (const output of [stdout, stderr]) {
      assert.doesNotMatch(output, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e]/);
    }
    if (args.includes('--json')) assert.equal(JSON.parse(stdout).scenario, evil);
  }
});

test('a file of --svg that cannot be written is told before the simulation', async () => {
  const own = file('endless.json', LONG);
  for (const target of ['endless.json/out.svg', '.', `${'x'.repeat(300)}.svg`, 'no/such/out.svg']) {
    const { code, stderr } = await run('simulate', own, '--svg', target);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /^resilience: cannot write /);
  }
});
