'use strict';

// What all adapters share: options, the inbound pipeline, and the way of a request through it. Knows Node's
// request and response, and no framework.

const { ResiliencePipelineBuilder } = require('../builder.js');
const { getResilienceContext } = require('../context.js');
const { name: readName, readOptions, typeError } = require('../options.js');
const { ResiliencePipeline, measures, prepare, repeats } = require('../pipeline.js');
const { InboundRequest } = require('./inbound-request.js');
const { respond } = require('./respond.js');

/** The `context.properties` key of the framework's request object. */
const HTTP_REQUEST = '@ylcnfrht/resilience.httpRequest';

const OPTIONS = /** @type {const} */ (['timeout', 'concurrency', 'pipeline', 'name']);

class Admission {
  /** Late writes that were swallowed. */
  swallowed = 0;

  /**
   * @param {string} where What takes the options.
   * @param {unknown} options
   */
  constructor(where, options) {
    const { pipeline, guardsBody } = readPipeline(where, options);
    this.pipeline = pipeline;
    /** Whether a deadline guards the whole response and not only its first byte. */
    this.guardsBody = guardsBody;
    /** Whether a gate learns from latency. */
    this.measures = measures(pipeline);
  }

  /**
   * Takes a request through the pipeline.
   *
   * @param {import('node:http').IncomingMessage} req
   * @param {import('node:http').ServerResponse} res
   * @param {object} subject The framework's own request object.
   * @param {() => void} handle Starts the handler.
   * @param {(error: unknown) => void} fail Takes an error that is none of ours, if the handler was not started.
   */
  admit(req, res, subject, handle, fail) {
    const request = new InboundRequest(this, req, res, subject, handle, fail);
    let execution;
    try {
      const inherited = getResilienceContext()?.properties.get(HTTP_REQUEST) === subject;
      const properties = inherited ? undefined : new Map([[HTTP_REQUEST, subject]]);
      execution = prepare(this.pipeline, (context) => request.start(context), { properties }, request);
    } catch (error) {
      respond(res, error);
      return;
    }
    request.run(execution);
  }

  dispose() {
    this.pipeline.dispose();
  }
}

/**
 * @param {string} where
 * @param {unknown} options
 */
function readPipeline(where, options) {
  const { timeout, concurrency, pipeline, name } = readOptions(where, options, OPTIONS);
  if (pipeline !== undefined) {
    if (timeout !== undefined || concurrency !== undefined || name !== undefined) {
      throw new TypeError(`${where} takes either pipeline or timeout, concurrency and name, not both`);
    }
    if (!(pipeline instanceof ResiliencePipeline)) {
      throw typeError('pipeline', 'a ResiliencePipeline', pipeline);
    }
    if (repeats(pipeline)) {
      throw new TypeError('pipeline must be one without retry and hedging: a request is handled once');
    }
    return { pipeline, guardsBody: false };
  }
  if (timeout === undefined && concurrency === undefined) {
    throw new TypeError(`${where} needs timeout, concurrency or pipeline: without one it protects nothing`);
  }
  const builder = new ResiliencePipelineBuilder({ name: readName('name', name, 'http') });
  if (concurrency !== undefined) {
    builder.addConcurrencyLimiter(
      readOptions('concurrency', concurrency, ['permitLimit', 'queueLimit', 'queueTimeout']),
    );
  }
  const { duration, body } = readTimeout(timeout);
  if (duration !== undefined) builder.addTimeout({ timeout: duration });
  return { pipeline: builder.build(), guardsBody: body };
}

/** @param {unknown} timeout */
function readTimeout(timeout) {
  if (typeof timeout !== 'object') return { duration: timeout, body: false };
  const { timeout: duration, body = false } = readOptions('timeout', timeout, ['timeout', 'body']);
  if (typeof body !== 'boolean') throw typeError('body', 'a boolean', body);
  return { duration: duration ?? NaN, body };
}

module.exports = { Admission, HTTP_REQUEST };
