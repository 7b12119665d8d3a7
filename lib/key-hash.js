'use strict';

// Names a rate limiter's key by a number, which is all that crosses into Rust and all that is kept of it.
//
// HalfSipHash-2-4 with 64 bits of output (J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF",
// 2012), of which 53 are used. It is keyed at random for each process: whoever can choose keys cannot choose
// two that share their permits. By accident two of a million keys do so once in 18,000 cases.

const { randomBytes } = require('node:crypto');

const seed = randomBytes(8);
const K0 = seed.readInt32LE(0);
const K1 = seed.readInt32LE(4);

/** Of a longer key the two ends and the length count: keys come from clients, and a long one must not block. */
const LONGEST = 4096;

let v0 = 0;
let v1 = 0;
let v2 = 0;
let v3 = 0;

function round() {
  v0 = (v0 + v1) | 0;
  v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
  v0 = (v0 << 16) | (v0 >>> 16);
  v2 = (v2 + v3) | 0;
  v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
  v0 = (v0 + v3) | 0;
  v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
  v2 = (v2 + v1) | 0;
  v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
  v2 = (v2 << 16) | (v2 >>> 16);
}

/** @param {number} word */
function absorb(word) {
  v3 ^= word;
  round();
  round();
  v0 ^= word;
}

/**
 * @param {string} text
 * @returns {number} An integer below 2^53.
 */
function hashKey(text) {
  return text.length > LONGEST ? hash(shorten(text)) : hash(text);
}

/** Longer than any key that is taken as a whole, so that it is none of them. @param {string} text */
const shorten = (text) => `${text.slice(0, LONGEST / 2)}${text.slice(-LONGEST / 2)}${text.length}`;

/**
 * @param {string} text
 * @returns {number}
 */
function hash(text) {
  v0 = K0;
  v1 = K1 ^ 0xee;
  v2 = 0x6c796765 ^ K0;
  v3 = 0x74656462 ^ K1;
  const { length } = text;
  const even = length & ~1;
  for (let index = 0; index < even; index += 2) {
    absorb(text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16));
  }
  // The length tells a text from the same text with a zero behind it.
  absorb(even < length ? text.charCodeAt(even) | (length << 16) : length << 16);
  v2 ^= 0xee;
  for (let rounds = 0; rounds < 4; rounds++) round();
  const low = (v1 ^ v3) >>> 0;
  v1 ^= 0xdd;
  for (let rounds = 0; rounds < 4; rounds++) round();
  const high = (v1 ^ v3) >>> 11;
  return high * 2 ** 32 + low;
}

module.exports = { hashKey };
