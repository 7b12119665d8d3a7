// The hash that names a rate limiter's keys, against one written from the paper and checked by its vectors.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { createRequire } from 'node:module';
import test from 'node:test';
import { generator } from './support/mix.mjs';

const require = createRequire(import.meta.url);
const FILE = require.resolve('../lib/key-hash.js');

/** A copy of the module whose random seed is `seed`. */
function hashKeyedBy(t, seed) {
  const mocked = t.mock.method(crypto, 'randomBytes', () => Buffer.from(seed));
  delete require.cache[FILE];
  const { hashKey } = require(FILE);
  assert.deepEqual(
    mocked.mock.calls.map(({ arguments: [size] }) => size),
    [8],
  );
  mocked.mock.restore();
  delete require.cache[FILE];
  return hashKey;
}

const rotate = (word, bits) => ((word << bits) | (word >>> (32 - bits))) >>> 0;
const add = (a, b) => (a + b) >>> 0;

/** HalfSipHash-2-4 of 64 bits, of 32-bit words of which the last holds the length. */
function halfSipHash(words, [k0, k1]) {
  let [v0, v1, v2, v3] = [k0, k1 ^ 0xee, 0x6c796765 ^ k0, 0x74656462 ^ k1].map((word) => word >>> 0);
  const rounds = (count) => {
    for (let round = 0; round < count; round += 1) {
      v0 = add(v0, v1);
      v2 = add(v2, v3);
      v1 = (rotate(v1, 5) ^ v0) >>> 0;
      v3 = (rotate(v3, 8) ^ v2) >>> 0;
      v0 = rotate(v0, 16);
      v2 = add(v2, v1);
      v0 = add(v0, v3);
      v1 = (rotate(v1, 13) ^ v2) >>> 0;
      v3 = (rotate(v3, 7) ^ v0) >>> 0;
      v2 = rotate(v2, 16);
    }
  };
  for (const word of words) {
    v3 = (v3 ^ word) >>> 0;
    rounds(2);
    v0 = (v0 ^ word) >>> 0;
  }
  v2 = (v2 ^ 0xee) >>> 0;
  rounds(4);
  const low = (v1 ^ v3) >>> 0;
  v1 = (v1 ^ 0xdd) >>> 0;
  rounds(4);
  return [low, (v1 ^ v3) >>> 0];
}

const KEY = [0, 1, 2, 3, 4, 5, 6, 7];
const KEY_WORDS = [0x03020100, 0x07060504];

/** The published hashes of the bytes 0, 1, 2, … of so many bytes, under the key 0 to 7. */
const VECTORS = {
  0: '218d1f59b9b83cc8',
  1: 'be552412f8387315',
  2: '064f39ef7c50eb57',
  3: 'ce0f1a45f7060679',
  4: 'd5e78a175be52ea1',
  5: 'cb9d7c3f2f3db580',
  6: 'ce3e91358aa2bc25',
  7: 'ff202728b07bc684',
  8: 'edfee820bce4858c',
  15: '217d0bcb4e81c902',
  16: '7336aad25f7bf3b5',
};

test('the reference gives the published hashes', () => {
  for (const [length, hex] of Object.entries(VECTORS)) {
    const bytes = Buffer.alloc((length >> 2) * 4 + 4);
    for (let index = 0; index < length; index += 1) bytes[index] = index;
    bytes[bytes.length - 1] = length;
    const words = Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readUInt32LE(index * 4));
    const hash = Buffer.alloc(8);
    halfSipHash(words, KEY_WORDS).forEach((word, index) => hash.writeUInt32LE(word, index * 4));
    assert.equal(hash.toString('hex'), hex, `${length} bytes`);
  }
});

/** Two code units a word, and a last word of what is left and the length. */
function wordsOf(text) {
  const words = [];
  for (let index = 0; index + 1 < text.length; index += 2) {
    words.push((text.charCodeAt(index) | (text.charCodeAt(index + 1) << 16)) >>> 0);
  }
  const rest = text.length % 2 === 0 ? 0 : text.charCodeAt(text.length - 1);
  words.push((rest | (text.length << 16)) >>> 0);
  return words;
}

test('hashKey is 53 bits of that, of any text', (t) => {
  const random = generator(7);
  const seeds = [KEY, [255, 255, 255, 255, 255, 255, 255, 255], [0x80, 0, 0, 0x80, 0, 0x80, 0x80, 0]];
  for (const seed of seeds) {
    const hashKey = hashKeyedBy(t, seed);
    const bytes = Buffer.from(seed);
    const keyWords = [bytes.readUInt32LE(0), bytes.readUInt32LE(4)];
    for (let length = 0; length < 200; length += 1) {
      const units = Array.from({ length }, () => Math.floor(random() * 65_536));
      const text = String.fromCharCode(...units);
      const [low, high] = halfSipHash(wordsOf(text), keyWords);
      assert.equal(hashKey(text), (high >>> 11) * 2 ** 32 + low, JSON.stringify(text));
    }
  }
});

test('texts that differ in length, case, order or an invisible character differ', (t) => {
  const hashKey = hashKeyedBy(t, KEY);
  const texts = [
    '',
    '\0',
    '\0\0',
    '\0\0\0',
    'a',
    'A',
    'a\0',
    'ab',
    'ba',
    'ab\0',
    'é',
    'e\u0301',
    '0',
    '00',
    ' ',
  ];
  texts.push('x'.repeat(65_535), 'x'.repeat(65_536), 'x'.repeat(65_537), '\ud800', '\udc00', '\u{1f600}');
  const hashes = texts.map((text) => hashKey(text));
  assert.equal(new Set(hashes).size, texts.length);
  for (const hash of hashes) assert.ok(Number.isSafeInteger(hash) && hash >= 0);
});

test('each process has a seed of its own', (t) => {
  const [one, other] = [KEY, KEY.toReversed()].map((seed) => hashKeyedBy(t, seed)('the key'));
  assert.notEqual(one, other);
});

test('of a long text the two ends and the length count, and nothing that would take time', (t) => {
  const hashKey = hashKeyedBy(t, [1, 2, 3, 4, 5, 6, 7, 8]);
  const text = 'x'.repeat(10_000);
  const other = (index) => `${text.slice(0, index)}y${text.slice(index + 1)}`;
  const short = ['x'.repeat(4096), 'x'.repeat(4097)];
  const hashes = [text, `${text}x`, other(0), other(2047), other(9999), other(7952), ...short];
  assert.equal(new Set(hashes.map(hashKey)).size, hashes.length);
  assert.equal(hashKey(other(5000)), hashKey(text));
  let reads = 0;
  const { charCodeAt } = String.prototype;
  t.mock.method(String.prototype, 'charCodeAt', function (index) {
    reads += 1;
    return Reflect.apply(charCodeAt, this, [index]);
  });
  hashKey('z'.repeat(10_000_000));
  assert.ok(reads < 5000, `${reads}`);
});
