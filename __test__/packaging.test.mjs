// The package as it is published: its tarball, checked by the tools of the trade and by its own links.

import assert from 'node:assert/strict';
import { execSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const tools = fileURLToPath(new URL('packaging', import.meta.url));
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

/** Of the package and the addon of one platform. */
const MOST_BYTES = { package: 2 ** 20, addon: 1.5 * 2 ** 20 };

const folder = mkdtempSync(path.join(os.tmpdir(), 'resilience-packaging-'));
after(() => rmSync(folder, { recursive: true }));

/** What npm says of the tarball; its bytes; what the tools make of them. */
let packed;
let tarball;
let contents;
let checkPackage;
let publint;
let parseYaml;

before(async () => {
  const [installed, locked] = ['node_modules/.package-lock.json', 'package-lock.json'].map((file) =>
    statSync(path.join(tools, file), { throwIfNoEntry: false }),
  );
  if (installed === undefined || installed.mtimeMs < locked.mtimeMs) {
    const stdio = ['ignore', 'ignore', 'inherit'];
    execSync('npm ci --ignore-scripts --no-audit --no-fund', { cwd: tools, stdio });
  }
  const output = execSync(`npm pack --json --pack-destination "${folder}"`, { cwd: root, encoding: 'utf8' });
  [packed] = JSON.parse(output);
  tarball = readFileSync(path.join(folder, readdirSync(folder)[0]));
  const load = (name) => import(createRequire(path.join(tools, 'package.json')).resolve(name));
  const attw = await load('@arethetypeswrong/core');
  ({ checkPackage } = attw);
  ({ publint } = await load('publint'));
  ({ load: parseYaml } = await load('js-yaml'));
  contents = attw.createPackageFromTarballData(tarball);
});

/** What leads from one file to another. */
const LINKS = {
  '.js': /require\('(\.[^']+)'\)|path\.join\(__dirname, '([^']+)'\)/g,
  '.ts': /(?:from|import\() ?'(\.[^']+)'/g,
};

/** The paths in the package of all files that `first` lead to: modules, types, and folders of data. */
function reach(first) {
  const text = (file) => contents.readFile(`/node_modules/${manifest.name}/${file}`);
  const reached = new Set(first.map((file) => path.posix.normalize(file)));
  for (const file of reached) {
    const pattern = LINKS[path.extname(file)];
    // binding.js names the addons of all systems, which are in packages of their own.
    const links = pattern === undefined || file === 'binding.js' ? [] : text(file).matchAll(pattern);
    for (const [, link, folder] of links) {
      const linked = path.posix.join(path.posix.dirname(file), link ?? folder);
      if (folder !== undefined) for (const name of filesIn(linked)) reached.add(name);
      else reached.add(file.endsWith('.d.ts') ? linked.replace(/\.js$/, '.d.ts') : linked);
    }
  }
  return reached;
}

const filesIn = (folder) =>
  packed.files.map(({ path: file }) => file).filter((file) => file.startsWith(`${folder}/`));

const workflow = (name) =>
  parseYaml(readFileSync(path.join(root, '.github/workflows', `${name}.yml`), 'utf8'));

/** All strings in a value of package.json. */
const strings = (value) =>
  typeof value === 'string' ? [value] : Object.values(value ?? {}).flatMap(strings);

test('publint has nothing to say', async () => {
  const { buffer, byteOffset, byteLength } = tarball;
  const pack = { tarball: buffer.slice(byteOffset, byteOffset + byteLength) };
  const { messages } = await publint({ pack, strict: true });
  assert.deepEqual(messages, []);
});

test('the types are right for every way of importing', async () => {
  const { problems, entrypoints } = await checkPackage(contents);
  assert.deepEqual(problems, []);
  assert.deepEqual(Object.keys(entrypoints), Object.keys(manifest.exports));
});

test('the tarball holds what is used, and nothing else', () => {
  const first = ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md'];
  const reached = reach([...first, ...strings(manifest.exports), ...strings(manifest.bin)]);
  const files = packed.files.map(({ path: file }) => file);
  assert.deepEqual(files.filter((file) => !reached.has(file)), []);
  assert.deepEqual([...reached].filter((file) => !files.includes(file)), []);
});

test('no script runs at an install, and nothing else is installed', () => {
  const { scripts, dependencies } = manifest;
  const atInstall = ['preinstall', 'install', 'postinstall', 'prepare'];
  assert.deepEqual(Object.keys(scripts).filter((name) => atInstall.includes(name)), []);
  assert.equal(dependencies, undefined);
});

test('the package and the addon of a platform are no larger than promised', (t) => {
  const addon = readdirSync(root).find((name) => name.endsWith('.node'));
  const addonBytes = statSync(path.join(root, addon)).size;
  t.diagnostic(`${packed.unpackedSize} bytes of the package, unpacked, and ${addonBytes} of ${addon}`);
  assert.ok(packed.unpackedSize <= MOST_BYTES.package, `${packed.unpackedSize} bytes`);
  assert.ok(addonBytes <= MOST_BYTES.addon, `${addonBytes} bytes`);
});

test('the release workflow builds and tests the addon of every target', () => {
  const { build, test: glibc, 'test-musl': musl } = workflow('release').jobs;
  const platforms = readdirSync(path.join(root, 'npm')).sort();
  const built = build.strategy.matrix.include;
  assert.deepEqual(built.map(({ target }) => target).sort(), [...manifest.napi.targets].sort());
  assert.deepEqual(built.map(({ platform }) => platform).sort(), platforms);
  const matrices = [glibc.strategy.matrix, musl.strategy.matrix];
  assert.deepEqual(matrices.flatMap(({ platform }) => platform).sort(), platforms);
  for (const { platform, include } of matrices) {
    assert.deepEqual(include.map((machine) => machine.platform), platform);
  }
});

test('the release workflow publishes what was tested, with provenance', () => {
  const { publish, ...others } = workflow('release').jobs;
  assert.deepEqual([...publish.needs].sort(), Object.keys(others).sort());
  assert.equal(publish.permissions['id-token'], 'write');
  assert.equal(publish.env.NPM_CONFIG_PROVENANCE, 'true');
});

test('the workflows run scripts that there are', () => {
  const steps = ['ci', 'release'].flatMap((name) =>
    Object.values(workflow(name).jobs).flatMap((job) => job.steps),
  );
  const commands = steps.map(({ run }) => run ?? '').join('\n');
  const scripts = [...commands.matchAll(/npm run (\S+)/g)].map(([, script]) => script);
  assert.ok(scripts.length > 0 && scripts.every((script) => script in manifest.scripts), String(scripts));
});
