'use strict';

// The second public entry: names and nothing else. The contract is http.d.ts.

const { HTTP_REQUEST } = require('./lib/http/admission.js');
const { resilienceMiddleware } = require('./lib/http/express.js');

module.exports.HTTP_REQUEST = HTTP_REQUEST;
module.exports.resilienceMiddleware = resilienceMiddleware;
