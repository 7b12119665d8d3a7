#!/usr/bin/env node
'use strict';

const { main } = require('../lib/simulate/command.js');

// Whoever reads the output may have seen enough, as `head` does.
process.stdout.on('error', (error) => {
  if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EPIPE') throw error;
});

main(process.argv.slice(2)).then((code) => {
  // Not process.exit(): what a pipe has not taken yet would be lost.
  process.exitCode = code;
});
