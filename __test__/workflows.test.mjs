import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';

const FOLDER = new URL('../.github/workflows/', import.meta.url);
const workflows = readdirSync(FOLDER).map((name) => [name, readFileSync(new URL(name, FOLDER), 'utf8')]);
const release = workflows.find(([name]) => name === 'release.yml')[1];

/** The shell lines of a workflow: behind `run:`, and what is indented below it. */
function shellLines(source) {
  const lines = [];
  let depth = Infinity;
  for (const line of source.split('\n')) {
    const indent = line.search(/\S/);
    if (indent > depth) lines.push(line);
    else depth = Infinity;
    const run = /^( *(?:- )?)run:(.*)$/.exec(line);
    if (run === null) continue;
    depth = run[1].length;
    lines.push(run[2]);
  }
  return lines;
}

for (const [name, source] of workflows) {
  test(`${name} pins every action by its commit, and leaves no token in a checkout`, () => {
    const uses = source.split('\n').filter((line) => line.includes('uses:'));
    assert.ok(uses.length > 0);
    for (const line of uses) assert.match(line, /uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d/);
    const checkouts = source.match(/uses: actions\/checkout@/g).length;
    assert.equal(source.match(/persist-credentials: false/g).length, checkouts);
  });

  test(`${name} puts no expression into a shell line`, () => {
    const lines = shellLines(source);
    assert.ok(lines.length > 2);
    for (const line of lines) assert.doesNotMatch(line, /\$\{\{/);
  });
}

test('the token of npm is seen by the step that publishes, and by nothing before it', () => {
  const secrets = release.split('secrets.').length - 1;
  assert.equal(secrets, 1);
  const step = release.slice(release.indexOf('- name: Publish'));
  assert.match(step, /secrets\.NPM_TOKEN/);
  assert.doesNotMatch(step, /npm ci|npm install/);
});

test('a run that was started by hand publishes nothing, also on a tag', () => {
  const publish = release.slice(release.indexOf('\n  publish:'));
  assert.match(publish, /\n {4}if: github\.event_name == 'push' && github\.ref_type == 'tag'\n/);
});
