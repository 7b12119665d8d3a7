'use strict';

// Bundles by webpack, without its command line.
const webpack = require('webpack');

webpack(require('./webpack.config.cjs'), (error, stats) => {
  if (error === null && !stats.hasErrors()) return;
  console.error(error ?? stats.toString({ all: false, errors: true }));
  process.exitCode = 1;
});
