'use strict';

/**
 * The distance of Levenshtein: letters to add, to take away or to replace.
 *
 * @param {string} from
 * @param {string} to
 */
function distance(from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 0; i < from.length; i += 1) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j += 1) {
      const replaced = row[j] + (from[i] === to[j] ? 0 : 1);
      next.push(Math.min(replaced, row[j + 1] + 1, next[j] + 1));
    }
    row = next;
  }
  return row[to.length];
}

/**
 * "; did you mean 'x'?" for a word that is like one of those known, else nothing.
 *
 * @param {string} word
 * @param {readonly string[]} known
 */
function didYouMean(word, known) {
  const [best] = known
    .filter((candidate) => Math.abs(candidate.length - word.length) <= candidate.length / 2)
    .map((candidate) => ({ candidate, far: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, far }) => far <= candidate.length / 2)
    .sort((one, other) => one.far - other.far);
  return best === undefined ? '' : `; did you mean '${best.candidate}'?`;
}

module.exports = { didYouMean };
