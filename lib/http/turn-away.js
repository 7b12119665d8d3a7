'use strict';

// Answers requests of which nothing was made: no execution, no context, no listener, and no error unless somebody
// hears of it.

const { lastingAnswer, rawHeaders, retryAfterOf, toRaw } = require('./answer.js');
const { adoptHeaders, deliver } = require('./respond.js');

/** @typedef {import('./admission.js').Admission} Admission */

/**
 * @param {Admission} admission
 * @param {import('./admission.js').Exchange} exchange
 * @param {Kind} kind
 * @param {Refusal} refusal
 * @param {() => Error} toError
 * @param {string | number | undefined | null} rateKey What its permit is counted by; null if it is not.
 */
function turnAway(admission, exchange, kind, refusal, toError, rateKey) {
  const { subject, req, res } = exchange;
  admission.count(kind.code, kind.reason);
  if (admission.hearsRejections) admission.tellRejected(subject, toError());
  adoptHeaders(exchange);
  const quota = admission.quotaOf(rateKey, refusal);
  deliver(req, res, () => kind.answer(refusal, quota), toError, false);
  exchange.answered?.();
}

/** What refusals for one reason have in common. */
class Kind {
  #admission;
  #lasting;
  /** The headers of those whose client has no quota. */
  #withoutQuota;

  /**
   * @param {{ statusCode: number, code: string, reason: string, pipelineName: string | undefined,
   *   strategyName: string | undefined }} common
   * @param {Admission} admission
   */
  constructor({ statusCode, code, reason, pipelineName, strategyName }, admission) {
    this.statusCode = statusCode;
    this.code = code;
    this.reason = reason;
    this.pipelineName = pipelineName;
    this.strategyName = strategyName;
    this.#admission = admission;
    this.#lasting = toRaw(lastingAnswer(this, admission));
    this.#withoutQuota = [...this.#lasting.headers, ...rawHeaders(admission.quotaHeaders([], this))];
  }

  /**
   * @param {Refusal} refusal
   * @param {import('./quota-headers.js').Quota | undefined} quota
   * @returns {import('./answer.js').RawAnswer}
   */
  answer(refusal, quota) {
    const admission = this.#admission;
    const { statusCode, body, headers: lasting } = this.#lasting;
    const headers =
      quota === undefined
        ? this.#withoutQuota.slice()
        : [...lasting, ...rawHeaders(admission.quotaHeaders([quota], refusal))];
    const retryAfter = retryAfterOf(refusal, admission);
    if (retryAfter !== undefined) {
      headers.push('Retry-After', String(Math.max(retryAfter, quota?.remaining === 0 ? quota.resetS : 0)));
    }
    return { statusCode, headers, body };
  }
}

/** One of them, as an error and its answer tell it. */
class Refusal {
  /**
   * @param {Kind} kind
   * @param {number} active
   * @param {number} queued
   * @param {number | undefined} retryAfter
   */
  constructor({ statusCode, code, reason, pipelineName, strategyName }, active, queued, retryAfter) {
    this.statusCode = statusCode;
    this.code = code;
    this.reason = reason;
    this.active = active;
    this.queued = queued;
    this.retryAfter = retryAfter;
    this.pipelineName = pipelineName;
    this.strategyName = strategyName;
  }
}

module.exports = { Kind, Refusal, turnAway };
