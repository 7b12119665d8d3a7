// Preloaded on Deno, where node:test leaves mock timers on when a test ends.

import { afterEach, mock } from 'node:test';

afterEach(() => mock.timers.reset());
