import { createRequire } from 'node:module';
import { afterEach, describe, test, vi } from 'vitest';

// As Vitest does it for an installed package: by Node itself.
const require = createRequire(import.meta.url);
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

afterEach(() => {
  vi.useRealTimers();
});

describe.each(VARIANTS)('$toFake', ({ toFake, hasClock }) => {
  const tool = {
    hasClock,
    load,
    install() {
      if (!vi.isFakeTimers()) vi.useFakeTimers({ toFake });
    },
    uninstall: () => void vi.useRealTimers(),
    advance: (ms) => void vi.advanceTimersByTime(ms),
    advanceAsync: async (ms) => void (await vi.advanceTimersByTimeAsync(ms)),
    setDate: (date) => void vi.setSystemTime(date),
    runAll: () => void vi.runAllTimers(),
    count: () => vi.getTimerCount(),
  };
  test.each(Object.entries(cases))('%s', (_name, run) => run(tool, own));
});
