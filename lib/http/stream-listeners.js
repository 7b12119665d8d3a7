'use strict';

// A server of HTTP/2 that answers by `stream` events, which no admission stands before: a response that is written
// to a stream goes past the one whose end would give a permit back.

/**
 * @param {any} server
 * @throws TypeError if there is a listener of streams besides Node's own, which makes requests of them; and later
 *   in the call that adds one.
 */
function refuseStreamListeners(server) {
  // HTTP/1 has no streams.
  if (typeof server.updateSettings !== 'function') return;
  if (server.listeners('stream').some((/** @type {Function} */ each) => !isNodes(each))) throw unprotected();
  if (server.listeners('newListener').includes(refuse)) return;
  server.on('newListener', refuse);
}

/**
 * @param {string | symbol} event
 * @param {Function} listener
 */
function refuse(event, listener) {
  if (event === 'stream' && !isNodes(listener)) throw unprotected();
}

/**
 * Whether it is what Node.js adds with the first listener of requests.
 *
 * @param {Function} listener
 */
function isNodes(listener) {
  const { createServer } = require('node:http2');
  const [own] = createServer(() => {}).listeners('stream');
  return listener.name === own.name;
}

const unprotected = () =>
  new TypeError("protect admits what listeners of 'request' answer: it cannot protect a listener of 'stream'");

module.exports = { refuseStreamListeners };
