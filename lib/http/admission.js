'use strict';

// What all adapters share: the way of a request into its pipeline. Knows Node's request and response, and no
// framework.

const { skillsOf } = require('../copies.js');
const { watchServer } = require('../loop-turns.js');
const { typeError } = require('../options.js');
const { defineReadOnly } = require('../read-only.js');
const { QUOTA } = require('../strategies/rate-limiter.js');
const { call, warn } = require('../telemetry.js');
const { AbandonedRequests } = require('./abandoned-requests.js');
const { Door } = require('./door.js');
const { DrainTime } = require('./drain-time.js');
const { UnderWay, endIfDisposed } = require('./going-away.js');
const { readInbound } = require('./inbound-options.js');
const { InboundRequest } = require('./inbound-request.js');
const { hasVisited, isCountedBy } = require('./layers.js');
const { linkToNative, outermostOf } = require('./observe.js');
const { Overload } = require('./overload.js');
const { quotaHeaders } = require('./quota-headers.js');
const { StallGuard } = require('./stall.js');
const { isUpgrade } = require('./upgrade.js');

/** The `context.properties` key of the framework's request object. */
const HTTP_REQUEST = '@ylcnfrht/resilience.httpRequest';

/**
 * A request and its response, as an adapter hands them over.
 *
 * @typedef {object} Exchange
 * @property {import('node:http').IncomingMessage} req
 * @property {import('node:http').ServerResponse} res
 * @property {any} subject The framework's own request object.
 * @property {() => unknown} handle Starts the handler. A promise that it returns tells of the end of its work, and of
 *   a failure which no framework has caught.
 * @property {(error: unknown) => void} fail Takes an error that is none of ours, if the handler was not started.
 * @property {() => Iterable<[string, any]>} [headers] What the framework holds back of the response's headers.
 * @property {(reason: any) => void} [aborted] The handler's context is aborted: what that fails by from now on may be
 *   because of it.
 * @property {() => void} [answered] The response is ours from now on: the framework has to keep off it.
 * @property {import('./visit.js').Visit} [visit] What the gate of the event loop has of it.
 */

class Admission {
  /** Late writes that were swallowed. */
  swallowed = 0;
  drainTime = new DrainTime();
  underWay = new UnderWay();
  /** Cuts off clients that take nothing of their answers. @type {StallGuard | undefined} */
  #stall;
  abandoned;
  #settings;
  #door;
  #overload;
  /** By code and reason. @type {Record<string, Record<string, number>>} */
  #rejected = {};

  /**
   * @param {import('./inbound-options.js').Framework} framework
   * @param {unknown} options
   */
  constructor(framework, options) {
    /** The client's address, by the framework's own request. */
    this.addressOf = framework.addressOf;
    this.#settings = readInbound(framework, options);
    const { pipeline, guardsBody, stallMs } = this.#settings;
    this.pipeline = pipeline;
    /** Of the copy of the package that the pipeline is of. @type {import('../pipeline.js').Skills} */
    this.skills = skillsOf(pipeline, 'ResiliencePipeline');
    this.skills.onDisposed(pipeline, () => this.underWay.goAway());
    if (stallMs !== undefined) this.#stall = new StallGuard(this.underWay.requests, stallMs);
    this.abandoned = new AbandonedRequests(pipeline);
    /** Whether a deadline guards the whole response and not only its first byte. */
    this.guardsBody = guardsBody;
    /** Whether a gate learns from latency. */
    this.measures = this.skills.measures(pipeline);
    this.problemDetails = this.#settings.problemDetails;
    this.headers = this.#settings.headers;
    /** Whether it tells clients what they have left. */
    this.hasQuota = this.#settings.quota !== undefined && this.headers !== false;
    this.#door = Door.of(this, this.#settings);
    const { overload } = this.#settings;
    this.#overload = overload && new Overload(this, overload, this.#settings);
  }

