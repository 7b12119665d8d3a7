// npm run test:install: publishes the package to a registry on this machine, and installs and uses it from
// there as any other package, in empty folders outside of the repository.
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { readOptions } from './options.mjs';
import { prepare } from './prepare.mjs';
import { fail, root, run } from './run.mjs';

const HELP = `Usage: npm run test:install

Publishes the package and the addon of this machine to a registry on this machine, installs them in empty
folders with npm and pnpm, and runs servers, tests, a TypeScript project, bundles and Next.js there. Takes a
few minutes, needs the network for the packages beside ours, and leaves nothing behind.`;

const NAME = '@ylcnfrht/resilience';
const napi = path.join(root, 'node_modules/@napi-rs/cli/dist/cli.js');
const tools = path.join(root, '__test__/install');
const project = path.join(tools, 'project');
const pnpm = path.join(tools, 'node_modules/pnpm/bin/pnpm.cjs');
const posix = process.platform !== 'win32';

readOptions({}, HELP);
await prepare();
if (!existsSync(path.join(tools, 'node_modules'))) {
  console.log('Installing the registry and pnpm (npm ci in __test__/install/) ...');
  const options = { cwd: tools, shell: true };
  const code = await run('npm ci --ignore-scripts --no-audit --no-fund --loglevel=error', [], options);
  if (code !== 0) fail('npm ci failed there (its message is above). It needs the network once.');
}
const { platformPackage, stage, startRegistry } = await import('../__test__/install/registry.mjs');

const folder = mkdtempSync(path.join(os.tmpdir(), 'resilience-install-'));
/** A cache of its own: at the next run, another package has the same name and version. */
const env = { ...process.env, npm_config_cache: path.join(folder, 'cache'), npm_config_audit: 'false' };
let running;
cleanUpAtTheEnd();

const registry = await startRegistry(folder);
const scope = `@ylcnfrht:registry=${registry}\n`;
await publish();
await useWithNpm();
await useBundle();
await useNext();
await useWithPnpm();
await useWithoutAddon();
console.log('\nEverything passed.');
process.exit();

async function publish() {
  const cwd = path.join(folder, 'stage');
  const args = stage(cwd);
  const userconfig = path.join(folder, 'publisher');
  // The registry takes packages from everyone, but npm sends none without a token.
  writeFileSync(userconfig, `${scope}${registry.slice('http:'.length)}:_authToken=none\n`);
  const options = { cwd, env: { ...env, npm_config_userconfig: userconfig } };
  await step(`publish ${platformPackage}`, [process.execPath, napi, ...args], options);
  await step(`publish ${NAME}`, ['npm', 'publish'], options);
}

async function useWithNpm() {
  const cwd = makeFolder('npm', project);
  const node = (name, ...args) => step(name, [process.execPath, ...args], { cwd });
  await step('npm install', ['npm', 'install', NAME], { cwd });
  await node('Express, CommonJS', 'express.cjs');
  await node('Fastify, ES modules', 'fastify.mjs');
  for (const resolution of ['nodenext', 'bundler']) {
    const config = `tsconfig.${resolution}.json`;
    await node(`TypeScript, ${resolution}`, 'node_modules/typescript/bin/tsc', '-p', config);
    await node('  what it made', `${resolution}/typed.mjs`);
  }
  await node('Vitest', 'node_modules/vitest/vitest.mjs', 'run', 'deadline.spec.mjs');
  await node('Jest', 'node_modules/jest/bin/jest.js', '--watchman=false');
  const esbuild = ['npm', 'exec', '--', 'esbuild', 'bundled.mjs', '--bundle', '--platform=node'];
  const bundle = path.join(makeFolder('bundle'), 'bundle.cjs');
  await step('esbuild', [...esbuild, `--external:${NAME}-*`, `--outfile=${bundle}`], { cwd });
  await node('webpack', 'webpack.cjs');
  await node('  the bundle', 'webpacked/bundle.cjs');
  rmSync(path.join(cwd, 'node_modules'), { recursive: true });
  await step('npm ci', ['npm', 'ci'], { cwd });
  await node('  Express again', 'express.cjs');
}

