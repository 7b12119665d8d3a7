'use strict';

const { channel } = require('node:diagnostics_channel');

const { Abandoned } = require('./abandoned.js');

/** @typedef {import('../index.js').TelemetrySeverity} Severity */

/** @type {Record<import('../index.js').TelemetryEventName, Severity>} */
const SEVERITIES = {
  PipelineExecuting: 'debug',
  PipelineExecuted: 'information',
  ExecutionAttempt: 'information',
  OnRetry: 'warning',
  OnRetrySkipped: 'warning',
  OnTimeout: 'error',
  OnAbandoned: 'warning',
  OnCircuitOpened: 'error',
  OnCircuitHalfOpened: 'warning',
  OnCircuitClosed: 'information',
  OnFallback: 'warning',
  OnHedging: 'warning',
  OnRateLimiterRejected: 'error',
  OnOverload: 'error',
  OnOverloadEnded: 'information',
  OnLimitChanged: 'information',
  OnLimitDecision: 'debug',
  CallbackError: 'error',
};

/** One event by name, kept here because `diagnostics_channel` holds its channels weakly. */
const EVENTS = Object.fromEntries(
  Object.entries(SEVERITIES).map(([name, severity]) => [
    name,
    { name, severity, channel: channel(`ylcnfrht.resilience.${name}`) },
  ]),
);

const {
  PipelineExecuting,
  PipelineExecuted,
  OnTimeout,
  OnRateLimiterRejected,
  OnCircuitOpened,
  OnCircuitHalfOpened,
  OnCircuitClosed,
  CallbackError,
} = EVENTS;

/** The events of one pipeline, for its listener and for `diagnostics_channel`. */
class Telemetry {
  /**
   * @param {string | undefined} pipelineName
   * @param {((event: any) => void) | undefined} listener
   */
  constructor(pipelineName, listener) {
    this.pipelineName = pipelineName;
    this.listener = listener;
    this.abandoned = new Abandoned(this);
  }

  /** Whether anyone hears when an execution begins or ends. */
  hearsExecutions() {
    return (
      this.listener !== undefined ||
      PipelineExecuting.channel.hasSubscribers ||
      PipelineExecuted.channel.hasSubscribers
    );
  }

  /** Whether anyone hears of an execution that runs and that a deadline ends, or of what that moves. */
  hearsEnds() {
    return (
      this.listener !== undefined ||
      PipelineExecuted.channel.hasSubscribers ||
      OnTimeout.channel.hasSubscribers ||
      OnCircuitOpened.channel.hasSubscribers ||
      CallbackError.channel.hasSubscribers
    );
  }

  /** The same of one that waits, and that others let in or turn away. */
  hearsWaits() {
    return (
      this.hearsEnds() ||
      OnRateLimiterRejected.channel.hasSubscribers ||
      OnCircuitHalfOpened.channel.hasSubscribers ||
      OnCircuitClosed.channel.hasSubscribers
    );
  }

  /**
   * Whether anyone hears the event.
   *
   * @param {import('../index.js').TelemetryEventName} eventName
   */
  hears(eventName) {
    return this.listener !== undefined || EVENTS[eventName].channel.hasSubscribers;
  }

  /**
   * @param {import('../index.js').TelemetryEventName} eventName
   * @param {string | undefined} strategyName
   * @param {{ operationKey: string | undefined } | undefined} context
   * @param {object} args
   * @param {Severity} [ownSeverity] If it is not the same for all events of that name.
   * @returns {boolean} Whether anyone heard it.
   */
  emit(eventName, strategyName, context, args, ownSeverity) {
    const { name, channel } = EVENTS[eventName];
    if (this.listener === undefined && !channel.hasSubscribers) return false;
    const { pipelineName } = this;
    const severity = ownSeverity ?? EVENTS[eventName].severity;
    const event = { name, severity, pipelineName, strategyName, operationKey: context?.operationKey, args };
    channel.publish(event);
    if (this.listener !== undefined) call(this.listener, event, warn);
    return true;
  }

  /**
   * Reports that a user's callback threw. It costs no permit and no outcome, but it must be seen: without a
   * telemetry subscriber it becomes a process warning.
   *
   * @param {string | undefined} strategyName
   * @param {string} callback The option's name.
   * @param {unknown} error
   * @param {{ operationKey: string | undefined }} [context]
   */
  reportError(strategyName, callback, error, context) {
    const heard = this.emit('CallbackError', strategyName, context, { callback, error });
    if (!heard) warn(error);
  }

  /**
   * Calls an `on*` callback. Its failure is reported.
   *
   * @param {string} strategyName
   * @param {string} option
   * @param {((args: any) => unknown) | undefined} callback
   * @param {any} args
   * @returns {Promise<void> | undefined} Its end, if that is not now. Never rejects.
   */
  notify(strategyName, option, callback, args) {
    if (callback === undefined) return undefined;
    return call(callback, args, (error) => this.reportError(strategyName, option, error, args.context));
  }
}

/**
 * Calls a user's function: whatever it throws, now or later, goes to `report`.
 *
 * @param {(argument: any) => unknown} callback
 * @param {object} argument
 * @param {(error: unknown) => void} report
 * @returns {Promise<void> | undefined} The function's end, if that is not now.
 */
function call(callback, argument, report) {
  try {
    const result = callback(argument);
    if (typeof result === 'object' && result !== null && 'then' in result) {
      // Not `Promise.resolve`: it hands a promise back whose own `then` is anybody's.
      return new Promise((resolve) => resolve(result)).then(() => {}, report);
    }
  } catch (error) {
    report(error);
  }
  return undefined;
}

/**
 * Makes a process warning of what a user's function threw, which nobody else hears of.
 *
 * @param {unknown} error
 */
function warn(error) {
  try {
    process.emitWarning(asError(error));
  } catch {
    // An error whose getters throw, or a replaced `emitWarning`: the outcome in delivery matters more.
  }
}

/** @param {unknown} error Anything, also what throws when it is turned into text, as a warning will be. */
function asError(error) {
  try {
    const text = String(error);
    return error instanceof Error ? error : new Error(`a callback threw ${text}`);
  } catch {
    return new Error('a callback threw something that has no text');
  }
}

module.exports = { Telemetry, call, warn };
