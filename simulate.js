'use strict';

// The third public entry: names and nothing else. The contract is simulate.d.ts.

const { readScenario, scenarioNames } = require('./lib/simulate/named.js');
const { simulate } = require('./lib/simulate/simulate.js');

module.exports.readScenario = readScenario;
module.exports.scenarioNames = scenarioNames;
module.exports.simulate = simulate;
