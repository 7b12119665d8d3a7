'use strict';

// Requests that take their connection over: a WebSocket whose handshake runs through the app, a tunnel. There is
// no response whose end could give a permit back, and no first byte that a deadline could guard.

/**
 * @param {any} req
 * @returns {boolean}
 */
function isUpgrade(req) {
  if (req.method === 'CONNECT') return true;
  const { upgrade } = req;
  // Node.js says false of an `Upgrade` header that its server does not take, such as a client's `h2c`.
  if (upgrade === false || req.httpVersionMajor === 2) return false;
  const asked = req.headers?.upgrade;
  if (typeof asked !== 'string') return false;
  // No server has decided about a request that was made up.
  return upgrade === true || asked.toLowerCase() === 'websocket';
}

module.exports = { isUpgrade };
