'use strict';

// Asks the gates that a pipeline begins with whether a request may come in, before anything is made of it. Under
// overload most may not: such a request gets its answer, and no execution, no context, no listener, and no error
// unless somebody hears of it.

const { OutgoingMessage } = require('node:http');

const { afterCall } = require('../dispatch.js');
const { ask, isRefusal, readRefusal, returnAnswer } = require('../entry.js');
const { ResiliencePipeline, firstSegment } = require('../pipeline.js');
const { makeError, wholeMs } = require('../refusal.js');
const { EXEMPT, numberOf } = require('../strategies/rate-limiter.js');
const { connectionOf, emits, isGone, streamOf } = require('./connection.js');
const { Kind, Refusal, turnAway } = require('./turn-away.js');

/** @typedef {import('./admission.js').Admission} Admission */
/** @typedef {import('./admission.js').Exchange} Exchange */
/** @typedef {import('../segment.js').Segment} Segment */

/** What a request has been told at the door. */
class Pass {
  #segment;
  #answer;

  /**
   * @param {Segment} segment
   * @param {number} answer
   * @param {number | undefined} parameter
   * @param {string | number | undefined | null} rateKey
   */
  constructor(segment, answer, parameter, rateKey) {
    this.#segment = segment;
    this.#answer = answer;
    /** What the first gate was told. */
    this.parameter = parameter;
    /** What its permits are counted by; null if they are not. */
    this.rateKey = rateKey;
  }

  /** For the execution that enters. */
  take() {
    const answer = this.#answer;
    this.#answer = 0;
    return answer;
  }

  /** Gives back what no execution has come for. */
  giveBack() {
    if (this.#answer !== 0) returnAnswer(this.#segment, this.take());
  }
}

class Door {
  #admission;
  #segment;
  #rateKeyOf;
  #deadlineOf;
  /** By the code of the core. @type {Kind[]} */
  #kinds = [];

  /**
   * @param {Admission} admission
   * @param {Segment} segment
   * @param {ReturnType<typeof import('./inbound-options.js').readInbound>} settings
   */
  constructor(admission, segment, { rateKeyOf, deadlineOf }) {
    this.#admission = admission;
    this.#segment = segment;
    this.#rateKeyOf = rateKeyOf;
    this.#deadlineOf = deadlineOf;
  }

  /**
   * The door of a pipeline, unless it begins with what needs an execution: a strategy around the others, or a
   * function that is given the context.
   *
   * @param {Admission} admission
   * @param {ReturnType<typeof import('./inbound-options.js').readInbound>} settings
   */
  static of(admission, settings) {
    const { pipeline } = settings;
    // That of another copy of the package has another core.
    const segment = pipeline instanceof ResiliencePipeline ? firstSegment(pipeline) : undefined;
    if (segment === undefined || segment.gates.some(({ onRejected }) => onRejected !== undefined)) return undefined;
    const isTold = settings.rateKeyOf !== undefined || settings.deadlineOf !== undefined;
    return segment.parameter === undefined || isTold ? new Door(admission, segment, settings) : undefined;
  }

  /**
   * Whether a request can be asked for here. Events are told with the context of an execution.
   *
   * @param {Exchange} exchange
   */
  isOpen({ req, res }) {
    const { disposed, telemetry } = this.#segment;
    if (disposed || telemetry.hearsExecutions() || telemetry.hears('OnRateLimiterRejected')) return false;
    /** @type {any} */
    const connection = connectionOf(req);
    if (isGone(connection) || connection === req || !emits(connection)) return false;
    return !res.writableEnded && (res instanceof OutgoingMessage || streamOf(req) !== undefined);
  }

  /**
   * Asks for a request. One that is turned away is answered.
   *
   * @param {Exchange} exchange
   * @returns {Pass | undefined} Undefined for one that was turned away.
   */
  ask(exchange) {
    let rateKey = null;
    let parameter = NaN;
    if (this.#rateKeyOf !== undefined) {
      const key = this.#rateKeyOf(this.#admission, exchange);
      if (key !== EXEMPT) rateKey = key;
      else if (exchange.visit !== undefined) rateKey = exchange.visit.rateKey;
      parameter = numberOf(key, 'the result of key');
    } else if (this.#deadlineOf !== undefined) {
      parameter = this.#deadlineOf(exchange);
      // It is too late already, which its execution tells.
      if (parameter <= 0) return new Pass(this.#segment, 0, undefined, null);
    }
    const answer = ask(this.#segment, parameter);
    if (!isRefusal(answer)) return new Pass(this.#segment, answer, parameter, rateKey);
    this.#refuse(exchange, answer, rateKey);
    return undefined;
  }

  /**
   * Counts a request against its client's quota before it waits for anything else.
   *
   * @param {Exchange} exchange
   * @param {import('./visit.js').Visit} visit
   * @returns {boolean} False if the quota is used up, which the pipeline tells.
   */
  takeQuota(exchange, visit) {
    if (this.#rateKeyOf === undefined) return true;
    const key = this.#rateKeyOf(this.#admission, exchange);
    visit.quota = { key, isTaken: false };
    if (key === EXEMPT) return true;
    const answer = ask(this.#segment, numberOf(key, 'the result of key'));
    // Whatever the gates behind it say: they are asked again when the request starts.
    const isUsedUp = isRefusal(answer) && readRefusal(answer).gate === 0;
    visit.quota.isTaken = !isUsedUp && !Number.isNaN(answer);
    returnAnswer(this.#segment, answer);
    return !isUsedUp;
  }

  /**
   * @param {Exchange} exchange
   * @param {number} code
   * @param {string | number | undefined | null} rateKey
   */
  #refuse(exchange, code, rateKey) {
    const { active, queued, reason, retryAfterMs, gate: index } = readRefusal(code);
    afterCall();
    const admission = this.#admission;
    const { gates, telemetry } = this.#segment;
    const gate = gates[index];
    const { pipelineName } = telemetry;
    const kind = (this.#kinds[-code] ??= kindOf(gate, reason, pipelineName, admission));
    const refusal = new Refusal(kind, active, queued, wholeMs(retryAfterMs));
    turnAway(admission, exchange, kind, refusal, () => makeError(gate, /** @type {any} */ (refusal)), rateKey);
  }
}

/**
 * Refusals by one gate, for one reason.
 *
 * @param {import('../segment.js').Gate} gate
 * @param {string} reason
 * @param {string | undefined} pipelineName
 * @param {Admission} admission
 */
function kindOf(gate, reason, pipelineName, admission) {
  const one = { reason, active: 0, queued: 0, retryAfter: undefined, pipelineName, strategyName: gate.name };
  const { statusCode, code } = /** @type {any} */ (makeError(gate, one));
  return new Kind({ statusCode, code, reason, pipelineName, strategyName: gate.name }, admission);
}

module.exports = { Door, Pass };
