'use strict';

// Stands before everything else: the gate of the event loop, for the requests of one admission. One that it refuses
// gets its answer and nothing else is made of it; one that has to wait comes in when it starts.

const { OverloadRejectedError } = require('../errors.js');
const loop = require('../event-loop.js');
const turns = require('../loop-turns.js');
const { report } = require('../native.js');
const { immediate, typeError } = require('../options.js');
const { readOnly } = require('../read-only.js');
const { withoutStack } = require('../refusal.js');
const { setTimeout } = require('../turn.js');
const { connectionOf, isGone } = require('./connection.js');
const { endIfDisposed } = require('./going-away.js');
const { Kind, Refusal, turnAway } = require('./turn-away.js');
const { Visit } = require('./visit.js');

const { NEWS } = loop;
const CODE = 'OVERLOADED';
const LEVEL = 'a number';

/** @typedef {import('./admission.js').Admission} Admission */
/** @typedef {import('./admission.js').Exchange} Exchange */
/** @typedef {import('./inbound-request.js').InboundRequest} InboundRequest */

/**
 * @typedef {object} OverloadOptions
 * @property {number} targetMs
 * @property {number} maxMs
 * @property {((request: any) => unknown) | undefined} priority
 */

class Overload {
  #admission;
  #door;
  #priority;
  #deadlineOf;
  #telemetry;
  /** By reason. @type {Record<string, Kind>} */
  #kinds = {};
  /** Whether somebody is about to hear of it. */
  #isTelling = false;

  /**
   * @param {Admission} admission
   * @param {OverloadOptions} options
   * @param {ReturnType<typeof import('./inbound-options.js').readInbound>} settings
   */
  constructor(admission, { targetMs, maxMs, priority }, { where, deadlineOf }) {
    const { pipeline, skills } = admission;
    this.#admission = admission;
    this.#priority = priority;
    this.#deadlineOf = deadlineOf;
    this.#telemetry = skills.telemetryOf(pipeline);
    const door = (this.#door = turns.addDoor(this, targetMs, maxMs));
    skills.onDisposed(pipeline, () => turns.closeDoor(door));
    /** What users read of it. */
    this.live = liveOf(door, where);
  }

  /**
   * Takes a request in, at once or when it has waited, or answers it.
   *
   * @param {Exchange} exchange
   * @param {InboundRequest | undefined} outermost
   */
  offer(exchange, outermost) {
    const admission = this.#admission;
    const { req, res, subject, fail } = exchange;
    const connection = connectionOf(req);
    if (admission.skills.isDisposed(admission.pipeline) || res.writableEnded || isGone(connection)) {
      return admission.enter(exchange, outermost);
    }
    turns.watchServer(/** @type {any} */ (req.socket)?.server);
    const visit = (exchange.visit = new Visit(this, exchange, outermost));
    let patienceMs = Infinity;
    let level = 0;
    try {
      // What is refused in any case does not count as load: no client's flood makes refusals for all.
      if (!admission.takeQuota(exchange, visit)) return admission.enter(exchange, outermost);
      if (this.#deadlineOf !== undefined) patienceMs = this.#deadlineOf(exchange);
      if (patienceMs <= 0) return admission.enter(exchange, outermost);
      if (this.#priority !== undefined) level = levelOf(this.#priority(subject));
    } catch (error) {
      return fail(error);
    }
    const key = turns.offer(this.#door, level, patienceMs, visit);
    if (key < 0) return undefined;
    if (key === 0) {
      this.refuse(exchange, 'full', loop.refusalDelay());
      return undefined;
    }
    if (!report(key)) visit.begin(key);
    return admission.enter(exchange, outermost);
  }

  /**
   * @param {Exchange} exchange
   * @param {string} reason
   * @param {number} [delayMs] How long it would have waited, of one that has not.
   */
  refuse(exchange, reason, delayMs = this.live.delay) {
    const admission = this.#admission;
    const { pipelineName } = this.#telemetry;
    const delay = Math.ceil(delayMs);
    const retryAfter = Math.max(delay, 1);
    const queued = loop.queued();
    const kind = (this.#kinds[reason] ??= this.#kindOf(reason));
    const refusal = new Refusal(kind, 0, queued, retryAfter);
    const details = { delay, queued, retryAfter, pipelineName };
    const toError = () => withoutStack(() => new OverloadRejectedError(/** @type {any} */ (reason), details));
    if (reason === 'disposed') endIfDisposed(admission.pipeline, exchange.req, exchange.res);
    const { rateKey } = /** @type {Visit} */ (exchange.visit);
    turnAway(admission, exchange, kind, refusal, toError, rateKey);
    if (reason !== 'disposed' && !this.#isTelling) turns.outside(this.#tell);
  }

  /** @param {string} reason */
  #kindOf(reason) {
    const { pipelineName } = this.#telemetry;
    return new Kind({ statusCode: 503, code: CODE, reason, pipelineName, strategyName: undefined }, this.#admission);
  }

  /** When it begins, then once a second, and when it is over. */
  #tell = () => {
    this.#isTelling = false;
    const told = turns.readOverload(this.#door);
    if (told === null) return;
    const { news, refused, started, duration, again, cpuShare } = told;
    if (again !== Infinity) {
      this.#isTelling = true;
      // On Deno a number.
      /** @type {any} */ (setTimeout(this.#tell, again)).unref?.();
    }
    if (news === NEWS.NOTHING) return;
    const { load, pace, delay, queued } = loop.read(this.#door);
    const args = { load, pace, delay, queued, refused, started, duration, cpuShare };
    const name = news === NEWS.ENDED ? 'OnOverloadEnded' : 'OnOverload';
    this.#telemetry.emit(name, undefined, undefined, args);
  };

  /**
   * @param {Exchange} exchange
   * @param {InboundRequest | undefined} outermost
   */
  enter(exchange, outermost) {
    this.#admission.enter(exchange, outermost);
  }
}

/** @param {any} level */
function levelOf(level) {
  const answer = immediate('priority', LEVEL, level);
  if (typeof answer !== 'number' || Number.isNaN(answer)) throw typeError('the result of priority', LEVEL, answer);
  return answer;
}

/**
 * @param {number} door
 * @param {string} where
 */
function liveOf(door, where) {
  const view = {
    get queued() {
      return loop.read(door).queued;
    },
    get delay() {
      return loop.read(door).delay;
    },
    get pace() {
      return loop.read(door).pace;
    },
    get load() {
      return loop.read(door).load;
    },
    get limit() {
      return loop.read(door).limit;
    },
  };
  return readOnly(view, `overload of ${where}`);
}

module.exports = { Overload };
