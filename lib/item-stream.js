'use strict';

// A stream of items as one execution: begun by the first `next()`, under way until the stream's end.
//
//   state     enters by                 leaves by
//   UNREAD    the start                 the first `next()`
//   OPENING   the first `next()`        the first item of an attempt; an end
//   OPEN      an item                   the end of the source, an error, `return()`, `throw()`, an abort
//   OVER      any of these; final       -

const { withAttempts } = require('./attempts.js');
const { ResilienceContext } = require('./context.js');
const { readStreamOptions } = require('./execute-options.js');
const { ItemAttempt } = require('./item-attempt.js');
const { typeError } = require('./options.js');

const UNREAD = 0;
const OPENING = 1;
const OPEN = 2;
const OVER = 3;

/** @typedef {import('./outcome.js').AnyOutcome} AnyOutcome */
/** @typedef {(callback: import('./execution.js').Callback, options: any, stream: import('./execution.js').Stream)
 *   => import('./execution.js').Execution} Prepare */
/** @typedef {{ resolve: (result: IteratorResult<unknown>) => void, reject: (error: unknown) => void }} Reader */

/** What `executeStream` has made of one stream. It does not know the iterator that its user holds. */
class Run {
  #state = UNREAD;
  #prepare;
  #callback;
  #options;
  #guardsBody = false;
  /** @type {ResilienceContext | undefined} */
  #root;
  /** Those without an item yet. @type {Set<ItemAttempt>} */
  #attempts = new Set();
  /** The one that the items come from. @type {ItemAttempt | undefined} */
  #winner;
  /** Whose promise is pending. @type {Reader | undefined} */
  #reader;
  /** What the next reader is told of an end that came meanwhile. @type {{ error: unknown } | undefined} */
  #untold;
  /** Whether the user reads no more: then an abort is no news to him. */
  #isLeft = false;
  /** @type {Promise<void> | undefined} */
  #leaving;
  #known = { spent: false, hasBegun: () => this.#winner !== undefined };

  /**
   * @param {Prepare} prepare
   * @param {unknown} callback
   * @param {any} options
   */
  constructor(prepare, callback, options) {
    this.#prepare = prepare;
    this.#callback = callback;
    this.#options = options;
  }

