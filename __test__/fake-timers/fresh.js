'use strict';

const path = require('node:path');

const root = path.join(__dirname, '../..');

/** Loads a copy of the package of its own, where modules are Node's. */
module.exports = function loadFresh() {
  for (const file of Object.keys(require.cache)) {
    if (path.relative(root, file).startsWith(`lib${path.sep}`) || file === path.join(root, 'index.js')) {
      delete require.cache[file];
    }
  }
  return require('../../index.js');
};
