import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

import { anchors, codeBlocks, firstColumns, headings } from './support/readme.mjs';

const root = fileURLToPath(new URL('..', import.meta.url)).replaceAll('\\', '/');
const contract = [`${root}index.d.ts`, `${root}http.d.ts`];
const options = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts'],
  module: ts.ModuleKind.NodeNext,
  types: ['node'],
  strict: true,
  noEmit: true,
};

/** Runs code as an ES module of this package; a hang fails by the kill. */
async function run(code) {
  const preloaded = new URL('./support/serve-once.mjs', import.meta.url).href;
  const args = ['--import', preloaded, '--input-type=module', '-'];
  const child = spawn(process.execPath, args, { cwd: root, timeout: 30_000, killSignal: 'SIGKILL' });
  child.stdin.end(code);
  const closed = new Promise((resolve) => child.once('close', (...end) => resolve(end)));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [exitCode, signal] = await closed;
  return { stdout, stderr, exitCode, signal };
}

/** Compiles sources that exist only here, by their path. */
function compile(sources) {
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile } = host;
  host.fileExists = (path) => sources.has(path) || fileExists(path);
  host.readFile = (path) => sources.get(path) ?? readFile(path);
  const program = ts.createProgram({ rootNames: [...sources.keys()], options, host });
  return ts.formatDiagnostics(ts.getPreEmitDiagnostics(program), host);
}

/** The names of the members of every exported type of the contract; of all members of a union. */
function exportedTypes() {
  const program = ts.createProgram({ rootNames: contract, options });
  const checker = program.getTypeChecker();
  const members = new Map();
  for (const path of contract) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(path));
    for (const exported of checker.getExportsOfModule(module)) {
      const target = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      const type = checker.getDeclaredTypeOfSymbol(target);
      const parts = type.isUnion() ? type.types : [type];
      const names = parts.flatMap((part) => part.getProperties().map((property) => property.name));
      members.set(exported.name, [...new Set(names)].sort());
    }
  }
  return members;
}

describe('the examples of the README', () => {
  for (const { line, code, output } of codeBlocks('js')) {
    test(`line ${line} runs and prints what it says`, async () => {
      const { stdout, stderr, exitCode, signal } = await run(code);
      assert.deepEqual({ exitCode, signal }, { exitCode: 0, signal: null }, stderr);
      assert.equal(stdout, output);
    });
  }

  test('those in TypeScript compile', () => {
    const sources = codeBlocks('ts').map(({ line, code }) => [`${root}readme-line-${line}.mts`, code]);
    assert.equal(compile(new Map(sources)), '');
  });

  test('there are examples of both kinds', () => {
    assert.ok(codeBlocks('js').length >= 15);
    assert.ok(codeBlocks('ts').length >= 3);
  });
});

describe('the tables of the README', () => {
  const types = exportedTypes();
  const tables = firstColumns('Option');

  for (const [name, described] of tables) {
    test(`${name} lists the options that exist`, () => {
      assert.deepEqual([...described].sort(), types.get(name));
    });
  }

  test('every type of options has a table', () => {
    const missing = [...types.keys()].filter((name) => name.endsWith('Options') && !tables.has(name));
    assert.deepEqual(missing, []);
  });

  test('the telemetry events are those that exist', () => {
    const [events] = firstColumns('Event').values();
    assert.deepEqual([...events].sort(), types.get('TelemetryEventArgs'));
  });
});

test('the links of the README lead to its headings', () => {
  const known = headings();
  assert.deepEqual(anchors().filter((anchor) => !known.includes(anchor)), []);
});
