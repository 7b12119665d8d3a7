// Every set of strategies: `match` takes exactly the codes that they raise.
import assert from 'node:assert/strict';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

// The compiler's paths have forward slashes everywhere.
const root = fileURLToPath(new URL('../..', import.meta.url)).replaceAll('\\', '/');
const path = `${root}__test__/types/every-match.mts`;
const options = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts'],
  module: ts.ModuleKind.NodeNext,
  types: ['node'],
  strict: true,
  noEmit: true,
};

/** The codes that a strategy raises, and how each builder adds it. */
const STRATEGIES = [
  { codes: [], shortcut: 'addRetry()', added: 'add(retryStrategy())' },
  { codes: ['TIMEOUT'], shortcut: 'addTimeout(1)', added: 'add(timeoutStrategy(1))' },
  {
    codes: ['BULKHEAD_FULL'],
    shortcut: 'addConcurrencyLimiter(1)',
    added: 'add(concurrencyLimiterStrategy(1))',
  },
  {
    codes: ['RATE_LIMITED'],
    shortcut: 'addRateLimiter({ permitLimit: 1, window: 1 })',
    added: 'add(rateLimiterStrategy({ permitLimit: 1, window: 1 }))',
  },
  {
    codes: ['CIRCUIT_OPEN', 'CIRCUIT_ISOLATED'],
    shortcut: 'addCircuitBreaker()',
    added: 'add(circuitBreakerStrategy())',
  },
  { codes: ['QUOTA'], shortcut: 'add<QuotaError>(quota)', added: 'add<QuotaError>(quota)' },
];

const subsets = STRATEGIES.reduce((sets, one) => sets.flatMap((set) => [set, [...set, one]]), [[]]);

/** Whatever is required in a `match`, and again without each of it. */
function matches(outcome, codes) {
  const cases = ['ok', 'error', ...codes];
  const match = (names) => `${outcome}.match({ ${names.map((name) => `${name}: () => 1`).join(', ')} });`;
  return [match(cases), ...cases.map((missing) =>
    `// @ts-expect-error ${missing} is missing\n${match(cases.filter((name) => name !== missing))}`)];
}

function program() {
  const lines = [
    `import { PipelineBuilder, ResiliencePipelineBuilder, fallbackStrategy, retryStrategy, timeoutStrategy,`,
    `  concurrencyLimiterStrategy, rateLimiterStrategy, circuitBreakerStrategy, type CustomStrategy }`,
    `  from '@ylcnfrht/resilience';`,
    `declare class QuotaError extends Error { readonly code: 'QUOTA' }`,
    `declare const quota: () => CustomStrategy;`,
  ];
  for (const [index, set] of subsets.entries()) {
    const codes = set.flatMap((one) => one.codes);
    const shortcuts = set.map(({ shortcut }) => `.${shortcut}`).join('');
    const added = set.map((one) => `.${one.added}`).reverse().join('');
    const settle = `.build().settle(() => 1)`;
    lines.push(
      `const a${index} = await new ResiliencePipelineBuilder()${shortcuts}${settle};`,
      ...matches(`a${index}`, codes),
      `const b${index} = await new PipelineBuilder()${added}${settle};`,
      ...matches(`b${index}`, codes),
      `const caught${index} = await new PipelineBuilder()`
        + `.add(fallbackStrategy({ fallbackValue: 1 }))${added}${settle};`,
      ...matches(`caught${index}`, []),
    );
  }
  return lines.join('\n');
}

test('match demands the codes of every set of strategies, and no other', () => {
  const source = program();
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile } = host;
  host.fileExists = (name) => name === path || fileExists(name);
  host.readFile = (name) => (name === path ? source : readFile(name));
  const compiled = ts.createProgram({ rootNames: [path], options, host });
  assert.equal(ts.formatDiagnostics(ts.getPreEmitDiagnostics(compiled), host), '');
  assert.equal(subsets.length, 64);
  assert.equal(source.match(/@ts-expect-error/g).length, 2 * (64 * 2 + 64 * 3) + 64 * 2);
});
