'use strict';

// The context of an execution, and the tree along which cancellation spreads.
//
// A context hangs below its parent while its execution is under way, in a list of our own: linking is a few
// pointers, where a listener per level costs a microsecond. An abort reaches a context from above (its parent,
// the caller's signal) or from its own execution (a timeout); from there it goes down, never up.

const callerSignal = require('./caller-signal.js');
const { now } = require('./timer.js');

/**
 * @typedef {object} Cancellable
 * @property {(reason: unknown) => void} cancel
 * @property {() => void} mark The first byte of an answer has left.
 * @property {() => number} remaining Milliseconds until its first deadline, Infinity for none.
 */

/** What few contexts have: one more object for them, and less memory for all others. */
class Rare {
  isAborted = false;
  /** Made when first read; only that of a source is used. @type {Map<string, unknown> | undefined} */
  properties;
  /** @type {AbortController | undefined} */
  controller;
  /** Told of an abort before anyone else. @type {{ aborted(reason: unknown): void } | undefined} */
  onAbort;
  /** Of the abort. @type {unknown} */
  reason;
  /** Whether the callback goes on although its execution has ended. */
  isLate = false;
  /** When that is taken to be over, where the callback does not tell. @type {number | undefined} */
  lateUntil;
  /** @type {{ remove(): void } | undefined} */
  callerSignal;
}

/** Where a context stands among others, if it does. */
class Kin {
  /** The one in whose list of children it is. @type {ResilienceContext | undefined} */
  owner;
  /** @type {ResilienceContext | undefined} */
  previous;
  /** @type {ResilienceContext | undefined} */
  next;
  /**
   * The nearest one around it that holds a lent permit, where it hangs below none.
   *
   * @type {ResilienceContext | undefined}
   */
  around;
}

const NO_KIN = new Kin();

/** @typedef {{ holder: ResilienceContext | undefined, segment: object }} Lent */

class ResilienceContext {
  /** The nearest one above that was under way when this one began. @type {ResilienceContext | undefined} */
  #parent;
  /** The one whose map it shares: no chain of settled ones is kept for that. @type {ResilienceContext} */
  #source;
  /** @type {string | undefined} */
  #operationKey;
  /** What an abort from above cancels. @type {Cancellable | undefined} */
  #execution;
  /** The permit that was lent to it, if nothing but its callback can end it. @type {Lent | undefined} */
  #lent;
  /** @type {Rare | undefined} */
  #rare;
  /** @type {Kin | undefined} */
  #kin;
  /** @type {ResilienceContext | undefined} */
  #firstChild;

  /**
   * @param {ResilienceContext | undefined} parent
   * @param {Map<string, unknown> | undefined} properties
   * @param {string | undefined} operationKey
   */
  constructor(parent, properties, operationKey) {
    this.#source = parent === undefined || properties !== undefined ? this : parent.#source;
    this.#operationKey = operationKey;
    if (properties !== undefined) this.#more.properties = properties;
    if (parent !== undefined) this.#hangBelow(parent);
  }

