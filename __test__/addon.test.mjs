// What users are told where the package is installed without its addon.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const platforms = readdirSync(path.join(root, 'npm')).sort();

/** The platform's name as napi has it, and as the message has it. */
const glibc = process.report.getReport().header.glibcVersionRuntime !== undefined;
const abi = { linux: glibc ? '-gnu' : '-musl', win32: '-msvc' }[process.platform] ?? '';
const libc = { '-gnu': ' (glibc)', '-musl': ' (musl)' }[abi] ?? '';
const here = `${process.platform}-${process.arch}${abi}`;
const machine = `${process.platform} ${process.arch}${libc}`;

const folder = mkdtempSync(path.join(os.tmpdir(), 'resilience-addon-'));
after(() => rmSync(folder, { recursive: true }));
const install = path.join(folder, 'node_modules/@ylcnfrht/resilience');
for (const file of ['package.json', 'index.js', 'binding.js', 'lib']) {
  cpSync(path.join(root, file), path.join(install, file), { recursive: true });
}

/** Installs the package of this platform, with something that is no addon. */
function installAddon(t) {
  const target = path.join(folder, 'node_modules/@ylcnfrht', `resilience-${here}`);
  t.after(() => rmSync(target, { recursive: true }));
  cpSync(path.join(root, 'npm', here), target, { recursive: true });
  writeFileSync(path.join(target, `resilience.${here}.node`), 'no library');
}

/** What requiring the package brings in a process of its own. */
function load(before = '', ...flags) {
  const source = `${before};
    try { require('@ylcnfrht/resilience'); } catch (error) { console.log(error.message); }`;
  return new Promise((resolve, reject) => {
    const args = [...flags, '--eval', source];
    execFile(process.execPath, args, { cwd: folder, timeout: 30_000 }, (error, stdout) =>
      error === null ? resolve(stdout.trim()) : reject(error),
    );
  });
}

test('a missing addon: one error with the platform, the package, and what to do', async () => {
  assert.equal(
    await load(),
    `@ylcnfrht/resilience misses its native addon for ${machine}: ` +
      `the package @ylcnfrht/resilience-${here}@${version} is not installed.
It is an optional dependency. --omit=optional and --no-optional leave it out, and so does npm where
package-lock.json or node_modules came from another platform (https://github.com/npm/cli/issues/4828).
Remove node_modules and package-lock.json, and install again without these options;
or add the package to your own: npm install @ylcnfrht/resilience-${here}@${version}`,
  );
});

test('a platform without a package: one error with those that have one', async () => {
  assert.equal(
    await load("Object.defineProperty(process, 'platform', { value: 'freebsd' })"),
    `@ylcnfrht/resilience has no prebuilt addon for freebsd ${process.arch}, only for ${platforms.join(', ')}.
Elsewhere it has to be built from source: https://github.com/ylcnfrht/resilience#install`,
  );
});

test('an addon that does not load: one error with the reason', async (t) => {
  installAddon(t);
  const [first, ...reason] = (await load()).split('\n');
  assert.equal(
    first,
    `@ylcnfrht/resilience cannot load its native addon for ${machine}, ` +
      `the package @ylcnfrht/resilience-${here}@${version}:`,
  );
  assert.ok(reason.join('\n').includes(`resilience.${here}.node`), reason.join('\n'));
});

test('addons that are disabled: one error with the option', async (t) => {
  installAddon(t);
  assert.equal(
    await load('', '--no-addons'),
    '@ylcnfrht/resilience may not load its native addon: ' +
      `Cannot load native addon because loading addons is disabled.
Node.js loads no addon with --no-addons, nor with --permission unless there is --allow-addons.`,
  );
});

test('what the loader says for another reason is left as it is', async () => {
  const expected = 'WASI binding not found and NAPI_RS_FORCE_WASI is set to error';
  assert.equal(await load("process.env.NAPI_RS_FORCE_WASI = 'error'"), expected);
});