  /**
   * Takes a request through the pipeline. An upgrade passes by, and so does a request that the pipeline has taken
   * already, through this middleware or another: it would wait for its own permit.
   *
   * @param {Exchange} exchange
   * @returns {unknown} What the handler returns, if nothing stands around it.
   */
  admit(exchange) {
    const { req, res, subject, handle, fail } = exchange;
    if (!isObject(req)) return fail(typeError('the request', 'an object', req));
    if (isUpgrade(req)) return handle();
    if (!isObject(res)) return fail(typeError('the response', 'an object', res));
    const outermost = outermostOf(req);
    if (isCountedBy(outermost, this.pipeline)) {
      linkToNative(subject, req);
      return handle();
    }
    const skipped = this.#skip(exchange);
    if (skipped !== undefined) return skipped.result;
    if (this.#overload === undefined || hasVisited(outermost)) return this.enter(exchange, outermost);
    return this.#overload.offer(exchange, outermost);
  }

  /**
   * @param {Exchange} exchange
   * @param {InboundRequest | undefined} outermost The one that the first middleware of its response has made.
   */
  enter(exchange, outermost) {
    const { fail } = exchange;
    /** @type {import('./door.js').Pass | undefined} */
    let pass;
    if (outermost === undefined && this.#door?.isOpen(exchange)) {
      try {
        pass = this.#door.ask(exchange);
      } catch (error) {
        return fail(error);
      }
      if (pass === undefined) return undefined;
    }
    try {
      return this.#take(exchange, outermost, pass);
    } finally {
      pass?.giveBack();
    }
  }

  /**
   * @param {Exchange} exchange
   * @param {InboundRequest | undefined} outermost
   * @param {import('./door.js').Pass | undefined} pass
   */
  #take(exchange, outermost, pass) {
    const { req, subject, fail } = exchange;
    linkToNative(subject, req);
    const request = new InboundRequest(this, exchange, outermost, pass);
    let execution;
    try {
      request.observe();
    } catch (error) {
      exchange.visit?.end();
      return fail(error);
    }
    try {
      const { prepare, storage } = this.skills;
      const around = storage.getStore();
      // A server may have been made inside of another's request: that has nothing to do with its requests.
      const detached = findRequest(this.skills, (other) => other.req === req) === undefined;
      const inherited = around?.properties.get(HTTP_REQUEST) === subject;
      const properties = inherited ? undefined : new Map();
      properties?.set(HTTP_REQUEST, subject);
      const options = { properties, detached };
      execution = prepare(this.pipeline, (context) => request.start(context), options, request);
    } catch (error) {
      request.refuse(error);
      return undefined;
    }
    request.run(execution);
    return undefined;
  }

  /**
   * Knows its server before a request does.
   *
   * @param {unknown} server
   */
  serves(server) {
    if (this.#overload !== undefined) watchServer(server);
  }

  /**
   * Counts a request against its client's quota ahead of its start.
   *
   * @param {Exchange} exchange
   * @param {import('./visit.js').Visit} visit
   * @returns {boolean} False if that is used up.
   */
  takeQuota(exchange, visit) {
    return this.#door?.takeQuota(exchange, visit) ?? true;
  }

  /**
   * Learns when the work of a handler that is being started ends, where its framework takes care of the rest.
   *
   * @param {import('node:http').IncomingMessage} req
   * @param {unknown} handled What the handler returned. Only of a promise is it known that asking for its end does
   *   nothing else.
   */
  follow(req, handled) {
    if (!(handled instanceof Promise)) return;
    const isIt = (/** @type {InboundRequest} */ request) => request.admission === this && request.req === req;
    findRequest(this.skills, isIt)?.follow(handled.then(none, none));
  }

  /**
   * @param {Exchange} exchange
   * @returns {{ result: unknown } | undefined} Of a request that is none of its business.
   */
  #skip({ req, res, subject, handle, fail }) {
    const { skip } = this.#settings;
    if (skip === undefined) return undefined;
    let skipped;
    try {
      skipped = skip(subject);
    } catch (error) {
      return { result: fail(error) };
    }
    if (!skipped) return undefined;
    endIfDisposed(this.pipeline, req, res);
    return { result: handle() };
  }

  /** @param {InboundRequest} request */
  began(request) {
    this.underWay.add(request);
    this.#stall?.watch();
  }