  /** @param {ResilienceContext} parent */
  #hangBelow(parent) {
    /** @type {ResilienceContext | undefined} */
    let above = parent;
    for (; above !== undefined; above = above.#parent) {
      if (above.#rare?.isAborted) {
        this.#more.isAborted = true;
        this.#more.reason = above.#rare.reason;
        break;
      }
      if (above.#execution !== undefined) {
        above.#adopt(this);
        return;
      }
    }
    const around = parent.#isLent() ? parent : parent.#lentAround();
    if (around !== undefined) this.#place.around = around;
  }

  get #more() {
    return (this.#rare ??= new Rare());
  }

  get #place() {
    return (this.#kin ??= new Kin());
  }

  get signal() {
    const more = this.#more;
    if (more.controller === undefined) {
      more.controller = new AbortController();
      if (more.isAborted) more.controller.abort(more.reason);
    }
    return more.controller.signal;
  }

  /** @returns {Map<string, unknown>} */
  get properties() {
    return (this.#source.#more.properties ??= new Map());
  }

  get operationKey() {
    return this.#operationKey;
  }

  /** Milliseconds until the first deadline of this and all enclosing executions. */
  get remaining() {
    let remaining = Infinity;
    /** @type {ResilienceContext | undefined} */
    let own = this;
    for (; own !== undefined; own = own.#parent) {
      if (own.#execution !== undefined) remaining = Math.min(remaining, own.#execution.remaining());
    }
    return remaining === Infinity ? undefined : remaining;
  }

  /** Whether it was aborted, without making a signal. @param {ResilienceContext} context */
  static isAborted(context) {
    return context.#rare !== undefined && context.#rare.isAborted;
  }

  /** Whether it is not aborted, and nobody above can abort it. @param {ResilienceContext} context */
  static isAlone(context) {
    const rare = context.#rare;
    if (rare !== undefined && (rare.isAborted || rare.callerSignal !== undefined)) return false;
    return context.#kin === undefined || context.#kin.owner === undefined;
  }

  /** @param {ResilienceContext} context */
  static reasonOf(context) {
    return context.#rare?.reason;
  }

  /**
   * Lets the caller's signal abort the context.
   *
   * @param {ResilienceContext} context
   * @param {AbortSignal} signal
   */
  static follow(context, signal) {
    if (signal.aborted) ResilienceContext.abort(context, callerSignal.reasonOf(signal));
    else context.#more.callerSignal = callerSignal.follow(signal, context, ResilienceContext.abort);
  }

  /**
   * What a new execution hangs below that is begun in `context`: that one, as long as an abort of it concerns what
   * is done there. Once it was aborted and its callback has ended, what is left there (an interval, a pool, a server)
   * is none of its work any more, but part of the nearest execution around it that is under way, or of none.
   *
   * @param {ResilienceContext} context
   */
  static enclosing(context) {
    const nearest = ResilienceContext.#skipOver(context);
    let own = nearest;
    for (; own !== undefined && own.#execution === undefined; own = own.#parent) {
      // Also so that no chain of them is kept alive.
      own.#parent = ResilienceContext.#skipOver(own.#parent);
    }
    return nearest;
  }

  /** @param {ResilienceContext | undefined} context */
  static #skipOver(context) {
    let own = context;
    while (own !== undefined && own.#isOver()) own = own.#parent;
    return own;
  }

  /** Whether it was aborted, and nothing of its work is left. */
  #isOver() {
    if (!this.#rare?.isAborted || this.#execution !== undefined) return false;
    const { isLate, lateUntil } = this.#rare;
    return lateUntil === undefined ? !isLate : lateUntil !== Infinity && now() >= lateUntil;
  }

  /**
   * The execution ends before its callback does: until `leave`, what that begins is aborted from the start.
   *
   * @param {ResilienceContext} context
   */
  static outlive(context) {
    context.#more.isLate = true;
  }

  /** The callback that has outlived its execution has ended. @param {ResilienceContext} context */
  static leave(context) {
    if (context.#rare !== undefined) context.#rare.isLate = false;
  }

  /**
   * Says when late work is taken to be over, in place of the callback.
   *
   * @param {ResilienceContext} context
   * @param {number} time Of the clock of `now()`; Infinity as long as it is under way.
   */
  static lateUntil(context, time) {
    context.#more.lateUntil = time;
  }

  /**
   * Of those that hear of an abort of `context`, and of those around it, the nearest that `test` looks for.
   *
   * @param {ResilienceContext | undefined} context
   * @param {(listener: { aborted(reason: unknown): void }) => boolean} test
   */
  static findListener(context, test) {
    for (let own = context; own !== undefined; own = own.#parent) {
      const listener = own.#rare?.onAbort;
      if (listener !== undefined && test(listener)) return listener;
    }
    return undefined;
  }

  /**
   * Says that a context's execution holds a permit that was lent, as long as that says so, too.
   *
   * @param {ResilienceContext} context
   * @param {Lent} permit
   */
  static lend(context, permit) {
    context.#lent = permit;
  }

  #isLent() {
    return this.#lent !== undefined && this.#lent.holder === this;
  }

  /** The nearest around it that holds a lent permit. No chain of those that do not any more is kept. */
  #lentAround() {
    const kin = this.#kin;
    if (kin === undefined) return undefined;
    while (kin.around !== undefined && !kin.around.#isLent()) kin.around = kin.around.#kin?.around;
    return kin.around;
  }

  /**
   * Calls `visit` for every context under way around one, from the inside to the outside, with what holds its
   * permits: its execution, or a permit that was lent to it.
   *
   * @param {ResilienceContext} context
   * @param {(around: ResilienceContext, holds: Cancellable | Lent) => void} visit
   */
  static visitAround(context, visit) {
    /** @type {ResilienceContext | undefined} */
    let own = context.#parent ?? context.#lentAround();
    for (; own !== undefined; own = own.#parent ?? own.#lentAround()) {
      const holds = own.#isLent() ? own.#lent : own.#execution;
      if (holds !== undefined) visit(own, holds);
    }
  }

  /** What an abort from above cancels, while it is under way. @param {ResilienceContext} context */
  static executionOf(context) {
    return context.#execution;
  }

  /**
   * Names what an abort from above cancels.
   *
   * @param {ResilienceContext} context
   * @param {Cancellable} execution
   */
  static attach(context, execution) {
    context.#execution = execution;
  }

  /**
   * Lets `listener` know of an abort, before the user's code does.
   *
   * @param {ResilienceContext} context
   * @param {{ aborted(reason: unknown): void }} listener
   */
  static onAbort(context, listener) {
    context.#more.onAbort = listener;
  }

  /**
   * A context for what comes after `context`, with the same properties.
   *
   * @param {ResilienceContext} context
   */
  static successorOf(context) {
    const successor = new ResilienceContext(undefined, undefined, context.#operationKey);
    ResilienceContext.share(successor, context);
    const around = context.#lentAround();
    if (around !== undefined) successor.#place.around = around;
    return successor;
  }

  /**
   * Gives a context the properties of another, below which it does not hang.
   *
   * @param {ResilienceContext} context
   * @param {ResilienceContext} other
   */
  static share(context, other) {
    context.#source = other.#source;
  }

  /**
   * Tells the executions from `context` up to that of `root`, one of its ancestors or itself, that the first
   * byte of their answer has left.
   *
   * @param {ResilienceContext} context
   * @param {ResilienceContext} root
   */
  static markFirstByte(context, root) {
    /** @type {ResilienceContext | undefined} */
    let own = context;
    for (; own !== undefined; own = own.#parent) {
      own.#execution?.mark();
      if (own === root) return;
    }
  }

  /**
   * Ends the context's part in the tree: its execution has settled. Executions still under way below it go on
   * below its parent.
   *
   * @param {ResilienceContext} context
   */
  static detach(context) {
    context.#execution = undefined;
    const rare = context.#rare;
    if (rare?.callerSignal !== undefined) {
      rare.callerSignal.remove();
      rare.callerSignal = undefined;
    }
    const { owner: heir, around } = context.#kin ?? NO_KIN;
    if (heir !== undefined) context.#unlink();
    for (let child = context.#firstChild; child !== undefined; child = context.#firstChild) {
      child.#unlink();
      child.#parent = undefined;
      child.#place.around = around;
      if (heir !== undefined) heir.#adopt(child);
    }
  }

  /**
   * Aborts the context and everything below it. The executions are cancelled, unless they have settled.
   *
   * @param {ResilienceContext} context
   * @param {unknown} reason
   */
  static abort(context, reason) {
    if (context.#rare?.isAborted) return;
    // All are marked before any user code runs, which may start, settle or abort others of them.
    const family = [context];
    for (const member of family) {
      const more = member.#more;
      more.isAborted = true;
      more.reason = reason;
      for (let child = member.#firstChild; child !== undefined; child = member.#firstChild) {
        child.#unlink();
        if (!child.#rare?.isAborted) family.push(child);
      }
    }
    for (const member of family) {
      const execution = member.#execution;
      const { onAbort, controller } = member.#more;
      onAbort?.aborted(reason);
      execution?.cancel(reason);
      // What was told may have read the signal only now: that is aborted from the start.
      controller?.abort(reason);
    }
  }

  /** @param {ResilienceContext} child */
  #adopt(child) {
    child.#parent = this;
    const place = child.#place;
    const next = this.#firstChild;
    place.owner = this;
    place.next = next;
    if (next !== undefined) next.#place.previous = child;
    this.#firstChild = child;
  }

  #unlink() {
    const { owner, previous, next } = this.#place;
    if (owner === undefined) return;
    if (previous !== undefined) previous.#place.next = next;
    else owner.#firstChild = next;
    if (next !== undefined) next.#place.previous = previous;
    this.#place.owner = this.#place.previous = this.#place.next = undefined;
  }
}

module.exports = { ResilienceContext };
