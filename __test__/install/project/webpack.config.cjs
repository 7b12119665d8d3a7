'use strict';

module.exports = {
  mode: 'production',
  target: 'node',
  entry: './bundled.mjs',
  output: { path: `${__dirname}/webpacked`, filename: 'bundle.cjs' },
  externalsType: 'commonjs',
  externals: [/^@ylcnfrht\/resilience(\/.*)?$/],
};
