// Brings a fresh clone to the point where the package can be required: Node.js version, npm packages, native
// addon. Each step is skipped when there is nothing to do.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { fail, root, run } from './run.mjs';

const OLDEST_NODE = 20;
const RUST_HELP = 'Install Rust from https://rustup.rs, open a new terminal and try again.';
const LINKER_HELP = {
  darwin: 'Install the Xcode Command Line Tools (xcode-select --install).',
  win32: 'Install the Visual Studio Build Tools with "Desktop development with C++".',
  linux: 'Install gcc and the C headers (Debian, Ubuntu: apt install build-essential).',
};

export async function prepare() {
  checkNode();
  const stale = addonIsStale();
  // Before a download that would be for nothing.
  if (stale) await requireCargo();
  await installPackages();
  if (stale) await buildAddon();
}

/** Ends the script when cargo cannot run. With rustup, this fetches the toolchain of rust-toolchain.toml. */
export async function requireCargo() {
  const code = await run('cargo', ['--version'], { stdio: ['ignore', 'ignore', 'inherit'] });
  if (code === 127) fail(`This needs cargo, the Rust build tool, and did not find it. ${RUST_HELP}`);
  if (code !== 0) fail(`cargo is installed but does not run (its message is above). ${RUST_HELP}`);
}

function checkNode() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < OLDEST_NODE) {
    const present = process.versions.node;
    fail(`This needs Node.js ${OLDEST_NODE} or newer; you have ${present}. See https://nodejs.org.`);
  }
}

async function installPackages() {
  const installed = modifiedAt('node_modules/.package-lock.json');
  if (installed !== undefined && installed >= (modifiedAt('package-lock.json') ?? 0)) return;
  console.log('Installing npm packages (npm ci) ...');
  // One string through the shell: on Windows npm is a .cmd file, which spawn cannot start by itself.
  const code = await run('npm ci --no-audit --no-fund --loglevel=error', [], { shell: true });
  if (code !== 0) fail('npm ci failed (its message is above). It needs the network once.');
}

function addonIsStale() {
  const builtAt = addonBuiltAt();
  return builtAt === undefined || builtAt < newestInput() || modifiedAt('binding.js') === undefined;
}

async function buildAddon() {
  console.log('Building the native addon (about a minute the first time, seconds afterwards) ...');
  const started = performance.now();
  const napi = path.join(root, 'node_modules/@napi-rs/cli/dist/cli.js');
  const args = ['build', '--platform', '--release', '--js', 'binding.js', '--dts', 'binding.d.ts'];
  // cargo's messages arrive on stderr; on stdout the napi CLI only adds a stack of its own to a failure.
  const code = await run(process.execPath, [napi, ...args], { stdio: ['inherit', 'ignore', 'inherit'] });
  if (code !== 0) {
    const hint = missingLinker() ?? 'If there is no reason above: npx napi build --platform --release.';
    fail(`The native addon could not be built. ${hint}`);
  }
  console.log(`Built the native addon in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
}

/** rustc links through `cc`, except on Windows, where only its message tells whether a linker is missing. */
function missingLinker() {
  if (process.platform === 'win32') return `If link.exe was not found: ${LINKER_HELP.win32}`;
  if (spawnSync('cc', ['--version']).error === undefined) return undefined;
  const help = process.platform === 'darwin' ? LINKER_HELP.darwin : LINKER_HELP.linux;
  return `There is no C linker (cc). ${help}`;
}

/** The addon's file name ends in the ABI as well (-gnu, -musl, -msvc), which the prefix leaves open. */
function addonBuiltAt() {
  const prefix = `resilience.${process.platform}-${process.arch}`;
  const addon = readdirSync(root).find((name) => name.startsWith(prefix) && name.endsWith('.node'));
  return addon === undefined ? undefined : modifiedAt(addon);
}

function newestInput() {
  const sources = readdirSync(path.join(root, 'src'), { recursive: true });
  const inputs = [
    ...['Cargo.toml', 'Cargo.lock', 'build.rs', 'rust-toolchain.toml'],
    ...sources.map((file) => path.join('src', String(file))),
  ];
  return Math.max(...inputs.map((file) => modifiedAt(file) ?? 0));
}

/**
 * @param {string} file relative to the root
 * @returns {number | undefined} undefined when there is no such file
 */
function modifiedAt(file) {
  const full = path.join(root, file);
  return existsSync(full) ? statSync(full).mtimeMs : undefined;
}