  /** @param {InboundRequest} request */
  ended(request) {
    request.exchange.visit?.end();
    endIfDisposed(this.pipeline, request.req, request.res);
    if (this.#stall === undefined || !StallGuard.isPending(request)) this.underWay.requests.delete(request);
  }

  /**
   * Whether an answer of the handler's is a sign of overload.
   *
   * @param {any} request
   * @param {number} statusCode
   */
  isDrop(request, statusCode) {
    const { shouldDrop } = this.#settings;
    if (shouldDrop === undefined) return statusCode === 503 || statusCode === 504;
    try {
      return shouldDrop({ request, statusCode });
    } catch (error) {
      warn(error);
      return false;
    }
  }

  /**
   * What a request's client has left.
   *
   * @param {string | number | undefined | null} rateKey Null if it needs no permit.
   * @param {{ code?: string, retryAfter?: number }} [refusal] Of a request that was refused.
   * @returns {import('./quota-headers.js').Quota | undefined}
   */
  quotaOf(rateKey, refusal) {
    const { quota } = this.#settings;
    if (quota === undefined || !this.hasQuota || rateKey === null) return undefined;
    const { name, limiter } = quota;
    const { remaining, resetMs, windowMs } = limiter[QUOTA](rateKey);
    const waitMs = refusal?.code === 'RATE_LIMITED' ? refusal.retryAfter : undefined;
    return {
      name,
      limit: limiter.permitLimit,
      windowS: Math.ceil(windowMs / 1000),
      remaining,
      resetS: Math.ceil((waitMs ?? resetMs) / 1000),
    };
  }

  /** Whether the user is told of those. */
  get hearsRejections() {
    return this.#settings.onRejected !== undefined;
  }

  /**
   * What a client is told that it has left, of all quotas that it is counted against.
   *
   * @param {readonly import('./quota-headers.js').Quota[]} quotas
   * @param {{ code?: string }} [refusal] Of a request that was refused.
   */
  quotaHeaders(quotas, refusal) {
    const { capacity } = this.#settings;
    const capacities = refusal?.code === 'BULKHEAD_FULL' && capacity !== undefined ? [capacity] : [];
    return quotas.length + capacities.length === 0 ? {} : quotaHeaders(this.headers, quotas, capacities);
  }

  /**
   * Counts a request that was answered in its handler's place.
   *
   * @param {string} code
   * @param {string} [reason]
   */
  count(code, reason = code) {
    const counts = (this.#rejected[code] ??= {});
    counts[reason] = (counts[reason] ?? 0) + 1;
  }

  /**
   * Tells the user of a request that was answered in its handler's place.
   *
   * @param {any} request
   * @param {unknown} error
   */
  tellRejected(request, error) {
    const { onRejected } = this.#settings;
    if (onRejected !== undefined) call(onRejected, { request, error }, warn);
  }

  /**
   * Gives what the user gets what he reads and ends it by.
   *
   * @template {object} T
   * @param {T} target
   */
  expose(target) {
    const whose = this.#settings.where;
    defineReadOnly(target, 'pipeline', whose, { value: this.pipeline, enumerable: true });
    defineReadOnly(target, 'overload', whose, { value: this.#overload?.live, enumerable: true });
    defineReadOnly(target, 'swallowed', whose, { get: () => this.swallowed, enumerable: true });
    defineReadOnly(target, 'abandoned', whose, { get: () => this.abandoned.size, enumerable: true });
    defineReadOnly(target, 'rejected', whose, { get: () => structuredClone(this.#rejected), enumerable: true });
    defineReadOnly(target, 'dispose', whose, { value: () => this.dispose() });
    return target;
  }

  dispose() {
    this.pipeline.dispose();
  }
}

/** @param {unknown} value */
const isObject = (value) => typeof value === 'object' && value !== null;

/**
 * The nearest of the requests that the calling code is a part of.
 *
 * @param {import('../pipeline.js').Skills} skills
 * @param {(request: InboundRequest) => boolean} test
 */
function findRequest({ ResilienceContext, storage }, test) {
  const isIt = (/** @type {object} */ listener) => listener instanceof InboundRequest && test(listener);
  return /** @type {InboundRequest | undefined} */ (ResilienceContext.findListener(storage.getStore(), isIt));
}

const none = () => {};

module.exports = { Admission, HTTP_REQUEST };
