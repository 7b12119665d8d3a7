'use strict';

const own = require('../../index.js');
const cases = require('./cases.js');

const VARIANTS = [
  { options: {}, hasClock: true },
  { options: { doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate'] }, hasClock: true },
  { options: { doNotFake: ['Date', 'performance', 'hrtime'] }, hasClock: false },
  { options: { legacyFakeTimers: true }, hasClock: false },
];

afterEach(() => {
  jest.useRealTimers();
});

describe.each(VARIANTS)('$options', ({ options, hasClock }) => {
  let installed = false;
  const tool = {
    hasClock,
    install() {
      if (!installed) jest.useFakeTimers(options);
      installed = true;
    },
    uninstall() {
      jest.useRealTimers();
      installed = false;
    },
    advance: (ms) => void jest.advanceTimersByTime(ms),
    ...(!options.legacyFakeTimers && {
      advanceAsync: async (ms) => void (await jest.advanceTimersByTimeAsync(ms)),
      setDate: (date) => void jest.setSystemTime(date),
    }),
    runAll: () => void jest.runAllTimers(),
    count: () => jest.getTimerCount(),
    load() {
      let copy;
      jest.isolateModules(() => {
        copy = require('../../index.js');
      });
      return copy;
    },
  };
  afterEach(tool.uninstall);
  test.each(Object.entries(cases))('%s', (_name, run) => run(tool, own));
});
