'use strict';

const assert = require('node:assert/strict');

/**
 * Asks a server that lets one request in at a time, for at most two seconds.
 *
 * @param {string} url
 * @param {Promise<unknown>} arrived Resolves when the handler of `/late`, which never answers, has started.
 */
exports.check = async function check(url, arrived) {
  const late = fetch(`${url}/late`);
  await arrived;
  const refused = await fetch(url);
  assert.deepEqual([refused.status, (await refused.json()).error], [503, 'BULKHEAD_FULL']);
  assert.equal((await late).status, 504);
  const served = await fetch(url);
  assert.deepEqual([served.status, await served.text()], [200, 'hello']);
};
