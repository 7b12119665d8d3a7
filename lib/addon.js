'use strict';

// Loads the addon. Where that fails, binding.js tells of all that it has tried; here that becomes what is
// missing on this machine, and the way out.

const { version } = require('./version.js');

/** The platforms that have a package in `npm/`. */
const PREBUILT = [
  'darwin-arm64',
  'darwin-x64',
  'linux-arm64-gnu',
  'linux-arm64-musl',
  'linux-x64-gnu',
  'linux-x64-musl',
  'win32-arm64-msvc',
  'win32-x64-msvc',
];

/** The C library by the end of a platform's name. */
const LIBC = [
  { end: '-gnu', name: ' (glibc)' },
  { end: '-musl', name: ' (musl)' },
];

/** @param {string[]} tried What was said of each place where an addon could be. */
function describe(tried) {
  const { name: root } = require('../package.json');
  const about = (/** @type {string} */ name) =>
    tried.find((message) => message.includes(`resilience-${name}`));
  const platform = PREBUILT.find((name) => about(name) !== undefined);
  const machine = `${process.platform} ${process.arch}`;
  const disabled = tried.find((message) => message.includes('loading addons is disabled'));
  if (disabled !== undefined) {
    return [
      `${root} may not load its native addon: ${disabled}`,
      'Node.js loads no addon with --no-addons, nor with --permission unless there is --allow-addons.',
    ];
  }
  if (platform === undefined) {
    return [
      `${root} has no prebuilt addon for ${machine}, only for ${PREBUILT.join(', ')}.`,
      'Elsewhere it has to be built from source: https://github.com/ylcnfrht/resilience#install',
    ];
  }
  const libc = LIBC.find(({ end }) => platform.endsWith(end))?.name ?? '';
  const wanted = `${root}-${platform}@${version}`;
  const reason = /** @type {string} */ (about(platform));
  if (!/^Cannot find (module|package)/.test(reason)) {
    return [`${root} cannot load its native addon for ${machine}${libc}, the package ${wanted}:`, reason];
  }
  return [
    `${root} misses its native addon for ${machine}${libc}: the package ${wanted} is not installed.`,
    'It is an optional dependency. --omit=optional and --no-optional leave it out, and so does npm where',
    'package-lock.json or node_modules came from another platform (https://github.com/npm/cli/issues/4828).',
    'Remove node_modules and package-lock.json, and install again without these options;',
    `or add the package to your own: npm install ${wanted}`,
  ];
}

/** @returns {typeof import('../binding.js')} */
function loadAddon() {
  try {
    return require('../binding.js');
  } catch (error) {
    const { message, cause } = /** @type {any} */ (error);
    // Anything else is not about what is installed.
    if (!String(message).startsWith('Cannot find native binding')) throw error;
    /** @type {string[]} */
    const tried = [];
    for (let attempt = cause; attempt; attempt = attempt.cause) tried.push(attempt.message);
    throw new Error(describe(tried).join('\n'));
  }
}

/**
 * Loads it once for all copies of this version: an addon that is initialised again knows the classes of the first time
 * no more.
 *
 * @returns {typeof import('../binding.js')}
 */
function shareAddon() {
  const key = Symbol.for(`@ylcnfrht/resilience.addon ${version}`);
  /** @type {any} */
  const realm = globalThis;
  if (realm[key] === undefined) Object.defineProperty(realm, key, { value: loadAddon() });
  return realm[key];
}

module.exports = { binding: shareAddon() };
