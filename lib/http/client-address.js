'use strict';

// By what a client is known, of its address as a socket or a proxy writes it.

const { isIPv4, isIPv6 } = require('node:net');

/** An address as proxies write it: in quotes and brackets, with a port (RFC 7239, section 6). */
const WITH_PORT = /^"?(?:\[([^\]]*)\]|(.*\d\.\d+\.\d+\.\d+))(?::(?:\d*|_[\w.-]+))?"?$/;
/** In front of an IPv4 address that is written as IPv6, or that a NAT64 translates (RFC 6052). */
const EMBEDDING = new Set(['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0']);

/**
 * What of a client's address its permits are counted by: of IPv6 the first 64 bits, because a single client has
 * all addresses behind them, without a zone and in one spelling; an IPv4 address written as IPv6, or translated by
 * a NAT64, is that IPv4 address. Neither a port nor brackets are part of it. Anything that is no address counts as
 * it is.
 *
 * @param {string | undefined} address
 */
function addressKey(address) {
  if (address === undefined || isIPv4(address)) return address;
  const written = address.trim().toLowerCase();
  const [, bracketed, dotted] = WITH_PORT.exec(written) ?? [];
  const text = (bracketed ?? dotted ?? written).replace(/%.*$/, '');
  if (isIPv4(text)) return text;
  return isIPv6(text) ? networkOf(text) : address;
}

/**
 * The first 64 bits of an IPv6 address, or the IPv4 address in it.
 *
 * @param {string} address
 */
function networkOf(address) {
  // The URL parser writes each address in its one canonical form.
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head, tail] = canonical.split('::');
  const groups = head === '' ? [] : head.split(':');
  const missing = tail === undefined ? 0 : 8 - groups.length - (tail === '' ? 0 : tail.split(':').length);
  const all = [...groups, ...Array(missing).fill('0'), ...(tail ? tail.split(':') : [])];
  if (!EMBEDDING.has(all.slice(0, 6).join(':'))) return `${all.slice(0, 4).join(':')}::/64`;
  const [high, low] = [parseInt(all[6], 16), parseInt(all[7], 16)];
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

module.exports = { addressKey };
