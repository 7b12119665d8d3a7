'use strict';

// An interceptor for undici's dispatchers. It speaks undici's handler protocol and needs nothing else of it.

const { readOutbound } = require('./outbound-rules.js');
const { UndiciRequest } = require('./undici-request.js');

/** @typedef {(options: any, handler: any) => boolean} Dispatch */

/**
 * Makes each request of a dispatcher one execution of `pipeline`.
 *
 * @param {unknown} pipeline
 * @param {unknown} [options] `OutboundOptions`.
 */
function resilienceInterceptor(pipeline, options) {
  const outbound = readOutbound('resilienceInterceptor', pipeline, options);
  return (/** @type {Dispatch} */ dispatch) => (/** @type {any} */ request, /** @type {any} */ handler) => {
    // A tunnel has no response to decide by, and cannot be taken back once it is there.
    if (request.upgrade || request.method === 'CONNECT') return dispatch(request, handler);
    return new UndiciRequest(dispatch, request, handler, outbound).run(outbound.pipeline);
  };
}

module.exports = { resilienceInterceptor };
