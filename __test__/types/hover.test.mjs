import assert from 'node:assert/strict';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expected } from './expected-hovers.mjs';

// The compiler's paths have forward slashes everywhere.
const directory = fileURLToPath(new URL('.', import.meta.url)).replaceAll('\\', '/');
const { config } = ts.readConfigFile(`${directory}tsconfig.json`, ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, directory);

// The documentation shows a hover without its kind, and an imported value as if it were declared in place.
function asShown(text) {
  if (text.startsWith('(alias) interface')) return text;
  return text
    .replace(/\nimport .*$/, '')
    .replace(/^\(alias\) (?=\w+[(<])/, 'function ')
    .replace(/^\([a-z ]+\) /, '');
}

const registry = ts.createDocumentRegistry();

/** What an editor shows over every identifier of a file, in order. */
function hovers(name) {
  const path = `${directory}${name}`;
  const service = ts.createLanguageService({
    ...ts.sys,
    useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
    getScriptFileNames: () => [path],
    getScriptVersion: () => '1',
    getScriptSnapshot: (file) => {
      const text = ts.sys.readFile(file);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => directory,
    getCompilationSettings: () => options,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
  }, registry);
  const source = service.getProgram().getSourceFile(path);
  const found = [];
  const visit = (node) => {
    if (ts.isIdentifier(node)) {
      const info = service.getQuickInfoAtPosition(path, node.getStart(source));
      found.push({
        identifier: node.text,
        text: info && asShown(ts.displayPartsToString(info.displayParts)),
        docs: info && ts.displayPartsToString(info.documentation).replaceAll('\n', ' '),
      });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

for (const [name, entries] of Object.entries(expected)) {
  test(`${name}: hovering shows the documented types`, () => {
    const remaining = hovers(name);
    for (const [identifier, text, docs = ''] of entries) {
      const index = remaining.findIndex((hover) => hover.identifier === identifier);
      assert.notEqual(index, -1, `${identifier} is not in the rest of the file`);
      const [shown] = remaining.splice(0, index + 1).slice(-1);
      assert.equal(shown.text, text);
      assert.ok(shown.docs.includes(docs), `${identifier} is documented as ${JSON.stringify(shown.docs)}`);
    }
  });
}
