'use strict';

const { isIPv6 } = require('node:net');

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/;

/**
 * What of a client's address its permits are counted by: of IPv6 the first 64 bits, because a single client has
 * all addresses behind them, without a zone and in one spelling; an IPv4 address written as IPv6 is that IPv4
 * address. Anything that is no address counts as it is.
 *
 * @param {string | undefined} address
 */
function addressKey(address) {
  if (address === undefined || !address.includes(':')) return address;
  const text = address.toLowerCase().replace(/%.*$/, '');
  if (!isIPv6(text)) return address;
  // The URL parser writes each address in its one canonical form.
  const canonical = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const mapped = MAPPED.exec(text)?.[1] ?? mappedOf(canonical);
  if (mapped !== undefined) return mapped;
  const [head, tail] = canonical.split('::');
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length);
  const all = [...groups, ...Array(missing).fill('0'), ...(tail ? tail.split(':') : [])];
  return `${all.slice(0, 4).join(':')}::/64`;
}

/**
 * The IPv4 address in `::ffff:7f00:1`.
 *
 * @param {string} canonical
 */
function mappedOf(canonical) {
  const parts = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(canonical);
  if (parts === null) return undefined;
  const [high, low] = [parseInt(parts[1], 16), parseInt(parts[2], 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

module.exports = { addressKey };
