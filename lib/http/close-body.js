'use strict';

// The end of a request's body of which no more will come, although its client has not sent it all: whoever reads
// it hears so, as if the client had left. Node.js tells nobody, once the response has ended.

const { WriteStream } = require('node:fs');
const { ClientRequest } = require('node:http');
const { Transform } = require('node:stream');

const { nextTick } = require('../turn.js');
const { streamOf } = require('./connection.js');

/** @typedef {import('node:http').IncomingMessage} IncomingMessage */

/**
 * What tells of it, and is told to those who come later, too. To `on-finished`, which body parsers of Express and Koa
 * wait by, a request whose connection goes on has ended by `end` or by `finish` only.
 */
const EVENTS = ['aborted', 'error', 'close', 'finish'];

const none = () => {};

/**
 * Leaves the connection to others. A body that is here as a whole is left to be read.
 *
 * @param {IncomingMessage} req
 * @param {unknown} cause
 */
function closeBody(req, cause) {
  if (req.destroyed || req.readableEnded) return;
  const stream = streamOf(req);
  if (stream === undefined ? req.complete : stream.endAfterHeaders) return;
  // A stream of HTTP/2 that has something to be read does not close.
  stream?.removeAllListeners('data').resume();
  const error = Object.assign(new Error('aborted', { cause }), { code: 'ECONNRESET' });
  const closeDestinations = () => destinationsOf(req).forEach((each) => closeDestination(each, error));
  // Node's own takes the connection along.
  req._destroy = (_error, done) => {
    if (stream === undefined) req.aborted = true;
    req.emit('aborted');
    done(req.listenerCount('error') > 0 ? error : null);
  };
  req.once('close', () => {
    req.emit('finish');
    req.on('newListener', (event, listener) => {
      if (event === 'data') nextTick(closeDestinations);
      else tellLate(req, error, event, listener);
    });
  });
  req.destroy(error);
  closeDestinations();
}

/**
 * Where a readable is piped to by `pipe()`, which tells its destination of an end only.
 *
 * @param {any} readable
 * @returns {any[]}
 */
const destinationsOf = (readable) => [...(readable._readableState?.pipes ?? [])];

/**
 * Closes what holds a descriptor and nobody else would close. What it fails by, it may tell nobody.
 *
 * @param {any} destination
 * @param {Error} error
 */
function closeDestination(destination, error) {
  const isOurs = [WriteStream, ClientRequest, Transform].some((kind) => destination instanceof kind);
  if (!isOurs || destination.destroyed || destination.writableEnded) return;
  const further = destinationsOf(destination);
  destination.on('error', none).destroy(error);
  for (const each of further) closeDestination(each, error);
}

/**
 * @param {IncomingMessage} req
 * @param {Error} error
 * @param {string | symbol} event
 * @param {Function} listener
 */
function tellLate(req, error, event, listener) {
  if (!EVENTS.includes(String(event))) return;
  nextTick(() => {
    // That of `once` is behind a function which takes it off.
    const added = req.rawListeners(event).find((each) => [each, /** @type {any} */ (each).listener].includes(listener));
    if (added !== undefined) Reflect.apply(added, req, event === 'error' ? [error] : []);
  });
}

module.exports = { closeBody };
