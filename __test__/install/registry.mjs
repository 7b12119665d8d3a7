// A registry on this machine, and the package in it as the release workflow publishes it.

import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

/** What a target's triple has of this machine. */
const CPU = { arm64: 'aarch64', x64: 'x86_64' }[process.arch];
const SYSTEM = { darwin: 'apple', linux: 'linux', win32: 'windows' }[process.platform];

/** The addon that was built here, and its platform's name, which is that of a folder in `npm/`. */
const addon = readdirSync(root).find((name) => name.startsWith('resilience.') && name.endsWith('.node'));
const platform = addon.split('.')[1];

/** The package with the addon of this machine. */
export const platformPackage = `${manifest.name}-${platform}@${manifest.version}`;

/**
 * Starts a registry that knows this package only: all others come from where they always come from.
 *
 * @param {string} folder for its files
 * @returns {Promise<string>} its address
 */
export async function startRegistry(folder) {
  const { runServer } = createRequire(import.meta.url)('verdaccio');
  const server = await runServer({
    configPath: path.join(folder, 'config.yaml'),
    self_path: folder,
    storage: path.join(folder, 'storage'),
    uplinks: {},
    packages: { '**': { access: '$all', publish: '$all' } },
    log: { type: 'stdout', format: 'pretty', level: 'fatal' },
    web: { enable: false },
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}/`;
}

/**
 * Copies what is published, and the package of this machine with its addon, to a folder.
 *
 * @param {string} folder
 * @returns {string} The options with which the napi CLI publishes from there.
 */
export function stage(folder) {
  const npm = execFileSync('npm pack --dry-run --json', { cwd: root, encoding: 'utf8', shell: true });
  const [{ files }] = JSON.parse(npm);
  for (const { path: file } of files) cpSync(path.join(root, file), path.join(folder, file));
  const target = path.join(folder, 'npm', platform);
  cpSync(path.join(root, 'npm', platform), target, { recursive: true });
  cpSync(path.join(root, addon), path.join(target, addon));

  // The napi CLI insists on the addons of all targets that it is told of.
  const targets = manifest.napi.targets.filter(
    (triple) =>
      triple.startsWith(CPU) && triple.includes(SYSTEM) && triple.endsWith(platform.split('-')[2] ?? ''),
  );
  const config = path.join(folder, 'napi.json');
  writeFileSync(config, JSON.stringify({ ...manifest.napi, targets }));
  return ['pre-publish', '--tag-style', 'npm', '--no-gh-release', '--config-path', config];
}
