'use strict';

// The scenarios that come with the package, each a file of JSON.

const { readFileSync, readdirSync } = require('node:fs');
const path = require('node:path');

const { typeError } = require('../options.js');
const { didYouMean } = require('../nearest.js');

const FOLDER = path.join(__dirname, '../../scenarios');
/** Describes a scenario, and is none. */
const SCHEMA = 'schema';

function scenarioNames() {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length))
    .filter((name) => name !== SCHEMA)
    .sort();
}

/** @param {unknown} name */
function readScenario(name) {
  if (typeof name !== 'string') throw typeError('the name of the scenario', 'a string', name);
  const names = scenarioNames();
  if (!names.includes(name)) {
    const hint = didYouMean(name, names) || ';';
    throw new RangeError(`scenario '${name}' is unknown${hint} there are ${names.join(', ')}`);
  }
  return JSON.parse(readFileSync(path.join(FOLDER, `${name}.json`), 'utf8'));
}

module.exports = { readScenario, scenarioNames };
