// Runs the same cases under the fake timers of every tool, each by the tool itself.

import assert from 'node:assert/strict';
import { execFile, execSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('fake-timers', import.meta.url));

/** 15 cases in 4 variants. */
const TESTS = 60;

before(() => {
  if (existsSync(path.join(folder, 'node_modules'))) return;
  const stdio = ['ignore', 'ignore', 'inherit'];
  execSync('npm ci --ignore-scripts --no-audit --no-fund', { cwd: folder, stdio });
});

/** Runs a tool, which has to pass, and returns the report that it prints. */
function report(...args) {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: folder, timeout: 120_000 }, (error, stdout, stderr) => {
      assert.equal(error, null, `${stdout}\n${stderr}`);
      resolve(JSON.parse(stdout));
    });
  });
}

test('every deadline follows the fake timers of Vitest', async () => {
  const args = ['run', 'vitest.spec.mjs', '--pool=threads', '--reporter=json'];
  const { numPassedTests, numTotalTests } = await report('node_modules/vitest/vitest.mjs', ...args);
  assert.deepEqual([numPassedTests, numTotalTests], [TESTS, TESTS]);
});

test('every deadline follows the fake timers of Jest, modern and legacy', async () => {
  const args = ['--json', '--silent', '--watchman=false'];
  const { numPassedTests, numTotalTests } = await report('node_modules/jest/bin/jest.js', ...args);
  assert.deepEqual([numPassedTests, numTotalTests], [TESTS, TESTS]);
});

test('Jest finds no open handle', async () => {
  const args = ['--json', '--silent', '--watchman=false', '--detectOpenHandles'];
  const { numPassedTests, openHandles } = await report('node_modules/jest/bin/jest.js', ...args);
  assert.deepEqual([numPassedTests, openHandles], [TESTS, []]);
});

test('every deadline follows the fake timers of Sinon', async () => {
  assert.deepEqual(await report('sinon.spec.js'), { passed: TESTS });
});
