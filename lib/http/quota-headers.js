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
 * Sets the headers of the quotas that a request is counted against, outermost first. One that is refused for
 * want of capacity tells that as well.
 *
 * @param {import('node:http').ServerResponse} res
 * @param {HeaderForm} form Undefined: draft 6 beside draft 8.
 * @param {readonly Quota[]} quotas
 * @param {readonly Capacity[]} capacities
 */
function setQuotaHeaders(res, form, quotas, capacities) {
  if (form === false || res.headersSent) return;
  if (form === undefined || form === 'draft-8') {
    const policies = [
      ...quotas.map(({ name, limit, windowS }) => `${text(name)};q=${limit};w=${windowS}`),
      ...capacities.map(({ name, limit }) => `${text(name)};q=${limit};qu="concurrent-requests"`),
    ];
    if (policies.length > 0) res.setHeader('RateLimit-Policy', policies.join(', '));
    if (quotas.length > 0) {
      const limits = quotas.map(({ name, remaining, resetS }) => `${text(name)};r=${remaining};t=${resetS}`);
      res.setHeader('RateLimit', limits.join(', '));
    }
  }
  if (quotas.length === 0) return;
  // The older forms know one quota: the one that is nearest to its end, for the longest time.
  const { limit, windowS, remaining, resetS } = quotas.reduce((least, quota) =>
    (quota.remaining - least.remaining || least.resetS - quota.resetS) < 0 ? quota : least,
  );
  if (form === 'draft-7') {
    res.setHeader('RateLimit-Policy', `${limit};w=${windowS}`);
    res.setHeader('RateLimit', `limit=${limit}, remaining=${remaining}, reset=${resetS}`);
  } else if (form === 'legacy') {
    res.setHeader('X-RateLimit-Limit', limit);
    res.setHeader('X-RateLimit-Remaining', remaining);
    res.setHeader('X-RateLimit-Reset', Math.ceil(Date.now() / 1000) + resetS);
  } else if (form === undefined || form === 'draft-6') {
    if (form === 'draft-6') res.setHeader('RateLimit-Policy', `${limit};w=${windowS}`);
    res.setHeader('RateLimit-Limit', limit);
    res.setHeader('RateLimit-Remaining', remaining);
    res.setHeader('RateLimit-Reset', resetS);
  }
}

/** A string of structured fields, RFC 9651, section 3.3.3. @param {string} value */
const text = (value) => `"${value.replace(/[^ -~]/g, '?').replace(/["\\]/g, '\\$&')}"`;

module.exports = { FORMS, setQuotaHeaders };
