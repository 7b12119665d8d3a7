'use strict';

// What a response says about its client's quota, in the forms of the drafts of "RateLimit header fields for
// HTTP": https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/

/**
 * What one middleware knows of a client's quota.
 *
 * @typedef {object} Quota
 * @property {string} name
 * @property {number} limit
 * @property {number} windowS
 * @property {number} remaining
 * @property {number} resetS Seconds until all of it is there again; of a request refused, until one is.
 */

/** @typedef {{ name: string, limit: number }} Capacity A cap on requests in flight. */
/** @typedef {'draft-8' | 'draft-7' | 'draft-6' | 'legacy' | false | undefined} HeaderForm */

const FORMS = /** @type {const} */ (['draft-8', 'draft-7', 'draft-6', 'legacy']);

/**
 * The headers of the quotas that a request is counted against, outermost first. One that is refused for want of
 * capacity is told that as well.
 *
 * @param {HeaderForm} form Undefined: draft 6 beside draft 8.
 * @param {readonly Quota[]} quotas
 * @param {readonly Capacity[]} capacities
 * @returns {Record<string, string | number>}
 */
function quotaHeaders(form, quotas, capacities) {
  /** @type {Record<string, string | number>} */
  const headers = {};
  if (form === false) return headers;
  if (form === undefined || form === 'draft-8') {
    const policies = [
      ...quotas.map(({ name, limit, windowS }) => `${text(name)};q=${limit};w=${windowS}`),
      ...capacities.map(({ name, limit }) => `${text(name)};q=${limit};qu="concurrent-requests"`),
    ];
    if (policies.length > 0) headers['RateLimit-Policy'] = policies.join(', ');
    if (quotas.length > 0) {
      const limits = quotas.map(({ name, remaining, resetS }) => `${text(name)};r=${remaining};t=${resetS}`);
      headers.RateLimit = limits.join(', ');
    }
  }
  if (quotas.length === 0) return headers;
  // The older forms know one quota: the one that is nearest to its end, for the longest time.
  const { limit, windowS, remaining, resetS } = quotas.reduce((least, quota) =>
    (quota.remaining - least.remaining || least.resetS - quota.resetS) < 0 ? quota : least,
  );
  if (form === 'draft-7') {
    headers['RateLimit-Policy'] = `${limit};w=${windowS}`;
    headers.RateLimit = `limit=${limit}, remaining=${remaining}, reset=${resetS}`;
  } else if (form === 'legacy') {
    headers['X-RateLimit-Limit'] = limit;
    headers['X-RateLimit-Remaining'] = remaining;
    headers['X-RateLimit-Reset'] = Math.ceil(Date.now() / 1000) + resetS;
  } else if (form === undefined || form === 'draft-6') {
    if (form === 'draft-6') headers['RateLimit-Policy'] = `${limit};w=${windowS}`;
    headers['RateLimit-Limit'] = limit;
    headers['RateLimit-Remaining'] = remaining;
    headers['RateLimit-Reset'] = resetS;
  }
  return headers;
}

/** A string of structured fields, RFC 9651, section 3.3.3. @param {string} value */
const text = (value) => `"${value.replace(/[^ -~]/g, '?').replace(/["\\]/g, '\\$&')}"`;

module.exports = { FORMS, quotaHeaders };