/** Beside the bundle there is the addon only. */
async function useBundle() {
  const cwd = path.join(folder, 'bundle');
  await step('npm install, for the bundle', ['npm', 'install', platformPackage], { cwd });
  await step('  the bundle', [process.execPath, 'bundle.cjs'], { cwd });
}

async function useNext() {
  const cwd = makeFolder('next', path.join(tools, 'next'));
  const quiet = { cwd, env: { ...env, NEXT_TELEMETRY_DISABLED: '1' } };
  await step('npm install, with Next.js', ['npm', 'install', NAME], { cwd });
  await step('  next build', [process.execPath, 'node_modules/next/dist/bin/next', 'build'], quiet);
  await step('  a route handler', [process.execPath, 'ask.mjs'], quiet);
}

async function useWithPnpm() {
  const cwd = makeFolder('pnpm', project);
  const cache = `--config.cache-dir=${path.join(folder, 'cache')}`;
  const store = ['--store-dir', path.join(folder, 'store'), cache];
  await step('pnpm add', [process.execPath, pnpm, 'add', NAME, ...store], { cwd });
  await step('  Express, CommonJS', [process.execPath, 'express.cjs'], { cwd });
  await step('  Fastify, ES modules', [process.execPath, 'fastify.mjs'], { cwd });
  rmSync(path.join(cwd, 'node_modules'), { recursive: true });
  const frozen = [process.execPath, pnpm, 'install', '--frozen-lockfile', ...store];
  await step('pnpm install --frozen-lockfile', frozen, { cwd });
  await step('  Express again', [process.execPath, 'express.cjs'], { cwd });
}

async function useWithoutAddon() {
  const cwd = makeFolder('without-addon');
  const load = [process.execPath, '--eval', `require('${NAME}')`];
  await step('npm install --omit=optional', ['npm', 'install', '--omit=optional', NAME], { cwd });
  const fails = /misses its native addon .+: (npm install @\S+)$/ms;
  const [, repair] = await step('  fails, and says what to do', load, { cwd, fails });
  if (repair !== `npm install ${platformPackage}`) fail(`The error says '${repair}'.`);
  await step(`  ${repair}`, [...repair.split(' '), '--omit=optional'], { cwd });
  await step('  is repaired', load, { cwd });
}

/** Makes a folder for an install from the registry, with the files of `source`. */
function makeFolder(name, source) {
  const made = path.join(folder, name);
  mkdirSync(made);
  if (source !== undefined) cpSync(source, made, { recursive: true });
  writeFileSync(path.join(made, '.npmrc'), scope);
  return made;
}

/**
 * Runs a command, and ends the script with its output if it fails; where there is `fails`, unless it fails
 * with an output that matches.
 *
 * @returns {Promise<RegExpMatchArray | null>} the match
 */
async function step(name, [command, ...args], { fails, ...options }) {
  process.stdout.write(`${name.padEnd(52)} `);
  const started = performance.now();
  // On Windows npm is a .cmd file, which only a shell starts.
  const shell = command === 'npm' && !posix;
  const stdio = ['ignore', 'pipe', 'pipe'];
  // A process group of its own, to be ended with all its children.
  running = spawn(command, args, { env, shell, detached: posix, stdio, ...options });
  let output = '';
  for (const stream of [running.stdout, running.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  }
  const code = await new Promise((resolve) => running.once('error', resolve).once('close', resolve));
  running = undefined;
  const match = output.match(fails ?? '');
  const passed = fails === undefined ? code === 0 : code === 1 && match !== null;
  const seconds = (performance.now() - started) / 1000;
  console.log(`${passed ? 'ok    ' : 'FAILED'} ${seconds.toFixed(1).padStart(6)} s`);
  if (!passed) fail(`${[command, ...args].join(' ')} (exit code ${code}) said:\n${output}`);
  return match;
}

/** Also after Ctrl+C: nothing that was started goes on, and nothing is left in the temporary folder. */
function cleanUpAtTheEnd() {
  for (const [signal, number] of Object.entries({ SIGHUP: 1, SIGINT: 2, SIGTERM: 15 })) {
    process.once(signal, () => process.exit(128 + number));
  }
  process.once('exit', () => {
    if (posix && running?.pid !== undefined) process.kill(-running.pid, 'SIGKILL');
    else running?.kill();
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });
}