  /** @returns {Promise<IteratorResult<unknown, unknown>>} */
  async next() {
    if (this.#isLeft) return { value: undefined, done: true };
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
      if (this.#state === UNREAD) this.#begin();
      else if (this.#state === OPEN) this.#pull();
      else this.#tell();
    });
  }

  /** Nobody reads on. */
  leave() {
    this.#isLeft = true;
    return (this.#leaving ??= this.#leave());
  }

  async #leave() {
    const root = this.#root;
    const winner = this.#winner;
    if (this.#state === UNREAD) this.#state = OVER;
    if (this.#state === OVER) return;
    if (this.#state === OPEN && this.#reader === undefined && winner !== undefined) {
      await new Promise((resolve, reject) => {
        this.#reader = { resolve, reject };
        winner.close().then(
          () => this.#finish(winner),
          (error) => this.#break(winner, error),
        );
      });
    } else if (root !== undefined) {
      // The source is at work, and hears of it by the signal.
      ResilienceContext.abort(root, new DOMException('nobody reads the stream any more', 'AbortError'));
    } else {
      winner?.aborted(undefined);
      this.#end(undefined);
    }
  }

  #begin() {
    this.#state = OPENING;
    try {
      if (typeof this.#callback !== 'function') {
        throw typeError('the callback of an execution', 'a function', this.#callback);
      }
      const { body, options } = readStreamOptions(this.#options);
      this.#guardsBody = body;
      const callback = withAttempts((/** @type {ResilienceContext} */ context) => this.#attempt(context), this.#known);
      const execution = this.#prepare(callback, options, this);
      this.#root = execution.context;
      execution.start();
    } catch (error) {
      this.#state = OVER;
      this.#untold = { error };
      this.#tell();
    }
  }

  /** @param {ResilienceContext} context */
  async #attempt(context) {
    if (this.#winner !== undefined) throw new Error('the stream has begun already, and is not repeatable');
    const attempt = new ItemAttempt(context);
    this.#attempts.add(attempt);
    let first;
    try {
      attempt.open(await /** @type {Function} */ (this.#callback)(context));
      ResilienceContext.onAbort(context, attempt);
      if (!ResilienceContext.isAborted(context)) first = await attempt.next();
    } finally {
      this.#attempts.delete(attempt);
    }
    if (first === undefined || this.#winner !== undefined || ResilienceContext.isAborted(context)) {
      const reason = ResilienceContext.reasonOf(context);
      attempt.aborted(reason);
      throw reason;
    }
    return this.#win(attempt, first);
  }

  /**
   * @param {ItemAttempt} attempt
   * @param {IteratorResult<unknown>} first
   */
  #win(attempt, first) {
    this.#winner = attempt;
    this.#known.spent = true;
    ResilienceContext.markFirstByte(attempt.context, /** @type {ResilienceContext} */ (this.#root));
    for (const { context } of [...this.#attempts]) {
      ResilienceContext.abort(context, new DOMException('another attempt was faster', 'AbortError'));
    }
    if (first.done) return attempt.value;
    this.#state = OPEN;
    this.#give(first);
    return attempt.ended;
  }

  /** Asks the source for one item, and not before one is asked for here. */
  #pull() {
    const winner = /** @type {ItemAttempt} */ (this.#winner);
    winner.next().then(
      (result) => {
        if (this.#state !== OPEN) return;
        if (result.done) this.#finish(winner);
        else this.#give(result);
      },
      (error) => this.#break(winner, error),
    );
  }

  /** @param {IteratorResult<unknown>} result */
  #give({ value }) {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.resolve({ value, done: false });
  }

  /** @param {ItemAttempt} winner */
  #finish(winner) {
    if (this.#root === undefined) this.#end(undefined);
    else winner.end(winner.value);
  }

  /**
   * @param {ItemAttempt} winner
   * @param {unknown} error
   */
  #break(winner, error) {
    if (this.#root === undefined) {
      this.#end({ error });
    } else {
      this.#untold = { error };
      winner.fail(error);
    }
  }

  /** @param {{ error: unknown } | undefined} failure */
  #end(failure) {
    if (this.#state === OVER) return;
    this.#state = OVER;
    this.#untold = failure;
    if (this.#reader !== undefined) this.#tell();
  }

  /** Tells the reader of the end; of an error once. */
  #tell() {
    const reader = this.#reader;
    const failure = this.#untold;
    this.#reader = this.#untold = undefined;
    if (failure === undefined || this.#isNoNews(failure.error)) reader?.resolve({ value: undefined, done: true });
    else reader?.reject(failure.error);
  }

  /** @param {unknown} error */
  #isNoNews(error) {
    return this.#isLeft && this.#root !== undefined && error === ResilienceContext.reasonOf(this.#root);
  }

  /** A deadline guards the time to the first item, if nothing else is said. */
  hasBegun() {
    return this.#winner !== undefined && !this.#guardsBody;
  }

  /**
   * The execution has ended.
   *
   * @param {AnyOutcome} outcome
   */
  settled(outcome) {
    const winner = this.#winner;
    if (!outcome.ok) {
      this.#end({ error: outcome.error });
    } else if (winner !== undefined) {
      // What broke off is not made whole by a substitute for the outcome.
      this.#end(this.#untold);
    } else {
      this.#replace(outcome.result);
    }
  }

  /**
   * Goes on with what a fallback gives in place of the stream; the execution has ended.
   *
   * @param {unknown} value
   */
  #replace(value) {
    const substitute = new ItemAttempt(/** @type {ResilienceContext} */ (this.#root));
    this.#root = undefined;
    try {
      substitute.open(value);
    } catch (error) {
      this.#end({ error });
      return;
    }
    this.#winner = substitute;
    this.#state = OPEN;
    this.#pull();
  }
}

/** @type {FinalizationRegistry<Run>} */
const dropped = new FinalizationRegistry((run) => run.leave().catch(() => {}));

/** What the user reads. */
class ItemStream {
  #run;
  /** Calls take their turns, as those of a generator do. @type {Promise<unknown> | undefined} */
  #last;

  /** @param {Run} run */
  constructor(run) {
    this.#run = run;
    dropped.register(this, run);
  }

  /** @returns {Promise<IteratorResult<unknown, unknown>>} */
  next() {
    const run = this.#run;
    const last = this.#last;
    const next = last === undefined ? run.next() : last.then(() => run.next());
    const turn = next.then(
      () => {},
      () => {},
    );
    this.#last = turn;
    turn.then(() => {
      if (this.#last === turn) this.#last = undefined;
    });
    return next;
  }

  /** @param {unknown} [value] */
  async return(value) {
    await this.#run.leave();
    return { value: await value, done: true };
  }

  /** @param {unknown} error */
  async throw(error) {
    await this.#run.leave();
    throw error;
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}

// Node.js 20.0 to 20.4 and 18 do not have the symbol.
if (Symbol.asyncDispose !== undefined) {
  Object.defineProperty(ItemStream.prototype, Symbol.asyncDispose, {
    /** @this {ItemStream} */
    value: async function dispose() {
      await this.return();
    },
    writable: true,
    configurable: true,
  });
}

/**
 * @param {Prepare} prepare
 * @param {unknown} callback
 * @param {unknown} options
 */
const itemStream = (prepare, callback, options) => new ItemStream(new Run(prepare, callback, options));

module.exports = { itemStream };
