import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

import { codeBlocks, deadLinks, firstColumns, pages } from './support/readme.mjs';

const root = fileURLToPath(new URL('..', import.meta.url)).replaceAll('\\', '/');
const contract = ['index', 'http', 'simulate'].map((entry) => `${root}${entry}.d.ts`);
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

for (const page of pages) {
  describe(`the examples of ${page}`, { concurrency: 4 }, () => {
    for (const { line, code, output } of codeBlocks(page, 'js')) {
      test(`line ${line} runs and prints what it says`, async () => {
        const { stdout, stderr, exitCode, signal } = await run(code);
        assert.deepEqual({ exitCode, signal }, { exitCode: 0, signal: null }, stderr);
        assert.equal(stdout, output);
      });
    }

    test('those in TypeScript compile', () => {
      const place = `${root}${page.replaceAll(/\W/g, '-')}`;
      const sources = codeBlocks(page, 'ts').map(({ line, code }) => [`${place}-line-${line}.mts`, code]);
      assert.equal(compile(new Map(sources)), '');
    });

    test('its links lead somewhere', () => {
      assert.deepEqual(deadLinks(page), []);
    });
  });
}

test('there are examples of both kinds', () => {
  const count = (language) => pages.flatMap((page) => codeBlocks(page, language)).length;
  assert.ok(count('js') >= 50);
  assert.ok(count('ts') >= 4);
});

describe('the tables of the pages', () => {
  const types = exportedTypes();
  const tables = firstColumns('Option');

  for (const [name, described] of [...tables, ...firstColumns('Field')]) {
    test(`${name} lists what exists`, () => {
      assert.deepEqual([...described].sort(), types.get(name));
    });
  }

  // A type that another extends, or has as a part, is in the table of the other.
  test('every option has a place in a table', () => {
    const options = [...types].filter(([name]) => name.endsWith('Options') && !tables.has(name));
    const listed = [...tables.values()];
    const isListed = (names) => listed.some((described) => names.every((name) => described.includes(name)));
    assert.deepEqual(options.filter(([, names]) => !isListed(names)), []);
  });

  test('the telemetry events are those that exist', () => {
    const [events] = firstColumns('Event').values();
    assert.deepEqual([...events].sort(), types.get('TelemetryEventArgs'));
  });
});
