import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

// The compiler's paths have forward slashes everywhere.
const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url)).replaceAll('\\', '/');
const directory = pathOf('.');
const contract = [pathOf('../../index.d.ts'), pathOf('../../http.d.ts')];
const simulator = pathOf('../../simulate.d.ts');

/** Compiles, as if the packages of that name were not installed. */
function compile(config, ...missing) {
  const path = pathOf(config);
  const { config: json, error } = ts.readConfigFile(path, ts.sys.readFile);
  assert.equal(error, undefined);
  const parsed = ts.parseJsonConfigFileContent(json, ts.sys, directory, undefined, path);
  const { options } = parsed;
  const host = ts.createCompilerHost(options);
  host.resolveModuleNameLiterals = (names, from, redirected, _options, source) =>
    names.map((name) => {
      if (missing.includes(name.text)) return { resolvedModule: undefined };
      const mode = ts.getModeForUsageLocation(source, name, options);
      return ts.resolveModuleName(name.text, from, options, host, undefined, redirected, mode);
    });
  const program = ts.createProgram({ rootNames: parsed.fileNames, options, host });
  const diagnostics = [...parsed.errors, ...ts.getPreEmitDiagnostics(program)];
  return {
    roots: parsed.fileNames.map((name) => basename(name)).sort(),
    sources: program.getSourceFiles().map((file) => file.fileName),
    report: ts.formatDiagnostics(diagnostics, {
      getCanonicalFileName: (name) => name,
      getCurrentDirectory: () => directory,
      getNewLine: () => '\n',
    }),
  };
}

const sources = (extensions) => readdirSync(directory).filter((name) => extensions.test(name)).sort();

for (const [config, roots] of [
  ['tsconfig.json', sources(/\.[cm]ts$/)],
  ['tsconfig.bundler.json', sources(/\.mts$/)],
  ['tsconfig.dom.json', sources(/\.[cm]ts$/)],
  // The types of some frameworks have errors of their own.
  ['tsconfig.frameworks.json', ['http-frameworks.mts']],
  ['tsconfig.self-reference.json', [
    'circuit-breaker.mts',
    'commonjs.cts',
    'custom-strategy.mts',
    'hedging.mts',
    'http-plain.mts',
    'options.mts',
    'outcome.mts',
    'pipeline-builder.mts',
    'rate-limiter.mts',
    'retry.mts',
    'seed-shedding-express.mts',
    'simulate.mts',
    'standard-pipeline.mts',
  ]],
]) {
  test(`${config}: the type tests compile`, () => {
    const compiled = compile(config);
    assert.equal(compiled.report, '');
    assert.deepEqual(compiled.roots, roots);
    for (const path of contract) assert.ok(compiled.sources.includes(path), path);
    assert.equal(compiled.sources.includes(simulator), roots.includes('simulate.mts'));
  });
}

test('tsconfig.no-express.json: the contract needs no types of Express nor of a browser', () => {
  const compiled = compile('tsconfig.no-express.json');
  assert.equal(compiled.report, '');
  for (const path of [...contract, simulator]) assert.ok(compiled.sources.includes(path), path);
  assert.deepEqual(compiled.sources.filter((name) => /@types\/express|lib\.dom/.test(name)), []);
});

test('tsconfig.no-frameworks.json: the contract compiles where Fastify is not installed', () => {
  const compiled = compile('tsconfig.no-frameworks.json', 'fastify');
  assert.equal(compiled.report, '');
  assert.deepEqual(compiled.roots, ['http-no-fastify.mts']);
  assert.ok(compiled.sources.includes(contract[1]));
  assert.deepEqual(compiled.sources.filter((name) => name.includes('/node_modules/fastify/')), []);
});
