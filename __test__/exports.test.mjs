import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const require = createRequire(import.meta.url);
const ENTRIES = {
  '@ylcnfrht/resilience': 'index',
  '@ylcnfrht/resilience/http': 'http',
  '@ylcnfrht/resilience/simulate': 'simulate',
};

const pathOf = (file) => fileURLToPath(new URL(`../${file}.d.ts`, import.meta.url));
const program = ts.createProgram(Object.values(ENTRIES).map(pathOf), { skipLibCheck: true, noEmit: true });
const checker = program.getTypeChecker();
const exportsOf = (file) =>
  checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(pathOf(file))));
/** The names that a declaration file exports as values. */
const declaredValues = (file) =>
  exportsOf(file)
    .filter(({ flags }) => (flags & ts.SymbolFlags.Value) !== 0)
    .map(({ name }) => name)
    .sort();

for (const [entry, file] of Object.entries(ENTRIES)) {
  test(`${entry} exports what ${file}.d.ts declares, and nothing else`, () => {
    const declared = declaredValues(file);
    assert.ok(declared.length > 0);
    assert.deepEqual(Object.keys(require(entry)).sort(), declared);
  });

  test(`${entry}: every export can be imported by name, and is the one that require gives`, async () => {
    const namespace = await import(entry);
    const exported = require(entry);
    assert.equal(namespace.default, exported);
    for (const name of declaredValues(file)) assert.equal(namespace[name], exported[name], name);
  });
}

test('the files behind the entries cannot be reached', async () => {
  for (const path of ['lib/errors.js', 'binding.js', 'index.js', 'lib']) {
    assert.throws(() => require(`@ylcnfrht/resilience/${path}`), { code: 'ERR_PACKAGE_PATH_NOT_EXPORTED' });
  }
  assert.equal(require('@ylcnfrht/resilience/package.json').name, '@ylcnfrht/resilience');
});

test('classes have the names of their exports', () => {
  for (const [name, value] of Object.entries(require('@ylcnfrht/resilience'))) {
    if (/^[A-Z]/.test(name) && typeof value === 'function') assert.equal(value.name, name);
  }
});

/** Those with something to call or read, errors aside. */
const CLASSES = [
  'AdaptiveLimitProvider',
  'CircuitBreakerManualControl',
  'CircuitBreakerStateProvider',
  'PipelineBuilder',
  'ResiliencePipeline',
  'ResiliencePipelineBuilder',
];

test('the classes have the methods and getters that index.d.ts declares', () => {
  const symbols = exportsOf('index');
  const exported = require('@ylcnfrht/resilience');
  for (const name of CLASSES) {
    const type = checker.getDeclaredTypeOfSymbol(symbols.find((symbol) => symbol.name === name));
    const declared = type
      .getProperties()
      .map((property) => (/^__@dispose/.test(property.name) ? 'dispose()' : property.name));
    const actual = new Set();
    const { prototype: top } = Object;
    for (let own = exported[name].prototype; own !== top; own = Object.getPrototypeOf(own)) {
      for (const key of Reflect.ownKeys(own)) actual.add(typeof key === 'symbol' ? 'dispose()' : key);
    }
    actual.delete('constructor');
    assert.deepEqual([...actual].sort(), declared.sort(), name);
  }
});
