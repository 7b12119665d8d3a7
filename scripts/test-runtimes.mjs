// npm run test:runtimes: the JavaScript tests on every runtime that the package supports, with the addon that
// was built here.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { DIFFERENCES } from '../__test__/runtimes/differences.mjs';
import { readOptions } from './options.mjs';
import { prepare } from './prepare.mjs';
import { fail, root, run } from './run.mjs';

/** All are npm packages, which bring the executable. */
const VERSIONS = {
  node20: '20.20.2',
  node22: '22.23.5',
  node24: '24.22.3',
  node26: '26.12.1',
  bun: '1.4.5',
  deno: '2.9.6',
};
const NAMES = Object.keys(VERSIONS);
/** A file of tests that takes longer hangs. */
const LONGEST_MS = 120_000;
const HELP = `Usage: npm run test:runtimes [-- --only ${NAMES.join('|')}]

Runs the tests in __test__/ on Node.js 20, 22, 24 and 26, on Bun and on Deno, and prints a table. Where Bun
and Deno differ from Node.js is in __test__/runtimes/differences.mjs; any other failure fails this command.
Needs the network once, and takes about half an hour.

  --only NAME   this runtime only
  --help        this text`;

const { only } = readOptions({ only: { type: 'string' } }, HELP);
if (only !== undefined && !NAMES.includes(only)) fail(`--only takes ${NAMES.join(', ')}; not '${only}'.`);
const home = path.join(root, 'target/runtimes');
const modules = path.join(home, 'node_modules');

await prepare();
await installRuntimes();
const files = readdirSync(path.join(root, '__test__'))
  .filter((name) => name.endsWith('.test.mjs'))
  .sort();
const rows = [];
for (const name of only === undefined ? NAMES : [only]) {
  console.log(`\n=== ${name} ${VERSIONS[name]}`);
  const started = performance.now();
  const counts = name.startsWith('node') ? await testNode(name) : await testFiles(name);
  rows.push({ name, ...counts, seconds: (performance.now() - started) / 1000 });
}

console.log('\nruntime  version      passed   differ   failed  seconds');
for (const { name, passed, differ, failed, seconds } of rows) {
  const numbers = [passed, differ, failed, seconds.toFixed(0)].map((number) => String(number).padStart(9));
  console.log(`${name.padEnd(8)} ${VERSIONS[name].padEnd(10)}${numbers.join('')}`);
}
if (rows.some(({ passed, failed }) => passed === 0 || failed > 0)) fail('Tests failed: see above.');

async function installRuntimes() {
  const versionOf = (name) => {
    const manifest = path.join(modules, name, 'package.json');
    return existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')).version : undefined;
  };
  if (NAMES.every((name) => versionOf(name) === VERSIONS[name])) return;
  console.log('Installing the runtimes (npm install in target/runtimes/) ...');
  const system = process.platform === 'win32' ? 'win' : process.platform;
  const prefix = system === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node';
  const packages = NAMES.map((name) =>
    name.startsWith('node')
      ? `${name}@npm:${prefix}-${system}-${process.arch}@${VERSIONS[name]}`
      : `${name}@${VERSIONS[name]}`,
  );
  mkdirSync(home, { recursive: true });
  const unsaved = '--no-save --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error';
  const command = `npm install --prefix . ${unsaved} ${packages.join(' ')}`;
  const code = await run(command, [], { shell: true, cwd: home });
  if (code !== 0) fail('The runtimes could not be installed (the message of npm is above).');
}

/** All files at once, as `npm test` has it. */
async function testNode(name) {
  const report = reportOf(name);
  const { bin } = JSON.parse(readFileSync(path.join(modules, name, 'package.json'), 'utf8'));
  const node = path.join(modules, name, bin.node);
  const reporters = ['--test-reporter=junit', `--test-reporter-destination=${report}`];
  const paths = files.map((file) => `__test__/${file}`);
  console.log(`Running ${paths.length} files (some minutes) ...`);
  const results = await runTests(report, [node, '--expose-gc', '--test', ...reporters], paths);
  return judge(name, 'all files', results);
}

/** A process for each file, as node:test has it on Node.js. */
async function testFiles(name) {
  const report = reportOf(name);
  const command = name === 'bun' ? bunTest(report) : denoTest(report);
  const total = { passed: 0, differ: 0, failed: 0 };
  const aside = DIFFERENCES[name].filter(({ tests }) => tests === undefined).map(({ file }) => file);
  for (const file of files.filter((candidate) => !aside.includes(candidate))) {
    const counts = judge(name, file, await runTests(report, command, [`./__test__/${file}`]));
    for (const key of Object.keys(total)) total[key] += counts[key];
  }
  return total;
}

function bunTest(report) {
  const [folder] = readdirSync(path.join(modules, '@oven'));
  const bun = path.join(modules, '@oven', folder, 'bin/bun');
  const reporter = ['--reporter=junit', `--reporter-outfile=${report}`];
  return [bun, 'test', '--timeout=60000', '--preload=./__test__/runtimes/bun.mjs', ...reporter];
}

function denoTest(report) {
  const [folder] = readdirSync(path.join(modules, '@deno'));
  const deno = path.join(modules, '@deno', folder, 'deno');
  const flags = ['--allow-all', '--no-check', '--v8-flags=--expose-gc'];
  return [deno, 'test', ...flags, '--preload=./__test__/runtimes/deno.mjs', `--junit-path=${report}`];
}

function reportOf(name) {
  return path.join(home, `${name}.xml`);
}

/**
 * Runs tests that write a report as JUnit's XML.
 *
 * @returns {Promise<{ test: string, passed: boolean }[]>} Empty if they did not come to their end.
 */
async function runTests(report, [executable, ...args], paths) {
  rmSync(report, { force: true });
  await new Promise((resolve) => {
    // What the tests print is in the report too.
    const child = spawn(executable, [...args, ...paths], { cwd: root, stdio: 'ignore' });
    const timer = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS * paths.length);
    child.once('error', resolve).once('close', () => resolve(clearTimeout(timer)));
  });
  if (!existsSync(report)) return [];
  const cases = /<testcase((?:\s+[\w-]+="[^"]*")*)\s*(?:\/>|>(.*?)<\/testcase>)/gs;
  return [...readFileSync(report, 'utf8').matchAll(cases)]
    .filter(([, , body = '']) => !body.includes('<skipped'))
    .map(([, attributes, body = '']) => ({
      test: unescape(/\sname="([^"]*)"/.exec(attributes)[1]),
      passed: !/<(failure|error)/.test(body),
    }));
}

/** Names every failure that is not one of the runtime's differences. */
function judge(name, file, results) {
  const known = (DIFFERENCES[name] ?? []).filter((difference) => difference.file === file);
  const failures = results.filter(({ passed }) => !passed);
  if (results.length === 0) failures.push({ test: 'no report: it crashed, or took too long', passed: false });
  const failed = failures.filter(({ test }) => !known.some(({ tests }) => tests.test(test)));
  const passed = results.filter((result) => result.passed).length;
  const counts = { passed, differ: failures.length - failed.length, failed: failed.length };
  console.log(`${file.padEnd(40)} ${counts.passed} passed, ${counts.differ} differ, ${counts.failed} failed`);
  for (const { test } of failed) console.log(`  FAILED  ${test}`);
  return counts;
}

function unescape(text) {
  const characters = { amp: '&', apos: "'", gt: '>', lt: '<', quot: '"' };
  return text.replace(/&(\w+);/g, (entity, name) => characters[name] ?? entity);
}
