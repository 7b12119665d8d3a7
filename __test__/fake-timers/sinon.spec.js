'use strict';

// Without a test runner: Sinon replaces `process.nextTick` too, and what runners queue there would be lost.

const sinon = require('sinon');
const own = require('../../index.js');
const cases = require('./cases.js');
const load = require('./fresh.js');

const VARIANTS = [
  { hasClock: true },
  { toFake: ['setTimeout', 'clearTimeout'], hasClock: false },
  { toFake: ['setTimeout', 'clearTimeout', 'Date'], hasClock: true },
  {
    toFake: ['setTimeout', 'clearTimeout', 'performance', 'nextTick', 'queueMicrotask', 'setImmediate'],
    hasClock: true,
  },
];

/** @returns {import('./cases.js').Tool} */
function fakeTimers({ toFake, hasClock }) {
  let clock;
  return {
    hasClock,
    load,
    install() {
      clock ??= sinon.useFakeTimers({ toFake });
    },
    uninstall() {
      clock?.restore();
      clock = undefined;
    },
    advance: (ms) => void clock.tick(ms),
    advanceAsync: async (ms) => void (await clock.tickAsync(ms)),
    setDate: (date) => void clock.setSystemTime(date),
    runAll: () => void clock.runAll(),
    count: () => clock.countTimers(),
  };
}

async function main() {
  let passed = 0;
  for (const variant of VARIANTS) {
    const tool = fakeTimers(variant);
    for (const [name, run] of Object.entries(cases)) {
      try {
        await run(tool, own);
        passed += 1;
      } catch (error) {
        process.exitCode = 1;
        tool.uninstall();
        console.error(`${name} (${variant.toFake ?? 'default'}):`, error);
      }
      tool.uninstall();
    }
  }
  console.log(JSON.stringify({ passed }));
}

main();
