// npm test: every check of the repository, in one verb. All of them run, also after a failure; the summary at
// the end says which failed and how long each took.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { readOptions } from './options.mjs';
import { prepare, requireCargo } from './prepare.mjs';
import { fail, root, run } from './run.mjs';

const GROUPS = ['js', 'rust', 'types'];
const HELP = `Usage: npm test [-- --only ${GROUPS.join('|')}]

  --only js     the generated files and the Node.js tests
  --only rust   cargo fmt, clippy and test
  --only types  tsc over the JavaScript, and the type tests`;

const steps = [
  { name: 'generated files', groups: ['js'], run: checkGenerated },
  { name: 'cargo fmt', groups: ['rust'], run: () => run('cargo', ['fmt', '--check']) },
  {
    name: 'cargo clippy',
    groups: ['rust'],
    run: () => run('cargo', ['clippy', '--all-targets', '--all-features', '--', '-D', 'warnings']),
  },
  { name: 'cargo test', groups: ['rust'], run: () => run('cargo', ['test']) },
  {
    name: 'tsc',
    groups: ['types'],
    run: () => run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json']),
  },
  { name: 'node tests', groups: ['js', 'types'], run: runNodeTests },
];

const only = readGroup();
await prepare();
const chosen = steps.filter(({ groups }) => only === undefined || groups.includes(only));
if (chosen.some(({ groups }) => groups.includes('rust'))) await requireCargo();

const results = [];
for (const step of chosen) {
  console.log(`\n=== ${step.name}`);
  const started = performance.now();
  const code = await step.run();
  results.push({ name: step.name, passed: code === 0, seconds: (performance.now() - started) / 1000 });
}

console.log('\n=== summary');
for (const { name, passed, seconds } of results) {
  console.log(`${passed ? 'ok    ' : 'FAILED'}  ${name.padEnd(18)} ${seconds.toFixed(1).padStart(6)} s`);
}
const failed = results.filter(({ passed }) => !passed).map(({ name }) => name);
if (failed.length > 0) fail(`Failed: ${failed.join(', ')}.`);
console.log('\nEverything passed.');

/** @returns {string | undefined} the chosen group */
function readGroup() {
  const { only: group } = readOptions({ only: { type: 'string' } }, HELP);
  if (group === undefined || GROUPS.includes(group)) return group;
  return fail(`--only takes ${GROUPS.join(', ')}; not '${group}'.`);
}

/** Against git's index, so that what was regenerated on purpose passes as soon as it is added. */
async function checkGenerated() {
  const inCheckout = (await run('git', ['rev-parse', '--is-inside-work-tree'], { stdio: 'ignore' })) === 0;
  if (!inCheckout) {
    console.log('Not a git checkout: nothing to compare with.');
    return 0;
  }
  const napi = ['node_modules/@napi-rs/cli/dist/cli.js', 'create-npm-dirs'];
  const made = await run(process.execPath, napi, { stdio: 'ignore' });
  if (made !== 0) return made;
  const files = ['binding.js', 'binding.d.ts', 'npm'];
  const code = await run('git', ['--no-pager', 'diff', '--exit-code', '--', ...files]);
  if (code !== 0) console.log('The napi CLI generates other files than git has: review and `git add` them.');
  return code;
}

/** An explicit list of files, because `node --test` takes no glob on Node.js 20. */
function runNodeTests() {
  const folder = only === 'types' ? '__test__/types' : '__test__';
  const files = readdirSync(path.join(root, folder), { recursive: true })
    .map((file) => path.join(folder, String(file)))
    .filter((file) => file.endsWith('.test.mjs') && !file.includes('node_modules'))
    .sort();
  if (files.length === 0) {
    console.log(`There is no test under ${folder}.`);
    return 1;
  }
  return run(process.execPath, ['--expose-gc', '--test', ...files]);
}
