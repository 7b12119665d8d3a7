// Preloaded on Deno, for two things that differ from Node.js while tests run: node:test leaves mock timers on
// when a test ends; and a FinalizationRegistry is still told of what was collected when addons have been torn
// down, which no call into one survives.

import { afterEach, mock } from 'node:test';

afterEach(() => mock.timers.reset());

let unloaded = false;
addEventListener('unload', () => (unloaded = true));
const { FinalizationRegistry } = globalThis;
globalThis.FinalizationRegistry = class extends FinalizationRegistry {
  constructor(callback) {
    super((held) => unloaded || callback(held));
  }
};
