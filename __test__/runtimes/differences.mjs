// Where Bun and Deno differ from Node.js: the tests of a file that may fail there, or a whole file that is
// not run, and why. Any other failure is one of this package.

/** What is about this repository, its scripts or other tools, and not about the runtime. */
const REPOSITORY = [
  'addon.test.mjs',
  'fake-timers.test.mjs',
  'load.test.mjs',
  'memory.test.mjs',
  'packaging.test.mjs',
  'panics.test.mjs',
  'readme.test.mjs',
].map((file) => ({ file, why: 'about this repository, or about tools for Node.js' }));

/** @type {Record<string, { file: string, tests?: RegExp, why: string }[]>} */
export const DIFFERENCES = {
  bun: [
    ...REPOSITORY,
    { file: 'undici.test.mjs', why: 'undici is a module of its own there, without Agent.compose()' },
    { file: 'async-local-storage.test.mjs', tests: /^nothing keeps a store/, why: 'collects later, at times' },
    { file: 'clock-changes.test.mjs', tests: /^a wall clock/, why: 'needs a flag of Node.js' },
    { file: 'cluster.test.mjs', tests: /^processes that are killed/, why: 'does not spread connections' },
    { file: 'context.test.mjs', tests: /keeps no settled one alive$/, why: 'collects later' },
    { file: 'examples.test.mjs', tests: /^outbound-fetch/, why: 'uses undici' },
    { file: 'exports.test.mjs', tests: /cannot be reached$/, why: 'another code for an unknown path' },
    { file: 'http-connections.test.mjs', tests: /^(hundreds|each HTTP\/2)/, why: 'has other errors' },
    { file: 'http-disconnect.test.mjs', tests: /^a rejection that cannot/, why: 'can write it' },
    { file: 'http-express.test.mjs', tests: /^res.sendFile/, why: 'sends files in another way' },
    { file: 'http-native-streaming.test.mjs', tests: /cuts a stream off/, why: 'ends cut HTTP/2 streams' },
    { file: 'http-node.test.mjs', tests: /cuts it off/, why: 'ends cut HTTP/2 streams' },
    { file: 'http-unread-body.test.mjs', tests: /huge upload/, why: 'closes before the answer is read' },
    { file: 'option-fuzz.test.mjs', tests: /seed/, why: 'its messages about revoked proxies name no option' },
    { file: 'pauses.test.mjs', tests: /^a callback that hangs/, why: 'decides two turns later' },
    { file: 'process-exit.test.mjs', tests: /code 13|code 1$/, why: 'has other exit codes' },
    { file: 'refusals.test.mjs', tests: /carries no stack/, why: 'error.stack is undefined then' },
    { file: 'resilient-fetch-server.test.mjs', tests: /./, why: 'uses an Agent of undici' },
    { file: 'simulate-runs.test.mjs', tests: /thread is|at once/, why: 'no event loop figures; mocks stay' },
  ],
  deno: [
    ...REPOSITORY,
    { file: 'http-unread-body.test.mjs', why: 'one never ends: a client that asked to close' },
    { file: 'resilient-fetch-server.test.mjs', why: 'one never ends: an abort while a body is read' },
    { file: 'simulate-runs.test.mjs', why: 'one never ends: workers that are terminated amid runs' },
    { file: 'worker-threads.test.mjs', why: 'one never ends: workers that are terminated while they load' },
    { file: 'clock-changes.test.mjs', tests: /./, why: 'needs flags of Node.js' },
    { file: 'examples.test.mjs', tests: /^\S+\.mjs serves/, why: 'SIGTERM ends it at once' },
    { file: 'http-callbacks.test.mjs', tests: /^no report/, why: 'its HTTP/2 server ends the process' },
    { file: 'http-express.test.mjs', tests: /^Express [45]( > res.sendFile.*)?$/, why: 'sends otherwise' },
    { file: 'http-node.test.mjs', tests: /^no report/, why: 'its HTTP/2 server ends the process' },
    { file: 'native-faults.test.mjs', tests: /algorithm's answer/, why: 'mocks outlive the test before' },
    { file: 'pauses.test.mjs', tests: /^a callback that hangs/, why: 'decides two turns later' },
    { file: 'pauses.test.mjs', tests: /^a process that/, why: 'its children take other arguments' },
    { file: 'mock-timers.test.mjs', tests: /tool|mock timers/, why: 'mocks what was captured before, too' },
    { file: 'process-exit.test.mjs', tests: /code 13|^CASE 9: a forked/, why: 'has other exit codes' },
    { file: 'simulate-command.test.mjs', tests: /^Ctrl/, why: 'tells the signal sent, not the exit code' },
  ],
};
